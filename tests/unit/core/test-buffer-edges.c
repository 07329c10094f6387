/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sizes and states at the edge of what is possible, which no script of the other tests happens to have.
 */

#include "buffer-script.h"

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

TEST_MAIN("buffer-edges",
          test_chunk_of_four_bytes_can_be_patched,
          test_size_may_take_more_bytes_than_it_needs,
          test_packet_waits_for_the_patch_of_a_piece_in_its_middle,
          test_packet_whose_patch_will_not_come_is_lost)
