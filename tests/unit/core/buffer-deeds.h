/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Deeds on a kept trace buffer, and what it must have between any two instructions of them
 *
 * The process says how many deeds it has begun and ended. What the buffer must have after each is known from another
 * buffer.
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer-script.h"
#include "buffer/mapping.h"
#include "buffer/trace-buffer-private.h"
#include "shared/fd.h"

#define SEGMENT_BYTES 1024
#define N_SEGMENTS    4
#define N_DEEDS_MAX   64
#define TEXT_BYTES    16384

typedef struct Progress {
        unsigned n_begun, n_ended;
} Progress;

typedef struct World {
        int index_fd, segments_fd; /* of the buffer that adopts them */
        Progress *progress;
        char after[N_DEEDS_MAX + 1][TEXT_BYTES]; /* what can be read after each number of deeds */
} World;

/* More than the ring holds, of several writers, with all that changes what is there: packets in several chunks,
 * chunks that grow in place and elsewhere, patches, a reader, and a clone that shares the segments. */
static const Step deeds[] = {
        PUT(1, 0, 0, "a100"),
        PUT(2, 0, 0, "b200"),
        PUT(1, 1, T, "c50|d300"),
        PUT(1, 2, C, "e150"),
        PART(3, 0, 0, "f40", 120),
        PUT(2, 1, P | T, "g90"),
        PATCH(2, 1, 9, "YYYY", true),
        PUT(3, 0, 0, "f40|h90"),
        PATCH(2, 1, 9, "ZZZZ", false),
        PUT(2, 2, C, "i60"),
        PASS(""),
        PART(3, 1, 0, "l10", 0),
        PUT(2, 3, 0, "m350"),
        CLONE(),
        PUT(3, 1, 0, "l10|n180"),
        PUT(1, 5, P, "o250"),
        CLONE(),
        PATCH(1, 5, 20, "QQQQ", false),
        PUT(2, 4, 0, "p450"),
        PUT(1, 6, 0, "s450"),
        PUT(1, 7, 0, "t450"),
        PART(4, 0, 0, "u9", 100),
        PUT(1, 8, 0, "v450"),
        PASS(""),
        PUT(4, 0, 0, "u9|w50"),
        PUT(1, 9, 0, "x900"),
        PUT(1, 10, 0, "z900"),
        CLEAR(),
        PUT(1, 13, 0, "C30"),
        PUT(5, 0, 0, "D30"),
};

static ScriptChunk chunks[ARRAY_SIZE(deeds)];

static inline void do_deed(TraceBuffer *buffer, TraceBuffer **held, size_t i) {
        static const Script script = { .name = "deeds" };
        int r;

        if (deeds[i].kind == STEP_PUT) {
                r = trace_buffer_put(buffer, &chunks[i].origin, &chunks[i].data);
                ck_assert_int_eq(r, deeds[i].outcome);
        } else if (deeds[i].kind == STEP_PASS) {
                script_discard(buffer);
        } else {
                script_play_step(buffer, held, &script, &deeds[i]);
        }
}

/* The packets as they are, without what is said to be lost before them: that depends on the moment. */
static inline void print_packets(char ret[static TEXT_BYTES], TraceBuffer *buffer) {
        TracePacket packet;
        size_t n = 0;

        ret[0] = '\0';
        trace_buffer_begin_read(buffer);
        while (trace_buffer_read(buffer, &packet) == 0) {
                packet.loss = 0;
                n += script_print_packet(ret + n, TEXT_BYTES - n - 1, &packet);
                ret[n++] = ' ';
                ret[n] = '\0';
                ck_assert_uint_lt(n, TEXT_BYTES - 1);
        }
}

static inline void world_learn(World *world) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *held = NULL;

        ck_assert_uint_le(ARRAY_SIZE(deeds), N_DEEDS_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(deeds); i++)
                if (deeds[i].kind == STEP_PUT)
                        script_chunk_init(&chunks[i], &deeds[i]);
        ck_assert_int_eq(
                trace_buffer_new(
                        &buffer, N_SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES, TRACE_BUFFER_RING),
                0);
        for (size_t i = 0; i <= ARRAY_SIZE(deeds); i++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *look = NULL;

                ck_assert_int_eq(trace_buffer_clone(&look, buffer, 0), 0);
                print_packets(world->after[i], look);
                if (i < ARRAY_SIZE(deeds))
                        do_deed(buffer, &held, i);
        }
}

/* Each word of `part` is in `whole`, in the same order. Words of one writer: of several it is not said which is
 * first. */
static inline bool is_subsequence(const char *part, const char *whole, char writer) {
        for (const char *word = part; *word; word = strchr(word, ' ') + 1) {
                size_t n = (size_t)(strchr(word, ' ') - word) + 1;

                if (*word != writer)
                        continue;
                while (*whole && strncmp(whole, word, n) != 0)
                        whole = strchr(whole, ' ') + 1;
                if (!*whole)
                        return false;
                whole += n;
        }
        return true;
}

static inline bool has_word(const char *text, const char *word, size_t n) {
        for (; *text; text = strchr(text, ' ') + 1)
                if (strncmp(text, word, n) == 0)
                        return true;
        return false;
}

/* All words that are in both `one` and `other` are in `text`, too. */
static inline bool has_common_words(const char *text, const char *one, const char *other) {
        for (const char *word = one; *word; word = strchr(word, ' ') + 1) {
                size_t n = (size_t)(strchr(word, ' ') - word) + 1;

                if (has_word(other, word, n) && !has_word(text, word, n))
                        return false;
        }
        return true;
}

/* Within a deed the buffer may have what was there before and what is there afterwards, nothing else and nothing
 * twice; and must have what both have. */
static inline void world_check(const World *world, TraceBuffer *buffer) {
        const char *before = world->after[world->progress->n_ended];
        const char *after = world->after[world->progress->n_begun];
        char text[TEXT_BYTES];
        bool is_good = true;

        print_packets(text, buffer);
        for (char writer = '1'; writer <= '5'; writer++)
                is_good &=
                        is_subsequence(text, before, writer) || is_subsequence(text, after, writer);
        is_good &= has_common_words(text, before, after);
        ck_assert_msg(is_good,
                      "within deed %u: \"%s\", between \"%s\" and \"%s\"",
                      world->progress->n_ended,
                      text,
                      before,
                      after);
}

static inline void world_init(World *world) {
        world->progress = mmap(
                NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert(world->progress != MAP_FAILED);
        world_learn(world);
}

/* In files only: as if another process had left it. */
static inline void world_make_files(World *world) {
        TraceBuffer *buffer;

        *world->progress = (Progress){};
        ck_assert_int_eq(
                trace_buffer_new_kept(
                        &buffer, N_SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES, TRACE_BUFFER_RING),
                0);
        ck_assert(trace_buffer_files(buffer, &world->index_fd, &world->segments_fd));
        world->index_fd = fcntl(world->index_fd, F_DUPFD_CLOEXEC, 3);
        world->segments_fd = fcntl(world->segments_fd, F_DUPFD_CLOEXEC, 3);
        trace_buffer_leave(buffer);
}

/* Without a fault. */
static inline TraceBuffer *world_adopt(World *world) {
        TraceBuffer *buffer;
        TraceBufferFound found;

        ck_assert_int_eq(trace_buffer_adopt(&buffer, world->index_fd, world->segments_fd, &found),
                         0);
        ck_assert_uint_eq(found.n_records_broken + found.n_slots_broken, 0);
        return buffer;
}

static inline void live(Progress *progress, TraceBuffer *buffer) {
        TraceBuffer *held = NULL;

        for (unsigned i = 0; i < ARRAY_SIZE(deeds); i++) {
                __atomic_store_n(&progress->n_begun, i + 1, __ATOMIC_SEQ_CST);
                do_deed(buffer, &held, i);
                __atomic_store_n(&progress->n_ended, i + 1, __ATOMIC_SEQ_CST);
        }
        trace_buffer_free(held);
}
