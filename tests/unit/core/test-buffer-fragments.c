/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "buffer-script.h"

SCRIPT_CASE(test_end_without_beginning_is_dropped_and_the_rest_is_put_together,
            .steps = { PUT(1, 0, C | T, "a9|b19|c29|d9"),
                       PUT(1, 1, C, "e19|f29"),
                       PASS("1:b19/9 1:c29 1:d9e19 1:f29") })

SCRIPT_CASE(test_beginning_waits_for_its_end,
            .steps = { PUT(1, 0, C, "a1"),
                       PUT(1, 1, T, "b1"),
                       PASS(""),
                       PUT(1, 2, C, "c1"),
                       PASS("1:b1c1/9"),
                       PASS("") })

SCRIPT_CASE(test_late_middle_chunk_is_read_in_its_place,
            .steps = { PUT(1, 0, 0, "a9"),
                       PUT(1, 2, 0, "c29"),
                       STAT(chunks_committed_out_of_order, 0),
                       SOME(""),
                       PUT(1, 1, 0, "b19"),
                       STAT(chunks_committed_out_of_order, 1),
                       PASS("1:a9 1:b19 1:c29") })

SCRIPT_CASE(test_late_middle_chunk_completes_a_packet,
            .steps = { PUT(1, 0, T, "a9"),
                       PUT(1, 2, C, "c29"),
                       PUT(1, 1, C | T, "b19"),
                       PASS("1:a9b19c29") })

SCRIPT_CASE(test_packet_of_late_chunks_leaves_the_next_intact,
            .steps = { PUT(1, 0, T, "a9"),
                       PUT(1, 2, C, "c29"),
                       PUT(1, 1, C | T, "b19"),
                       PUT(1, 3, 0, "d39"),
                       PASS("1:a9b19c29 1:d39") })

SCRIPT_CASE(test_order_over_the_end_of_the_ids_when_the_second_comes_last,
            .steps = { PUT(1, UINT32_MAX - 1, 0, "a9"),
                       PUT(1, 1, 0, "d39"),
                       SOME("1:a9"),
                       PUT(1, 0, 0, "c29"),
                       PUT(1, UINT32_MAX, 0, "b19"),
                       PASS("1:b19 1:c29 1:d39") })

SCRIPT_CASE(test_order_over_the_end_of_the_ids_when_the_last_comes_last,
            .steps = { PUT(1, UINT32_MAX - 1, 0, "a9"),
                       PUT(1, 0, 0, "c29"),
                       SOME("1:a9"),
                       PUT(1, UINT32_MAX, 0, "b19"),
                       SOME("1:b19 1:c29"),
                       PUT(1, 1, 0, "d39"),
                       PASS("1:d39") })

SCRIPT_CASE(test_empty_chunk_in_front_is_transparent,
            .steps = { PUT(1, 0, 0, ""),
                       PUT(1, 1, T, "a9|b19"),
                       PUT(1, 2, C | T, "c29|d39"),
                       PASS("1:a9 1:b19c29") })

SCRIPT_CASE(test_empty_chunk_behind_does_not_end_a_packet,
            .steps = { PUT(1, 0, T, "a9|b9"),
                       PUT(1, 1, 0, ""),
                       PASS("1:a9"),
                       PASS(""),
                       PUT(1, 2, C, "c9"),
                       PASS("1:b9c9") })

SCRIPT_CASE(test_empty_chunk_in_the_middle_is_transparent,
            .steps = { PUT(1, 0, T, "a9"),
                       PUT(1, 1, 0, ""),
                       PUT(1, 2, C, "b9|c19"),
                       PASS("1:a9b9 1:c19") })

SCRIPT_CASE(test_empty_chunks_in_a_long_chain_are_transparent,
            .steps = { PUT(1, 0, T, "a19"),
                       PUT(1, 1, 0, ""),
                       PUT(1, 2, C | T, "b19"),
                       PUT(1, 3, C | T, ""),
                       PUT(1, 4, C, "c19"),
                       PASS("1:a19b19c19") })

SCRIPT_CASE(test_packet_over_the_end_of_the_ids,
            .steps = { PUT(1, UINT32_MAX - 1, T, "a9"),
                       PUT(1, UINT32_MAX, C | T, "b9"),
                       PUT(1, 0, C | T, "c9"),
                       PUT(1, 1, C | T, "d9"),
                       PUT(1, 2, C, "e9"),
                       PASS("1:a9b9c9d9e9") })

SCRIPT_CASE(test_late_packet_over_the_end_of_the_ids,
            .steps = { PUT(1, UINT32_MAX, T, "a5"),
                       PUT(1, 1, C, "c5"),
                       PUT(1, 0, C | T, "b5"),
                       PASS("1:a5b5c5") })

SCRIPT_CASE(test_identity_is_that_of_the_packet_and_buffer_order_is_kept,
            .steps = { PUT(1, 0, T, "a9|b9"),
                       PUT(2, 0, 0, "c9|d9"),
                       PUT(1, 1, C, "e9|f9"),
                       PASS("1:a9 1:b9e9 2:c9 2:d9 1:f9") })

SCRIPT_CASE(test_packet_in_chunks_that_its_writer_gave_up_is_dropped,
            .steps = { PUT(1, 0, T, "a9|b9"),
                       PUT(1, 1, C, "!"),
                       PUT(1, 2, 0, "d9"),
                       PASS("1:a9 1:d9/129") })

SCRIPT_CASE(test_giving_up_on_a_packet_is_no_violation,
            .steps = { PUT(1, 0, 0, "a9|!"),
                       PASS("1:a9"),
                       STAT(abi_violations, 0),
                       STAT(trace_writer_packet_loss, 1),
                       PUT(1, 1, 0, "b9"),
                       PASS("1:b9/129") })

SCRIPT_CASE(test_packets_before_the_unpatched_one_of_an_incomplete_chunk,
            .steps = { PART(1, 0, T | P, "a19|b29", 450), PASS("1:a19"), PASS("") })

SCRIPT_CASE(test_packet_ends_with_the_last_byte_of_the_buffer,
            .n_segments = 2,
            .segment_bytes = 504,
            .steps = { PUT(1, 0, T, "a446"),
                       PUT(1, 1, C, "b446"),
                       STAT(padding_bytes_written, 0),
                       PASS("1:a446b446"),
                       STAT(chunks_overwritten, 0) })

SCRIPT_CASE(test_packet_in_ten_chunks,
            .steps = { PUT(1, 0, T, "a49"),
                       PUT(1, 1, C | T, "b49"),
                       PUT(1, 2, C | T, "c49"),
                       PUT(1, 3, C | T, "d49"),
                       PUT(1, 4, C | T, "e49"),
                       PUT(1, 5, C | T, "f49"),
                       PUT(1, 6, C | T, "g49"),
                       PUT(1, 7, C | T, "h49"),
                       PUT(1, 8, C | T, "i49"),
                       PUT(1, 9, C, "j49"),
                       PASS("1:a49b49c49d49e49f49g49h49i49j49") })

static void put(TraceBuffer *buffer, uint32_t id, unsigned flags, const char *text) {
        Step step = PUT(1, id, flags, text);

        ck_assert_int_eq(script_put(buffer, &step), 0);
}

START_TEST(test_packet_has_any_number_of_middle_pieces) {
        for (unsigned n = 1; n <= 10; n++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
                char expected[200] = "1:a9 1:b19";

                ck_assert_int_eq(trace_buffer_new(&buffer, 4096, 2048, TRACE_BUFFER_RING), 0);
                put(buffer, 0, T, "a9|b19");
                for (unsigned i = 1; i <= n; i++) {
                        char piece[8];

                        sprintf(piece, "%c%u", 'b' + i, 19 + i);
                        put(buffer, i, C | T, piece);
                        strcat(expected, piece);
                }
                put(buffer, n + 1, C, "y29|z49");
                strcat(expected, "y29 1:z49");
                ck_assert_str_eq(script_read(buffer), expected);
        }
}
END_TEST

static const Script others[] = {
        { "others go on meanwhile",
          .steps = { PUT(1, 0, T, "a5"),
                     PUT(2, 0, 0, "b5"),
                     PUT(2, 1, T, "c5"),
                     PUT(3, 0, 0, "d5"),
                     PASS("2:b5 3:d5"),
                     PUT(2, 2, C, "e5"),
                     PUT(1, 1, C, "f5"),
                     PASS("1:a5f5 2:c5e5") } },
        { "only the needed fragment is read ahead",
          .steps = { PUT(1, 0, T, "a5"),
                     PUT(2, 0, 0, "b5"),
                     PUT(1, 1, C, "c5|d5"),
                     PASS("1:a5c5 2:b5 1:d5") } },
        { "an empty fragment ends a packet too",
          .steps = { PUT(1, 0, T, "a5"), PUT(1, 1, C, "b0|c5"), PASS("1:a5 1:c5") } },
        { "empty fragments make no packet",
          .steps = { PUT(1, 0, T, "a0"), PUT(1, 1, C, "b0|c5"), PASS("1:c5") } },
        { "a packet over many segments",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, T, "a400"),
                     PUT(1, 1, C | T, "b400"),
                     PUT(1, 2, C | T, "c400"),
                     PUT(1, 3, C, "d400"),
                     PASS("1:a400b400c400d400") } },
        { "backwards",
          .steps = { PUT(1, 4, 0, "e5"),
                     PUT(1, 3, 0, "d5"),
                     PUT(1, 2, 0, "c5"),
                     PUT(1, 1, 0, "b5"),
                     PUT(1, 0, 0, "a5"),
                     PASS("1:a5 1:b5 1:c5 1:d5 1:e5"),
                     STAT(chunks_committed_out_of_order, 4) } },
};
SCRIPT_TEST(test_packets_are_put_together_or_wait, others)

static const Script readaheads[] = {
        { "one for each packet in several chunks",
          .steps = { PUT(1, 0, T, "a5|b5"),
                     PUT(1, 1, C | T, "c5"),
                     PUT(1, 2, C | T, "d5|e5"),
                     PUT(1, 3, C, "f5|g5"),
                     PASS("1:a5 1:b5c5d5 1:e5f5 1:g5"),
                     STAT(readaheads_succeeded, 2),
                     STAT(readaheads_failed, 0) } },
        { "a failed one for each pass in which the rest is not there",
          .steps = { PUT(1, 0, T, "a5"),
                     PASS(""),
                     PASS(""),
                     STAT(readaheads_failed, 2),
                     PUT(1, 1, C, "b5"),
                     PASS("1:a5b5"),
                     STAT(readaheads_failed, 2),
                     STAT(readaheads_succeeded, 1) } },
        { "and when it never comes",
          .steps = { PUT(1, 0, T, "a5"),
                     PUT(1, 1, 0, "b5"),
                     PASS("1:b5/33"),
                     STAT(readaheads_failed, 1) } },
};
SCRIPT_TEST(test_looking_ahead_is_counted, readaheads)

TEST_MAIN("buffer-fragments",
          test_end_without_beginning_is_dropped_and_the_rest_is_put_together,
          test_beginning_waits_for_its_end,
          test_late_middle_chunk_is_read_in_its_place,
          test_late_middle_chunk_completes_a_packet,
          test_packet_of_late_chunks_leaves_the_next_intact,
          test_order_over_the_end_of_the_ids_when_the_second_comes_last,
          test_order_over_the_end_of_the_ids_when_the_last_comes_last,
          test_empty_chunk_in_front_is_transparent,
          test_empty_chunk_behind_does_not_end_a_packet,
          test_empty_chunk_in_the_middle_is_transparent,
          test_empty_chunks_in_a_long_chain_are_transparent,
          test_packet_over_the_end_of_the_ids,
          test_late_packet_over_the_end_of_the_ids,
          test_identity_is_that_of_the_packet_and_buffer_order_is_kept,
          test_packet_in_chunks_that_its_writer_gave_up_is_dropped,
          test_giving_up_on_a_packet_is_no_violation,
          test_packets_before_the_unpatched_one_of_an_incomplete_chunk,
          test_packet_ends_with_the_last_byte_of_the_buffer,
          test_packet_in_ten_chunks,
          test_packet_has_any_number_of_middle_pieces,
          test_packets_are_put_together_or_wait,
          test_looking_ahead_is_counted)
