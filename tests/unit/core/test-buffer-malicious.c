/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a producer may do wrong, or on purpose: it harms its own chunks and nobody else's. */

#include "buffer-script.h"
#include "buffer/sequence.h"

SCRIPT_CASE(test_chunk_of_nothing_but_a_zero_size,
            .steps = { PUT(1, 0, 0, "a31"),
                       PUT(1, 1, 0, "#00"),
                       PUT(1, 2, 0, "b31"),
                       PASS("1:a31 1:b31") })

SCRIPT_CASE(test_chunk_larger_than_a_segment_is_refused,
            .segment_bytes = 512,
            .steps = { REFUSED(1, 0, 0, "a600|b400"),
                       PASS(""),
                       PUT(1, 1, 0, "b5"),
                       PASS("1:b5"),
                       STAT(abi_violations, 1),
                       STAT(chunks_written, 1) })

SCRIPT_CASE(test_more_fragments_claimed_than_there_are,
            .steps = { PUT(1, 0, MISCOUNT, "a63"),
                       PUT(2, 0, MISCOUNT, ""),
                       PUT(3, 0, 0, "b31"),
                       PASS("1:a63 3:b31"),
                       PUT(1, 1, 0, "c5"),
                       PASS("1:c5/5"),
                       STAT(abi_violations, 2) })

SCRIPT_CASE(test_zero_size_misleads_only_its_own_chunk,
            .steps = { PUT(1, 0, 0, "#00616161|b3"),
                       PUT(2, 0, 0, "c3"),
                       PASS("2:c3"),
                       STAT(abi_violations, 1) })

SCRIPT_CASE(
        test_size_that_runs_off_the_end,
        .segment_bytes = 8192,
        .steps = { PUT(1, 0, 0, "a4079|#82"), PASS("1:a4079"), PASS(""), STAT(abi_violations, 1) })

SCRIPT_CASE(test_size_that_is_too_large,
            .steps = { PUT(1, 0, 0, "a31"),
                       /* By one, by as much as it can say, and without end. */
                       PUT(2, 1, 0, "#10313233343536373839616263646566"),
                       PUT(3, 0, 0, "#feffff7f"),
                       PUT(4, 0, 0, "#ff*111|#7f"),
                       PUT(1, 1, 0, "b31"),
                       PASS("1:a31 1:b31"),
                       STAT(abi_violations, 3) })

SCRIPT_CASE(test_chunk_that_is_one_enormous_size,
            .segment_bytes = 65536,
            .steps = { REFUSED(1, 1, 0, "#ff*65000"),
                       PUT(1, 1, 0, "#ff*32000"),
                       REFUSED(1, 1, 0, "#ff*65000"),
                       PASS(""),
                       STAT(abi_violations, 3),
                       STAT(chunks_written, 1) })

SCRIPT_CASE(test_zero_size_in_the_middle_of_a_packet_is_skipped,
            .steps = { PUT(1, 0, T, "a3"),
                       PUT(1, 1, C | T, "#00626262"),
                       PUT(1, 2, C, "c3|d3"),
                       PUT(1, 3, 0, "e3"),
                       PUT(2, 3, 0, "f4"),
                       PASS("1:a3c3 1:d3 1:e3 2:f4") })

SCRIPT_CASE(test_zero_size_at_the_beginning_of_a_packet_is_skipped,
            .steps = { PUT(1, 0, T, "a3|#00000000"),
                       PUT(1, 1, C, "c3|d3"),
                       PUT(1, 2, 0, "e3"),
                       PUT(2, 3, 0, "f3"),
                       PASS("1:a3 1:c3 1:d3 1:e3 2:f3") })

SCRIPT_CASE(test_patch_outside_of_its_chunk_is_refused,
            .steps = { PUT(1, 0, 0, "a2046"),
                       PUT(1, 1, 0, "b15"),
                       PATCH_FAILS(1, 1, 13),
                       PATCH_FAILS(1, 1, 16),
                       PATCH_FAILS(1, 1, -4),
                       PATCH_FAILS(1, 1, -8),
                       PATCH_FAILS(1, 1, -12),
                       PATCH_FAILS(1, 1, -16),
                       PATCH_FAILS(1, 1, -20),
                       PATCH_FAILS(1, 1, -32),
                       PATCH_FAILS(1, 1, -1024),
                       PATCH_FAILS(1, 1, INT32_MIN),
                       PASS("1:a2046 1:b15"),
                       STAT(patches_failed, 10) })

SCRIPT_CASE(test_chunk_that_has_become_shorter_is_refused,
            .steps = { PUT(1, 0, 0, "a2046"),
                       REFUSED(1, 0, 0, "b1022"),
                       PASS("1:a2046"),
                       STAT(abi_violations, 1) })

SCRIPT_CASE(test_chunk_that_has_become_shorter_after_it_was_read_is_refused,
            .steps = { PUT(1, 0, 0, "a29|b39"),
                       SOME("1:a29 1:b39"),
                       REFUSED(1, 0, 0, "a9|b9|c9"),
                       PASS(""),
                       PUT(1, 1, 0, "d9|e9"),
                       PASS("1:d9 1:e9") })

SCRIPT_CASE(test_boundaries_moved_over_what_was_read,
            .steps = { PART(1, 0, 0, "a29|b39", 440),
                       SOME("1:a29 1:b39"),
                       PUT(1, 0, 0, "a9|b9|c60"),
                       PASS(""),
                       PUT(1, 1, 0, "d9|e9"),
                       PASS("1:d9/5 1:e9") })

SCRIPT_CASE(test_boundaries_moved_in_a_complete_chunk_that_was_read,
            .steps = { PUT(1, 0, 0, "a29|b39"),
                       SOME("1:a29 1:b39"),
                       PUT(1, 0, 0, "a9|b9|c49"),
                       PASS(""),
                       PUT(1, 1, 0, "d9|e9"),
                       PASS("1:d9 1:e9") })

static const Script violations[] = {
        { "shorter than before, incomplete",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     REFUSED(1, 0, 0, "a5"),
                     PASS("1:a5 1:b5"),
                     STAT(abi_violations, 1) } },
        { "shorter than before, incomplete and read",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     PASS("1:a5 1:b5"),
                     REFUSED(1, 0, 0, "a5"),
                     PUT(1, 0, 0, "a5|b5|c5"),
                     PASS("1:c5") } },
        { "a flag taken back",
          .steps = { PART(1, 0, T, "a5", 50),
                     REFUSED(1, 0, 0, "a5|b5"),
                     PUT(1, 0, T, "a5|b5"),
                     PUT(1, 1, C, "c5"),
                     PASS("1:a5 1:b5c5"),
                     STAT(abi_violations, 1) } },
        { "a complete chunk that goes on",
          .steps = { PUT(1, 0, 0, "a5"),
                     REFUSED(1, 0, 0, "a5|b5"),
                     PASS("1:a5"),
                     STAT(abi_violations, 1),
                     STAT(chunks_discarded, 0) } },
        { "bigger than any chunk",
          .segment_bytes = 1 << 17,
          .steps = { PART(1, 0, 0, "a5", 32762),
                     PART_REFUSED(1, 1, 0, "b16000|c16000|d16000"),
                     PASS("1:a5"),
                     STAT(abi_violations, 1) } },
        { "a size past the end",
          .steps = { PUT(1, 0, 0, "~"),
                     PUT(1, 1, 0, "a5|~|b5"),
                     PASS("1:a5/5"),
                     STAT(abi_violations, 2) } },
        { "ids 2^31 apart leave the order clear",
          .steps = { PUT(1, 0, 0, "a5"),
                     PUT(1, 0x70000000, 0, "b5"),
                     REFUSED(1, 0xe0000000, 0, "c5"),
                     REFUSED(1, 0x90000000, 0, "d5"),
                     PASS("1:a5 1:b5/3"),
                     STAT(abi_violations, 2) } },
        { "all of it does not disturb others",
          .steps = { PUT(2, 0, T, "x5"),
                     PUT(1, 0, C | T, "~"),
                     PUT(1, 1, C | T, "!"),
                     PUT(1, 2, C | T | P, "a5"),
                     PUT(2, 1, C, "y5"),
                     PASS("2:x5y5") } },
};
SCRIPT_TEST(test_chunks_against_the_rules_are_contained, violations)

START_TEST(test_writer_that_counts_backwards_is_stopped) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        size_t n_refused = 0;

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 10000; id > 0; id--) {
                Step step = PUT(1, id, 0, "a5");

                n_refused += script_put(buffer, &step) == TRACE_BUFFER_E_DISCARDED;
        }
        ck_assert_uint_eq(n_refused, 10000 - SEQUENCE_REORDER_MAX);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->abi_violations, n_refused);
}
END_TEST

TEST_MAIN("buffer-malicious",
          test_chunk_of_nothing_but_a_zero_size,
          test_chunk_larger_than_a_segment_is_refused,
          test_more_fragments_claimed_than_there_are,
          test_zero_size_misleads_only_its_own_chunk,
          test_size_that_runs_off_the_end,
          test_size_that_is_too_large,
          test_chunk_that_is_one_enormous_size,
          test_zero_size_in_the_middle_of_a_packet_is_skipped,
          test_zero_size_at_the_beginning_of_a_packet_is_skipped,
          test_patch_outside_of_its_chunk_is_refused,
          test_chunk_that_has_become_shorter_is_refused,
          test_chunk_that_has_become_shorter_after_it_was_read_is_refused,
          test_boundaries_moved_over_what_was_read,
          test_boundaries_moved_in_a_complete_chunk_that_was_read,
          test_chunks_against_the_rules_are_contained,
          test_writer_that_counts_backwards_is_stopped)
