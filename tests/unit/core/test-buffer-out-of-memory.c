/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Each allocation of the trace buffer fails in turn: the call reports it, and what was in the buffer stays.
 */

#include "buffer-script.h"
#include "failing-allocator.h"

#define N_BYTES   (4u << 20)
#define N_PUTS    600
#define N_WRITERS 40

/* A chunk with a packet of 100 bytes; the writers take turns. */
static int put(TraceBuffer *buffer, unsigned i) {
        static const uint8_t payload[101] = { 100 };
        ChunkOrigin origin = {
                .producer_id = SCRIPT_PRODUCER,
                .writer_id = (uint16_t)(1 + i % N_WRITERS),
        };
        ChunkData chunk = {
                .chunk_id = i / N_WRITERS,
                .n_fragments = 1,
                .complete = true,
                .payload = payload,
                .n_payload = sizeof(payload),
        };

        return trace_buffer_put(buffer, &origin, &chunk);
}

static TraceBuffer *filled(unsigned n_puts) {
        TraceBuffer *buffer;

        ck_assert_int_eq(trace_buffer_new(&buffer, N_BYTES, 0, TRACE_BUFFER_RING), 0);
        for (unsigned i = 0; i < n_puts; i++)
                ck_assert_int_eq(put(buffer, i), 0);
        return buffer;
}

START_TEST(test_buffer_is_made_or_nothing_is) {
        unsigned n = 0;

        for (;; n++) {
                TraceBuffer *buffer = NULL;
                int r;

                arm(n);
                r = trace_buffer_new(&buffer, N_BYTES, 0, TRACE_BUFFER_RING);
                ck_assert_int_eq(r, disarm() ? -ENOMEM : 0);
                if (r == 0) {
                        trace_buffer_free(buffer);
                        break;
                }
                ck_assert_ptr_null(buffer);
        }
        ck_assert_uint_gt(n, 4);
}
END_TEST

START_TEST(test_chunk_that_could_not_be_put_can_be_put_again) {
        bool has_ended = false;
        unsigned n;

        for (n = 0; !has_ended; n++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = filled(0);
                unsigned n_failures = 0;

                arm(n);
                for (unsigned i = 0; i < N_PUTS; i++) {
                        int r = put(buffer, i);

                        if (r < 0) {
                                ck_assert_int_eq(r, -ENOMEM);
                                n_failures++;
                                ck_assert_int_eq(put(buffer, i), 0);
                        }
                }
                has_ended = !disarm();
                ck_assert_uint_le(n_failures, 1);
                ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_written, N_PUTS);
                ck_assert_uint_eq(script_discard(buffer), N_PUTS);
        }
        ck_assert_uint_gt(n, N_WRITERS);
}
END_TEST

START_TEST(test_clone_is_made_or_the_original_stays_as_it_was) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = filled(N_PUTS);
        bool has_ended = false;
        unsigned n;

        for (n = 0; !has_ended; n++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *clone = NULL;
                int r;

                arm(n);
                r = trace_buffer_clone(&clone, buffer, 0);
                has_ended = !disarm();
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert(has_ended == (clone != NULL));
                ck_assert_int_eq(put(buffer, N_PUTS + n), 0);
                if (clone)
                        ck_assert_uint_eq(script_discard(clone), N_PUTS + n);
        }
        ck_assert_uint_gt(n, N_WRITERS);
        ck_assert_uint_eq(script_discard(buffer), N_PUTS + n);
}
END_TEST

/* Of more pieces than are put together without memory for it. */
static TraceBuffer *with_a_long_packet(void) {
        TraceBuffer *buffer = filled(0);

        for (uint32_t i = 0; i < 100; i++) {
                Step step = PUT(1, i, (i > 0 ? C : 0) | (i < 99 ? T : 0), "a100");

                ck_assert_int_eq(script_put(buffer, &step), 0);
        }
        return buffer;
}

START_TEST(test_packet_that_could_not_be_read_can_be_read_again) {
        unsigned n_failures = 0;
        bool has_ended = false;

        /* Memory that is given back may stay as it is when there is none for less. */
        for (unsigned n = 0; !has_ended; n++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = with_a_long_packet();
                TracePacket packet;
                int r;

                trace_buffer_begin_read(buffer);
                arm(n);
                r = trace_buffer_read(buffer, &packet);
                has_ended = !disarm();
                ck_assert(r == 0 || (r == -ENOMEM && !has_ended));
                ck_assert_str_eq(script_read(buffer), r == 0 ? "" : "1:a10000");
                n_failures += r < 0;
        }
        ck_assert_uint_gt(n_failures, 0);
}
END_TEST

START_TEST(test_patch_that_finds_no_memory_for_a_copy_changes_nothing) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = filled(0), *clone = NULL;
        const Step chunk = PUT(1, 0, 0, "a100");

        ck_assert_int_eq(script_put(buffer, &chunk), 0);
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        arm(0);
        ck_assert_int_eq(trace_buffer_patch(
                                 buffer, SCRIPT_PRODUCER, 1, 0, 1, (const uint8_t *)"XXXX", false),
                         TRACE_BUFFER_E_NOT_FOUND);
        ck_assert(disarm());
        ck_assert_str_eq(script_read(clone), "1:a100");
        ck_assert_str_eq(script_read(buffer), "1:a100");
}
END_TEST

/* The files stay as they were, however often it is tried. */
START_TEST(test_buffer_is_adopted_or_can_be_adopted_later) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        unsigned n_failures = 0;
        int index_fd, segments_fd;
        TraceBufferFound found;
        bool has_ended = false;

        ck_assert_int_eq(trace_buffer_new_kept(&buffer, 32 * 4096, 4096, TRACE_BUFFER_RING), 0);
        for (unsigned i = 0; i < N_PUTS; i++)
                ck_assert_int_eq(put(buffer, i), 0);
        ck_assert(trace_buffer_files(buffer, &index_fd, &segments_fd));
        index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3);
        segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3);
        buffer = trace_buffer_leave(buffer);
        for (unsigned n = 0; !has_ended; n++) {
                int r;

                arm(n);
                r = trace_buffer_adopt(&buffer, index_fd, segments_fd, &found);
                has_ended = !disarm();
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert(has_ended == (buffer != NULL));
                ck_assert_int_ge(fcntl(index_fd, F_GETFD), 0);
                ck_assert_int_ge(fcntl(segments_fd, F_GETFD), 0);
                n_failures += r < 0;
        }
        ck_assert_uint_gt(n_failures, 5);
        ck_assert_uint_eq(found.n_records_broken + found.n_slots_broken, 0);
        ck_assert_uint_eq(script_discard(buffer), N_PUTS);
}
END_TEST

TEST_MAIN("buffer-out-of-memory",
          test_buffer_is_made_or_nothing_is,
          test_chunk_that_could_not_be_put_can_be_put_again,
          test_clone_is_made_or_the_original_stays_as_it_was,
          test_packet_that_could_not_be_read_can_be_read_again,
          test_patch_that_finds_no_memory_for_a_copy_changes_nothing,
          test_buffer_is_adopted_or_can_be_adopted_later)
