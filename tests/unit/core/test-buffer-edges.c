/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sizes and states at the edge of what is possible, which no script of the other tests happens to have.
 */

#include "buffer-script.h"
#include "buffer/trace-buffer-private.h"

/* The size takes one of the four bytes that are patched. */
SCRIPT_CASE(test_chunk_of_four_bytes_can_be_patched,
            .steps = { PUT(1, 0, 0, "a3"),
                       PUT(1, 1, 0, "b3"),
                       PATCH(1, 0, 0, "\x03XYZ", false),
                       PASS("1:X1Y1Z1 1:b3") })

SCRIPT_CASE(test_size_may_take_more_bytes_than_it_needs,
            .steps = { PUT(1, 0, 0, "#838000616161|b2"),
                       PUT(1, 1, 0, "#8380808000616161|b2"),
                       PUT(1, 2, 0, "#83808000616161|b2"),
                       PASS("1:a3 1:b2 1:a3 1:b2 1:a3 1:b2") })

SCRIPT_CASE(test_packet_waits_for_the_patch_of_a_piece_in_its_middle,
            .steps = { PUT(1, 0, T, "a4"),
                       PUT(1, 1, C | T | P, "b4"),
                       PUT(1, 2, C, "c4"),
                       PUT(2, 0, 0, "d4"),
                       PASS("2:d4"),
                       PATCH(1, 1, 1, "XXXX", false),
                       PASS("1:a4X4c4") })

SCRIPT_CASE(test_packet_whose_patch_will_not_come_is_lost,
            .steps = { PUT(1, 0, T, "a4"),
                       PUT(1, 1, C | T | P, "b4"),
                       PUT(1, 2, C, "c4"),
                       PUT(1, 3, 0, "d4"),
                       PASS(""),
                       GONE(),
                       PASS("1:d4/25") })

/* A buffer that overwrites nothing has no other room for the rest of a chunk. */
SCRIPT_CASE(test_rest_of_a_chunk_leaves_a_clone_as_it_was,
            .policy = TRACE_BUFFER_DISCARD,
            .steps = { PART(1, 0, 0, "a9", 10),
                       CLONE(),
                       PUT(1, 0, 0, "x9|b9"),
                       HELD("1:a9"),
                       PASS("1:x9 1:b9") })

SCRIPT_CASE(test_pass_goes_on_in_a_segment_that_starts_again,
            .steps = { PUT(1, 0, 0, "a9"),
                       PUT(1, 1, 0, "b9"),
                       SOME("1:a9 1:b9"),
                       PUT(1, 2, 0, "c9"),
                       NEXT("1:c9") })

/* The service has another process, to which the same numbers mean other writers. */
SCRIPT_CASE(test_retired_writers_are_strangers_to_those_who_come_back,
            .steps = { PUT(1, 0, 0, "a9"),
                       PUT(2, 0, 0, "b9"),
                       PUT(3, 0, 0, "c9"),
                       PUT(4, 0, 0, "d9"),
                       PUT(5, 0, 0, "e9"),
                       RETIRE(),
                       PUT(1, 0, 0, "f9"),
                       PUT(2, 0, 0, "g9"),
                       PUT(3, 0, 0, "h9"),
                       PUT(4, 0, 0, "i9"),
                       PUT(5, 0, 0, "j9"),
                       RETIRE(),
                       PUT(1, 0, 0, "k9"),
                       PUT(5, 0, 0, "l9"),
                       PASS("1:a9 2:b9 3:c9 4:d9 5:e9 1:f9 2:g9 3:h9 4:i9 5:j9 1:k9 5:l9") })

SCRIPT_CASE(test_nobody_waits_for_what_retired_writers_owe,
            .steps = { PUT(1, 0, 0, "a4"),
                       PUT(1, 1, P, "b4"),
                       PUT(1, 2, 0, "c4"),
                       PASS("1:a4"),
                       RETIRE(),
                       PATCH_FAILS(1, 1, 1),
                       PASS("1:c4/17") })

/* An eviction takes a sixteenth of a buffer, but no more than 16 MiB, and no less than a chunk. */
START_TEST(test_segments_are_neither_too_large_nor_too_small) {
        const size_t mib = 1 << 20;
        _cleanup_(trace_buffer_freep) TraceBuffer *large = NULL, *middle = NULL, *small = NULL;

        ck_assert_int_eq(trace_buffer_new(&large, 320 * mib, 0, TRACE_BUFFER_RING), 0);
        ck_assert_uint_eq(large->segment_bytes, 16 * mib);
        ck_assert_int_eq(trace_buffer_new(&middle, 64 * mib, 0, TRACE_BUFFER_RING), 0);
        ck_assert_uint_eq(middle->segment_bytes, 4 * mib);
        ck_assert_int_eq(trace_buffer_new(&small, 128 << 10, 0, TRACE_BUFFER_RING), 0);
        ck_assert_uint_eq(small->segment_bytes, (128 << 10) / 3);
}
END_TEST

START_TEST(test_frozen_buffer_gives_back_what_has_been_read) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const Step chunk = PUT(1, 0, 0, "a9");

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 * 4096, 4096, TRACE_BUFFER_RING), 0);
        ck_assert_int_eq(script_put(buffer, &chunk), 0);
        ck_assert_uint_eq(script_discard(buffer), 1);
        trace_buffer_freeze(buffer);
        for (size_t i = 0; i < buffer->n_slots; i++)
                ck_assert_ptr_null(buffer->slots[i].segment);
}
END_TEST

START_TEST(test_chunk_whose_commit_comes_twice_is_counted_once) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const Step chunks[] = { PUT(1, 0, 0, "a9"), PUT(1, 1, 0, "b9") };
        WriterCursor cursor = {};
        uint64_t n_chunks = 0;
        WriterStats writer;

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 * 4096, 4096, TRACE_BUFFER_RING), 0);
        for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
                ck_assert_int_eq(script_put(buffer, &chunks[i]), 0);
        ck_assert_uint_eq(script_discard(buffer), 2);
        ck_assert_int_eq(script_put(buffer, &chunks[0]), 0);
        ck_assert(trace_buffer_next_writer(buffer, &cursor, &writer));
        for (size_t i = 0; i < TRACE_BUFFER_HISTOGRAM_BUCKETS; i++)
                n_chunks += writer.n_chunks[i];
        ck_assert_uint_eq(n_chunks, 2);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_committed_out_of_order, 1);
}
END_TEST

/* It is too late for the chunk that was read last, but what is left has room for it. */
START_TEST(test_chunk_that_is_half_the_ids_ahead_of_what_was_read_is_no_violation) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const Step chunks[] = {
                PUT(1, 0, 0, "a9"),
                PUT(1, 10, P, "b9"),
                PUT(1, 10u + INT32_MAX, 0, "c9"),
        };
        TracePacket packet;

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 * 4096, 4096, TRACE_BUFFER_RING), 0);
        ck_assert_int_eq(script_put(buffer, &chunks[0]), 0);
        ck_assert_int_eq(script_put(buffer, &chunks[1]), 0);
        trace_buffer_begin_read(buffer);
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_int_ne(trace_buffer_read(buffer, &packet), 0);
        ck_assert_int_eq(script_put(buffer, &chunks[2]), TRACE_BUFFER_E_DISCARDED);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->abi_violations, 0);
}
END_TEST

static void read_all(TraceBuffer *buffer) {
        TracePacket packet;

        trace_buffer_begin_read(buffer);
        while (trace_buffer_read(buffer, &packet) == 0)
                ;
}

/* What is known of a writer tells the rest of its chunk from a new one. Strangers are forgotten before it, though it
 * has been silent for longer than all of them. */
START_TEST(test_writer_who_comes_back_is_known_beside_many_who_do_not) {
        static const uint8_t payload[] = { 3, 'a', 'b', 'c' };
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const uint64_t staying[] = { SCRIPT_PRODUCER };
        const Step part = PART(1, 5, 0, "a100", 0), whole = PUT(1, 5, 0, "a100");

        ck_assert_int_eq(trace_buffer_new_kept(&buffer, 16u << 20, 0, TRACE_BUFFER_RING), 0);
        ck_assert_int_eq(script_put(buffer, &part), 0);
        for (uint16_t i = 0; i <= TRACE_BUFFER_IDLE_SEQUENCES_MAX; i++) {
                const ChunkOrigin origin = { .producer_id = SCRIPT_PRODUCER + 1, .writer_id = i };
                const ChunkData chunk = { .n_fragments = 1,
                                          .complete = true,
                                          .payload = payload,
                                          .n_payload = sizeof(payload) };

                ck_assert_int_eq(trace_buffer_put(buffer, &origin, &chunk), 0);
                if (i == 0)
                        read_all(buffer);
        }
        read_all(buffer);
        script_adopt(&buffer);
        ck_assert_int_eq(trace_buffer_retire_producers(buffer, staying, ARRAY_SIZE(staying)), 0);
        ck_assert_int_eq(script_put(buffer, &whole), 0);
        ck_assert_str_eq(script_read(buffer), "");
}
END_TEST

TEST_MAIN("buffer-edges",
          test_segments_are_neither_too_large_nor_too_small,
          test_retired_writers_are_strangers_to_those_who_come_back,
          test_nobody_waits_for_what_retired_writers_owe,
          test_writer_who_comes_back_is_known_beside_many_who_do_not,
          test_chunk_of_four_bytes_can_be_patched,
          test_size_may_take_more_bytes_than_it_needs,
          test_packet_waits_for_the_patch_of_a_piece_in_its_middle,
          test_packet_whose_patch_will_not_come_is_lost,
          test_rest_of_a_chunk_leaves_a_clone_as_it_was,
          test_pass_goes_on_in_a_segment_that_starts_again,
          test_frozen_buffer_gives_back_what_has_been_read,
          test_chunk_whose_commit_comes_twice_is_counted_once,
          test_chunk_that_is_half_the_ids_ahead_of_what_was_read_is_no_violation)
