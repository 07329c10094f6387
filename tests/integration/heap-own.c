/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with an allocator of its own, and with memory that it maps: sites whose sizes are known
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <desktrace/heap.h>

#define SITE __attribute__((__noinline__, __noclone__))

#define MIB        ((size_t)1 << 20)
#define TILE_BYTES 500
#define N_TILES    20000 /* 10 MB */
#define N_MAPS     10

#define CHECK(what)                                               \
        do {                                                      \
                if (!(what)) {                                    \
                        printf("line %d: %s\n", __LINE__, #what); \
                        exit(1);                                  \
                }                                                 \
        } while (0)

static dt_heap *tiles, *again;
static uint8_t *arena;

static void *tile(size_t i) {
        return arena + i * TILE_BYTES;
}

SITE static void kept_tiles(void) {
        for (size_t i = 0; i < N_TILES; i++)
                dt_heap_allocated(tiles, tile(i), TILE_BYTES);
}

SITE static void short_tiles(void) {
        for (size_t i = N_TILES; i < 2 * N_TILES; i++) {
                dt_heap_allocated(again, tile(i), TILE_BYTES);
                dt_heap_freed(again, tile(i));
        }
}

/* Given back at once. */
SITE static void arena_tiles(void) {
        for (size_t i = 2 * N_TILES; i < 3 * N_TILES; i++)
                dt_heap_allocated(tiles, tile(i), TILE_BYTES);
        dt_heap_freed_range(tiles, tile(2 * N_TILES), N_TILES * TILE_BYTES);
}

static void use_tiles(void) {
        arena = malloc(3 * N_TILES * TILE_BYTES);
        CHECK(arena);
        kept_tiles();
        short_tiles();
        arena_tiles();
        dt_heap_freed(tiles, NULL);
        dt_heap_freed(NULL, arena);
        dt_heap_allocated(NULL, arena, 1);
        dt_heap_freed_range(NULL, arena, 1);
}

static void *map(void *at, size_t n_bytes, int protection, int flags) {
        void *memory = mmap(at, n_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

        CHECK(memory != MAP_FAILED);
        return memory;
}

SITE static void kept_maps(void) {
        for (int i = 0; i < N_MAPS; i++)
                (void)map(NULL, MIB, PROT_READ | PROT_WRITE, 0);
}

/* Two of four are left, in two pieces. */
SITE static void cut_map(void) {
        uint8_t *memory = map(NULL, 4 * MIB, PROT_READ | PROT_WRITE, 0);

        CHECK(munmap(memory, MIB) == 0);
        CHECK(munmap(memory + 2 * MIB, MIB) == 0);
}

SITE static void moved_map(void) {
        void *memory = map(NULL, MIB, PROT_READ | PROT_WRITE, 0);

        memory = mremap(memory, MIB, 3 * MIB, MREMAP_MAYMOVE);
        CHECK(memory != MAP_FAILED);
        CHECK(mremap(memory, 3 * MIB, SIZE_MAX / 4, MREMAP_MAYMOVE) == MAP_FAILED);
        memset(memory, 1, 3 * MIB);
}

SITE static void replaced_map(void) {
        void *memory = map(NULL, 2 * MIB, PROT_READ | PROT_WRITE, 0);

        (void)map(memory, 2 * MIB, PROT_NONE, MAP_FIXED);
}

/* Address space, which is no memory, and what is small. */
SITE static void other_maps(void) {
        (void)map(NULL, 64 * MIB, PROT_NONE, 0);
        (void)map(NULL, 65536, PROT_READ | PROT_WRITE, 0);
        errno = 0;
        CHECK(munmap((void *)1, 65536) < 0 && errno == EINVAL);
        CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void use_maps(void) {
        kept_maps();
        cut_map();
        moved_map();
        replaced_map();
        other_maps();
}

/* Of a child nothing is recorded, and nothing breaks. */
static void use_in_child(void) {
        const pid_t pid = fork();
        int status;

        if (pid == 0) {
                use_tiles();
                use_maps();
                _exit(7);
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The names that are refused, and too many. */
static void refusals(int registered) {
        char name[DT_HEAP_NAME_MAX + 2];
        dt_heap *heap = (dt_heap *)&name;
        int r = registered;

        CHECK(dt_heap_register(&heap, "") == -EINVAL && !heap);
        CHECK(dt_heap_register(&heap, NULL) == -EINVAL);
        memset(name, 'x', sizeof(name));
        name[DT_HEAP_NAME_MAX + 1] = '\0';
        CHECK(dt_heap_register(&heap, name) == -EINVAL);
        if (registered < 0)
                return;
        CHECK(dt_heap_register(&heap, "mmap") == -EINVAL && !heap);
        for (int i = 0; i < 100 && r == 0; i++) {
                snprintf(name, sizeof(name), "heap %d", i);
                r = dt_heap_register(&heap, name);
        }
        CHECK(r == -ENOBUFS && !heap);
}

int main(void) {
        const int r = dt_heap_register(&tiles, "tiles");

        CHECK(dt_heap_register(&again, "tiles") == r && again == tiles);
        use_tiles();
        use_maps();
        use_in_child();
        refusals(r);
        puts(r == 0 ? "recorded" : r == -ENOSYS ? "alone" : "strange");
        return 0;
}
