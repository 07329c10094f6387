/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "buffer-script.h"
#include "buffer/trace-buffer-private.h"

SCRIPT_CASE(test_clone_has_the_chunks_of_all_writers,
            .steps = { PUT(1, 0, 0, "a15"),
                       PUT(2, 0, 0, "b15"),
                       PUT(3, 0, 0, "c15"),
                       CLONE(),
                       HELD("1:a15 2:b15 3:c15"),
                       HELD("") })

SCRIPT_CASE(test_clones_before_and_after_the_missing_piece,
            .steps = { PART(1, 0, 0, "a9", 10),
                       PUT(1, 2, 0, "d29"),
                       CLONE(),
                       HELD("1:a9 1:d29/3"),
                       PUT(1, 1, 0, "c19"),
                       PUT(1, 0, 0, "a9|b9"),
                       CLONE(),
                       HELD("1:a9 1:b9 1:c19 1:d29"),
                       PASS("1:a9 1:b9 1:c19 1:d29") })

SCRIPT_CASE(test_clone_has_the_patches,
            .steps = { PUT(1, 0, 0, "a99"),
                       PUT(2, 0, 0, "b8"),
                       PUT(3, 0, 0, "c99"),
                       PATCH(2, 0, 5, "YMCA", false),
                       CLONE(),
                       HELD("1:a99 2:b4Y1M1C1A1 3:c99") })

SCRIPT_CASE(test_clone_of_a_ring_that_has_turned,
            .segment_bytes = 504,
            .steps = { PUT(1, 0, 0, "a446"),
                       PUT(2, 0, 0, "b446"),
                       PUT(3, 0, 0, "c446"),
                       PUT(4, 0, 0, "d446"),
                       PUT(5, 0, 0, "e446"),
                       PUT(6, 0, 0, "f446"),
                       CLONE(),
                       HELD("3:c446 4:d446 5:e446 6:f446") })

SCRIPT_CASE(test_clone_of_a_ring_that_has_turned_with_padding,
            .n_segments = 2,
            .segment_bytes = 512,
            .steps = { PUT(1, 0, 0, "a200"),
                       PUT(2, 0, 0, "b350"),
                       PUT(3, 0, 0, "c400"),
                       CLONE(),
                       HELD("2:b350 3:c400") })

static const Script undisturbed[] = {
        { "both read what was there, and only the original what comes",
          .steps = { PUT(1, 0, 0, "a5"),
                     PUT(2, 0, 0, "b5"),
                     CLONE(),
                     PUT(1, 1, 0, "c5"),
                     HELD("1:a5 2:b5"),
                     HELD(""),
                     PASS("1:a5 2:b5 1:c5"),
                     CLONE(),
                     HELD("") } },
        { "from where the original has read to",
          .steps = { PUT(1, 0, T, "a5|b5"),
                     PUT(2, 0, 0, "c5"),
                     PASS("1:a5 2:c5"),
                     PUT(1, 1, C, "d5"),
                     CLONE(),
                     PASS("1:b5d5"),
                     HELD("1:b5d5") } },
        { "a patch comes too late for the clone",
          .steps = { PUT(1, 0, 0, "a9"),
                     CLONE(),
                     PATCH(1, 0, 1, "XXXX", false),
                     HELD("1:a9"),
                     PASS("1:X4a5") } },
        { "a patch of a segment that is not the newest",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     CLONE(),
                     PATCH(1, 0, 2, "XXXX", false),
                     HELD("1:a400 1:b400"),
                     PASS("1:X4a396 1:b400") } },
        { "so does the rest of an incomplete chunk, which is stored again",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(2, 0, 0, "x5"),
                     CLONE(),
                     PUT(1, 0, 0, "a5|b5"),
                     STAT(chunks_relocated, 1),
                     STAT(chunks_rewritten, 0),
                     HELD("1:a5 2:x5"),
                     PASS("2:x5 1:a5 1:b5") } },
        { "a discard buffer keeps it where it is",
          .policy = TRACE_BUFFER_DISCARD,
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(2, 0, 0, "x5"),
                     CLONE(),
                     PUT(1, 0, 0, "a5|b5"),
                     STAT(chunks_relocated, 0),
                     STAT(chunks_rewritten, 1),
                     HELD("1:a5 2:x5"),
                     PASS("1:a5 1:b5 2:x5") } },
        { "all is overwritten meanwhile",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     CLONE(),
                     PUT(1, 2, 0, "c400"),
                     PUT(1, 3, 0, "d400"),
                     PUT(1, 4, 0, "e400"),
                     HELD("1:a400 1:b400"),
                     PASS("1:d400/65 1:e400") } },
        { "a newest segment that has been read is not begun again under a clone",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a100"),
                     CLONE(),
                     PASS("1:a100"),
                     PUT(1, 1, 0, "b100"),
                     HELD("1:a100"),
                     PASS("1:b100") } },
        { "what is lost is said in both",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     PUT(1, 2, 0, "c400"),
                     CLONE(),
                     HELD("1:b400/65 1:c400"),
                     PASS("1:b400/65 1:c400") } },
};
SCRIPT_TEST(test_clone_and_original_do_not_disturb_each_other, undisturbed)

static const Script finals[] = {
        { "the rest of an incomplete chunk",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(1, 2, 0, "c5"),
                     CLONE(),
                     HELD("1:a5 1:c5/3"),
                     PASS("1:a5"),
                     PUT(1, 1, 0, "b5"),
                     PUT(1, 0, 0, "a5|x5"),
                     PASS("1:x5 1:b5 1:c5") } },
        { "a patch",
          .steps = { PUT(1, 0, T | P, "a5|b5"),
                     PUT(1, 1, C, "c5|d5"),
                     CLONE(),
                     HELD("1:a5 1:d5/25"),
                     PATCH(1, 0, 7, "XXXX", false),
                     PASS("1:a5 1:X4b1c5 1:d5") } },
        { "the end of a packet",
          .steps = { PUT(1, 0, T, "a5|b5"),
                     CLONE(),
                     HELD("1:a5"),
                     PUT(1, 1, C, "c5"),
                     PASS("1:a5 1:b5c5") } },
        { "frozen, a buffer takes nothing more",
          .steps = { PART(1, 0, 0, "a9", 50),
                     PUT(1, 1, 0, "b9"),
                     FREEZE(),
                     REFUSED(1, 0, 0, "a9|c9"),
                     REFUSED(2, 0, 0, "d9"),
                     PATCH_FAILS(1, 0, 1),
                     PASS("1:a9 1:b9/3"),
                     STAT(chunks_discarded, 2),
                     STAT(patches_failed, 1) } },
};
SCRIPT_TEST(test_clone_waits_for_nothing, finals)

static const Script kept[] = {
        { "whole segments are left out, and nothing is said",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, T, "b400"),
                     PUT(1, 2, C, "c200|d200"),
                     STAT(bytes_written, 3 * 488),
                     CLONE_FROM(488),
                     HELD("1:b400c200 1:d200"),
                     CLONE_FROM(487),
                     HELD("1:a400 1:b400c200 1:d200"),
                     CLONE_FROM(3 * 488 - 1),
                     HELD("1:d200"),
                     CLONE_FROM(3 * 488),
                     HELD(""),
                     PASS("1:a400 1:b400c200 1:d200"),
                     STAT(chunks_overwritten, 0) } },
        { "the middle of a packet too",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, T, "a400"),
                     PUT(1, 1, C | T, "b400"),
                     PUT(1, 2, C, "c400"),
                     PUT(1, 3, 0, "d400"),
                     CLONE_FROM(488),
                     HELD("1:d400"),
                     PASS("1:a400b400c400 1:d400") } },
        { "what is really lost is said",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 2, 0, "b400"),
                     PUT(1, 3, 0, "c400"),
                     CLONE_FROM(488),
                     HELD("1:b400/3 1:c400"),
                     CLONE_FROM(2 * 488),
                     HELD("1:c400") } },
        { "the rest of an incomplete chunk is as new as it came",
          .segment_bytes = 512,
          .steps = { PART(1, 0, 0, "a200", 200),
                     PUT(2, 0, 0, "x400"),
                     STAT(bytes_written, 2 * 488),
                     PUT(1, 0, 0, "a200|b100"),
                     CLONE_FROM(2 * 488),
                     HELD("1:a200 1:b100"),
                     CLONE_FROM(2 * 488 + 1),
                     HELD("") } },
        { "of a segment only the newer chunks stay",
          .steps = { PUT(1, 0, 0, "a100"),
                     PUT(2, 0, 0, "x100"),
                     PUT(1, 1, 0, "b100"),
                     STAT(bytes_written, 3 * 168),
                     CLONE_FROM(168 - 1),
                     HELD("1:a100 2:x100 1:b100"),
                     CLONE_FROM(168),
                     HELD("2:x100 1:b100"),
                     CLONE_FROM(2 * 168),
                     HELD("1:b100"),
                     CLONE_FROM(3 * 168),
                     HELD(""),
                     PASS("1:a100 2:x100 1:b100") } },
        { "and those that have grown since, or still do",
          .steps = { PART(1, 0, 0, "a50", 200),
                     PART(2, 0, 0, "x50", 200),
                     PUT(3, 0, 0, "p50"),
                     PUT(1, 0, 0, "a50|b50"),
                     PUT(3, 1, 0, "q50"),
                     CLONE_FROM(2 * 296 + 104),
                     HELD("1:a50 1:b50 2:x50 3:q50"),
                     PUT(1, 1, 0, "c50"),
                     PUT(3, 2, 0, "r50"),
                     CLONE_FROM(2 * 296 + 3 * 104),
                     HELD("2:x50 3:r50") } },
        { "others' chunks in the same segment stay",
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a100"),
                     PUT(2, 0, 0, "x100"),
                     PUT(1, 1, 0, "b300"),
                     CLONE_FROM(1),
                     HELD("1:a100 2:x100 1:b300"),
                     CLONE_FROM(2 * 168),
                     HELD("1:b300") } },
};
SCRIPT_TEST(test_clone_leaves_out_what_was_written_before, kept)

static const Script cleared[] = {
        { "all is gone and nothing is said",
          .steps = { PUT(1, 0, 0, "a5"),
                     PUT(2, 0, T, "b5"),
                     CLEAR(),
                     PASS(""),
                     PUT(1, 1, 0, "c5"),
                     PUT(2, 1, C, "d5|e5"),
                     PASS("1:c5 2:e5"),
                     STAT(chunks_overwritten, 0) } },
        { "losses from before are not said",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     PUT(1, 2, 0, "c400"),
                     CLEAR(),
                     PUT(1, 3, 0, "d400"),
                     PASS("1:d400"),
                     STAT(chunks_overwritten, 1) } },
        { "losses from then on are",
          .steps = { PUT(1, 0, 0, "a5"), CLEAR(), PUT(1, 2, 0, "b5"), PASS("1:b5/3") } },
        { "a continuation behind a gap is one",
          .steps = { PUT(1, 0, T, "a5"), CLEAR(), PUT(1, 2, C, "b5|c5"), PASS("1:c5/11") } },
        { "only the new part of an incomplete chunk comes",
          .steps = { PART(1, 0, 0, "a5", 50), CLEAR(), PUT(1, 0, 0, "a5|b5"), PASS("1:b5") } },
        { "a full buffer takes chunks again",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     REFUSED(1, 2, 0, "c400"),
                     CLEAR(),
                     PUT(1, 3, 0, "d400"),
                     PUT(1, 4, 0, "e400"),
                     REFUSED(1, 5, 0, "f400"),
                     PASS("1:d400/3 1:e400") } },
        { "a clone from before stays",
          .steps = { PUT(1, 0, 0, "a5"),
                     CLONE(),
                     CLEAR(),
                     PUT(1, 1, 0, "b5"),
                     HELD("1:a5"),
                     PASS("1:b5") } },
};
SCRIPT_TEST(test_cleared_buffer_is_as_if_read, cleared)

static void put(TraceBuffer *buffer, uint16_t writer, uint32_t id, const char *text) {
        Step step = PUT(writer, id, 0, text);

        ck_assert_int_eq(script_put(buffer, &step), 0);
}

START_TEST(test_clone_counts_reads_from_zero) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        const TraceBufferStats *stats;

        ck_assert_int_eq(trace_buffer_new(&buffer, 128 << 10, 0, TRACE_BUFFER_RING), 0);
        put(buffer, 1, 0, "a5");
        ck_assert_str_eq(script_read(buffer), "1:a5");
        put(buffer, 1, 1, "b5");
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        stats = trace_buffer_stats(clone);
        ck_assert_uint_eq(stats->chunks_written, 2);
        ck_assert_uint_eq(stats->chunks_read, 0);
        ck_assert_uint_eq(stats->bytes_read, 0);
        ck_assert_uint_eq(stats->buffer_bytes, 128 << 10);
        ck_assert_uint_eq(trace_buffer_unread_bytes(clone), 6);
        ck_assert_str_eq(script_read(clone), "1:b5");
        ck_assert_uint_eq(stats->chunks_read, 1);
        ck_assert_uint_eq(trace_buffer_unread_bytes(clone), 0);
        ck_assert_uint_eq(trace_buffer_unread_bytes(buffer), 6);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_read, 1);
}
END_TEST

static size_t buffer_n_segments(const TraceBuffer *buffer) {
        size_t n = 0;

        for (size_t i = 0; i < buffer->n_slots; i++)
                n += buffer->slots[i].segment != NULL;
        return n;
}

START_TEST(test_reading_a_clone_gives_memory_back) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        TracePacket packet;
        size_t n_left = 8;

        ck_assert_int_eq(trace_buffer_new(&buffer, 8 * 1024, 1024, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 8; id++)
                put(buffer, 1, id, "a900");
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        buffer = trace_buffer_free(buffer);
        ck_assert_uint_eq(buffer_n_segments(clone), 8);
        while (trace_buffer_read(clone, &packet) == 0) {
                ck_assert_uint_eq(buffer_n_segments(clone), n_left);
                /* What was returned is still there. */
                ck_assert_int_eq(((const char *)packet.slices[0].iov_base)[899], 'a');
                n_left--;
        }
        ck_assert_uint_eq(n_left, 0);
        ck_assert_uint_eq(buffer_n_segments(clone), 0);
}
END_TEST

START_TEST(test_cleared_original_leaves_its_memory_to_the_clone) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 8 * 1024, 1024, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 8; id++)
                put(buffer, 1, id, "a900");
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        trace_buffer_clear(buffer);
        ck_assert_uint_eq(buffer_n_segments(buffer), 1);
        for (uint32_t id = 8; id < 20; id++)
                put(buffer, 1, id, "b900");
        ck_assert_uint_eq(buffer_n_segments(buffer), 8);
        for (size_t i = 0; i < 8; i++)
                ck_assert_ptr_ne(buffer->slots[i].segment, clone->slots[i].segment);
        ck_assert_uint_eq(script_discard(buffer), 8);
        ck_assert_str_eq(script_read(clone),
                         "1:a900 1:a900 1:a900 1:a900 1:a900 1:a900 1:a900 1:a900");
}
END_TEST

START_TEST(test_clone_holds_no_more_than_it_can_read) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 8 * 1024, 1024, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 4; id++)
                put(buffer, 1, id, "a900");
        script_read(buffer);
        put(buffer, 1, 4, "b400");
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        ck_assert_uint_eq(buffer_n_segments(clone), 1);
        ck_assert_str_eq(script_read(clone), "1:b400");
}
END_TEST

START_TEST(test_what_a_clone_has_is_never_written_to) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        _cleanup_(segment_unrefp) Segment *held = NULL;
        uint8_t before[512];
        Step part = PART(2, 0, 0, "b5", 50), whole = PUT(2, 0, 0, "b5|c5");

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put(buffer, 1, 0, "a50");
        ck_assert_int_eq(script_put(buffer, &part), 0);
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        held = segment_ref(trace_buffer_newest(clone)->segment);
        ck_assert_uint_eq(trace_buffer_newest(buffer)->n_used, 144);
        memcpy(before, held->memory, 144);

        ck_assert_int_eq(trace_buffer_patch(
                                 buffer, SCRIPT_PRODUCER, 1, 0, 1, (const uint8_t *)"XXXX", false),
                         0);
        ck_assert_int_eq(script_put(buffer, &whole), 0);
        ck_assert_mem_eq(before, held->memory, 144);
        ck_assert_str_eq(script_read(buffer), "1:X4a46 2:b5 2:c5");
        for (uint32_t id = 1; id < 5; id++)
                put(buffer, 1, id, "d400");
        ck_assert_mem_eq(before, held->memory, 144);
        ck_assert_str_eq(script_read(buffer), "1:d400/65 1:d400");
}
END_TEST

START_TEST(test_what_came_after_the_clone_is_changed_in_place) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        Step part = PART(2, 0, 0, "b5", 50), whole = PUT(2, 0, 0, "b5|c5");
        const Segment *segment;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put(buffer, 1, 0, "a50");
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        segment = trace_buffer_newest(buffer)->segment;
        put(buffer, 3, 0, "x9");
        ck_assert_int_eq(script_put(buffer, &part), 0);
        ck_assert_int_eq(script_put(buffer, &whole), 0);
        ck_assert_int_eq(trace_buffer_patch(
                                 buffer, SCRIPT_PRODUCER, 3, 0, 1, (const uint8_t *)"XXXX", false),
                         0);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_rewritten, 1);
        ck_assert_ptr_eq(trace_buffer_newest(buffer)->segment, segment);
        ck_assert_ptr_eq(trace_buffer_newest(clone)->segment, segment);
        ck_assert_str_eq(script_read(clone), "1:a50");
        ck_assert_str_eq(script_read(buffer), "1:a50 3:X4x5 2:b5 2:c5");
}
END_TEST

START_TEST(test_shared_segment_is_replaced_when_its_turn_comes) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        _cleanup_(segment_unrefp) Segment *held = NULL;
        uint8_t before[400];

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put(buffer, 1, 0, "a400");
        held = segment_ref(trace_buffer_newest(buffer)->segment);
        memcpy(before, held->memory, sizeof(before));
        for (uint32_t id = 1; id < 5; id++)
                put(buffer, 1, id, "d400");
        ck_assert_mem_eq(before, held->memory, sizeof(before));

        /* Also when all of it has been read, which otherwise starts the segment again. */
        script_read(buffer);
        segment_unref(held);
        held = segment_ref(trace_buffer_newest(buffer)->segment);
        memcpy(before, held->memory, sizeof(before));
        put(buffer, 1, 5, "e400");
        ck_assert_mem_eq(before, held->memory, sizeof(before));
        ck_assert_str_eq(script_read(buffer), "1:e400");
}
END_TEST

START_TEST(test_clone_copies_no_payload) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        const size_t n_pages = (32 << 20) / 4096;
        size_t n_before, n_segments = 0;

        ck_assert_int_eq(trace_buffer_new(&buffer, 64 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < n_pages; id++)
                put(buffer, 1, id, "a4000");
        n_before = resident_pages();
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);
        /* The sanitizers have memory of their own. */
#ifndef __SANITIZE_ADDRESS__
        ck_assert_uint_lt(resident_pages() - n_before, n_pages * 3 / 100);
#endif
        for (size_t i = 0; i < clone->n_slots; i++) {
                ck_assert(!clone->slots[i].segment ||
                          clone->slots[i].segment == buffer->slots[i].segment);
                n_segments += clone->slots[i].segment != NULL;
        }
        ck_assert_uint_eq(n_segments, 8);
        ck_assert_uint_eq(script_discard(clone), n_pages);
        ck_assert_uint_eq(script_discard(buffer), n_pages);
}
END_TEST

START_TEST(test_writers_are_counted_by_chunk_size) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *clone = NULL;
        static const char *const texts[] = { "",         "a7",          "b8",
                                             "c30|d200", "e16000|f383", "g16000|h384" };
        static const uint64_t counts[] = { 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 2 };
        static const uint64_t sums[] = { 8, 9, 0, 233, 0, 0, 0, 0, 0, 0, 16387 + 16388 };
        Step part = PART(1, 90, 0, "p5", 50);
        WriterCursor cursor = {};
        WriterStats stats;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        ck_assert(!trace_buffer_next_writer(buffer, &cursor, &stats));
        for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++)
                put(buffer, 1, i, texts[i]);
        ck_assert_int_eq(script_put(buffer, &part), 0);
        script_read(buffer);
        ck_assert_int_eq(trace_buffer_clone(&clone, buffer, 0), 0);

        for (unsigned turn = 0; turn < 2; turn++) {
                cursor = (WriterCursor){};
                ck_assert(trace_buffer_next_writer(turn ? clone : buffer, &cursor, &stats));
                ck_assert_uint_eq(stats.origin.producer_id, SCRIPT_PRODUCER);
                ck_assert_uint_eq(stats.origin.writer_id, 1);
                ck_assert_uint_eq(stats.origin.identity.uid, 1001);
                ck_assert_mem_eq(stats.n_chunks, counts, sizeof(counts));
                ck_assert_mem_eq(stats.n_bytes, sums, sizeof(sums));
                ck_assert(!trace_buffer_next_writer(buffer, &cursor, &stats));
        }
}
END_TEST

START_TEST(test_each_writer_is_counted_once) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        bool seen[301] = {};
        WriterCursor cursor = {};
        WriterStats stats;
        size_t n = 0;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 2; id++)
                for (uint16_t writer = 1; writer <= 300; writer++)
                        put(buffer, writer, id, "a20");
        for (; trace_buffer_next_writer(buffer, &cursor, &stats); n++) {
                ck_assert(!seen[stats.origin.writer_id]);
                seen[stats.origin.writer_id] = true;
                ck_assert_uint_eq(stats.n_chunks[1], 2);
                ck_assert_uint_eq(stats.n_bytes[1], 42);
        }
        ck_assert_uint_eq(n, 300);
}
END_TEST

TEST_MAIN("buffer-clone",
          test_clone_has_the_chunks_of_all_writers,
          test_clones_before_and_after_the_missing_piece,
          test_clone_has_the_patches,
          test_clone_of_a_ring_that_has_turned,
          test_clone_of_a_ring_that_has_turned_with_padding,
          test_clone_copies_no_payload,
          test_what_a_clone_has_is_never_written_to,
          test_what_came_after_the_clone_is_changed_in_place,
          test_shared_segment_is_replaced_when_its_turn_comes,
          test_clone_and_original_do_not_disturb_each_other,
          test_clone_waits_for_nothing,
          test_clone_leaves_out_what_was_written_before,
          test_cleared_buffer_is_as_if_read,
          test_clone_counts_reads_from_zero,
          test_reading_a_clone_gives_memory_back,
          test_cleared_original_leaves_its_memory_to_the_clone,
          test_clone_holds_no_more_than_it_can_read,
          test_writers_are_counted_by_chunk_size,
          test_each_writer_is_counted_once)
