/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that writes anything anywhere into the memory of its ring, positions included. Nothing is read outside of
 * the ring, what was written is taken once and in its order, and a position that cannot be is counted.
 */

#include <sys/mman.h>
#include <unistd.h>

#include "bridges/sysprof/capture-frame.h"
#include "bridges/sysprof/capture-ring.h"
#include "fuzz.h"

#define MAP_BYTES  (CAPTURE_RING_PAGE + CAPTURE_RING_BYTES)
#define HEADER_MAX 32 /* bytes of the first page that matter, and some more */
#define STEPS_MAX  64 /* each may copy a whole ring */

typedef struct World {
        CaptureRing ring;
        uint8_t *theirs; /* the program's view of it */
        uint8_t *copy;
        uint32_t head; /* where the next byte is to come from */
        uint64_t n_losses;
} World;

static void world_init(World *world) {
        int fd;

        *world = (World){ .copy = malloc(CAPTURE_RING_BYTES) };
        FUZZ_CHECK(world->copy && capture_ring_new(&world->ring, &fd) == 0);
        world->theirs = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        FUZZ_CHECK(world->theirs != MAP_FAILED);
        close(fd);
}

static void world_deinit(World *world) {
        munmap(world->theirs, MAP_BYTES);
        capture_ring_deinit(&world->ring);
        free(world->copy);
}

static uint32_t their_u32(const World *world, size_t at) {
        uint32_t value;

        memcpy(&value, world->theirs + at, sizeof(value));
        return value;
}

static void read_frames(const uint8_t *data, size_t n) {
        uint8_t *exact = memcpy(malloc(n + 1), data, n); /* for the sanitizer */
        const uint8_t *at = exact;
        CaptureFrame frame;

        while (n > 0 && capture_frame_read(&frame, at, n) == 0) {
                FUZZ_CHECK(frame.n_bytes > 0 && frame.n_bytes <= n);
                at += frame.n_bytes;
                n -= frame.n_bytes;
        }
        free(exact);
}

static void check_taken(const World *world, size_t n, uint32_t tail) {
        const uint8_t *frames = world->theirs + CAPTURE_RING_PAGE;

        FUZZ_CHECK(n < CAPTURE_RING_BYTES);
        FUZZ_CHECK((world->head + n) % CAPTURE_RING_BYTES == tail);
        for (size_t i = 0; i < n; i += 8)
                FUZZ_CHECK(memcmp(world->copy + i,
                                  frames + (world->head + i) % CAPTURE_RING_BYTES,
                                  8) == 0);
        FUZZ_CHECK(their_u32(world, 0) == tail);
}

static void take(World *world) {
        const uint32_t tail = their_u32(world, sizeof(uint32_t));
        const bool is_nonsense = tail >= CAPTURE_RING_BYTES || tail % 8 != 0;
        const uint64_t n_losses = world->n_losses;
        size_t n;

        n = capture_ring_take(&world->ring, world->copy, &world->n_losses);
        FUZZ_CHECK(world->n_losses == n_losses + is_nonsense);
        if (is_nonsense) {
                FUZZ_CHECK(n == 0);
                return;
        }
        check_taken(world, n, tail);
        world->head = tail;
        read_frames(world->copy, n);
}

/* As a program does that keeps to the protocol: behind what it has written before. */
static void append(World *world, FuzzInput *input) {
        uint32_t tail = their_u32(world, sizeof(uint32_t)) % CAPTURE_RING_BYTES & ~7u;
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(input, fuzz_take_16(input), &bytes);

        for (size_t i = 0; i < n; i++)
                world->theirs[CAPTURE_RING_PAGE + (tail + i) % CAPTURE_RING_BYTES] = bytes[i];
        tail = (uint32_t)((tail + ((n + 7) & ~(size_t)7)) % CAPTURE_RING_BYTES);
        memcpy(world->theirs + sizeof(tail), &tail, sizeof(tail));
}

static void overwrite(World *world, FuzzInput *input) {
        const size_t at = fuzz_take(input) % HEADER_MAX;
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(input, fuzz_take(input) % HEADER_MAX, &bytes);

        memcpy(world->theirs + at, bytes, n);
}

static void fill(World *world, FuzzInput *input) {
        const uint32_t tail = fuzz_take_16(input) * 8u;

        memset(world->theirs + CAPTURE_RING_PAGE, fuzz_take(input), CAPTURE_RING_BYTES);
        memcpy(world->theirs + sizeof(tail), &tail, sizeof(tail));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static void (*const steps[])(World *, FuzzInput *) = { append, overwrite, fill };
        FuzzInput input = { data, n_bytes };
        World world;

        world_init(&world);
        for (unsigned i = 0; i < STEPS_MAX && input.n_left > 0; i++) {
                const uint8_t step = fuzz_take(&input);

                steps[step / 2 % 3](&world, &input);
                if (step % 2)
                        take(&world);
        }
        take(&world);
        world_deinit(&world);
        return 0;
}
