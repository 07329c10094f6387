/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * An arena, as games have one: what a frame needs is taken from a block, and given back all at once at its end. What
 * outlives its frame, which is a leak here, is taken from a second one.
 *
 *      desktrace record --standalone --heap -- arena-desktrace [--seconds N]
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/heap.h>

#define ARENA_BYTES (8u << 20)
#define ALIGNMENT   16u

typedef struct Arena {
        dt_heap *heap; /* NULL: nobody records heaps */
        uint8_t *bytes;
        size_t n_taken;
} Arena;

static Arena frame, world;

/* NULL: it is full. */
static void *arena_take(Arena *arena, size_t n_bytes) {
        const size_t n_aligned = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        void *memory = arena->bytes + arena->n_taken;

        if (n_aligned > ARENA_BYTES - arena->n_taken)
                return NULL;
        arena->n_taken += n_aligned;
        dt_heap_allocated(arena->heap, memory, n_bytes);
        return memory;
}

/* All that was taken. */
static void arena_reset(Arena *arena) {
        dt_heap_freed_range(arena->heap, arena->bytes, arena->n_taken);
        arena->n_taken = 0;
}

static int arena_init(Arena *arena, const char *name) {
        (void)dt_heap_register(&arena->heap, name);
        arena->bytes = malloc(ARENA_BYTES);
        return arena->bytes ? 0 : -1;
}

static void sort_particles(size_t n) {
        float *keys = arena_take(&frame, n * sizeof(*keys));

        for (size_t i = 0; keys && i < n; i++)
                keys[i] = (float)(n - i);
}

static void draw_frame(unsigned number) {
        for (unsigned i = 0; i < 100; i++)
                sort_particles(1000 + number % 100);
        arena_reset(&frame);
}

/* It forgets to look whether the level has it already. */
static void load_texture(unsigned number) {
        uint8_t *texture = arena_take(&world, 40000);

        if (texture)
                memset(texture, (int)number, 40000);
}

int main(int argc, char **argv) {
        const double seconds = argc > 2 && strcmp(argv[1], "--seconds") == 0 ? atof(argv[2]) : 2;
        const struct timespec pause = { .tv_nsec = 10000000 };

        if (arena_init(&frame, "frame") < 0 || arena_init(&world, "world") < 0)
                return 1;
        for (unsigned number = 0; number < seconds * 100; number++) {
                draw_frame(number);
                if (number % 10 == 0)
                        load_texture(number);
                nanosleep(&pause, NULL);
        }
        printf("%zu bytes of the world are in use\n", world.n_taken);
        return 0;
}
