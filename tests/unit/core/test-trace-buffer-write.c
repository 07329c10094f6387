/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "core/trace-buffer-private.h"
#include "trace-buffer-script.h"

static const Script incomplete[] = {
        { "completed before it is read",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     PUT(1, 0, 0, "a5|b5|c5|d5"),
                     PASS("1:a5 1:b5 1:c5 1:d5"),
                     STAT(chunks_rewritten, 1),
                     STAT(chunks_written, 1) } },
        { "completed after it was read: only what is new",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     PASS("1:a5 1:b5"),
                     PUT(1, 0, 0, "a5|b5|c5|d5"),
                     PASS("1:c5 1:d5"),
                     PUT(1, 1, 0, "e5"),
                     PASS("1:e5") } },
        { "grows three times",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PART(1, 0, 0, "a5|b5", 50),
                     PASS("1:b5"),
                     PART(1, 0, 0, "a5|b5|c5", 50),
                     PUT(1, 0, 0, "a5|b5|c5|d5"),
                     PASS("1:c5 1:d5") } },
        { "stored anew when no room was left",
          .steps = { PART(1, 0, 0, "a5|b5", 0),
                     PUT(2, 0, 0, "x5"),
                     PUT(1, 0, 0, "a5|b5|c5"),
                     PASS("2:x5 1:a5 1:b5 1:c5"),
                     STAT(chunks_relocated, 1),
                     STAT(chunks_rewritten, 0) } },
        { "half read, then stored anew",
          .steps = { PART(1, 0, T | P, "a5|b5", 0),
                     PASS("1:a5"),
                     PUT(1, 0, T, "a5|b5|c5"),
                     PUT(1, 1, C, "d5"),
                     PASS("1:b5 1:c5d5"),
                     STAT(chunks_relocated, 1) } },
        { "the sequence does not go past it",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(1, 1, 0, "c5"),
                     PUT(2, 0, 0, "x5"),
                     PASS("1:a5 2:x5"),
                     PASS(""),
                     PUT(1, 0, 0, "a5|b5"),
                     PASS("1:b5 1:c5") } },
        { "nor when it was empty",
          .steps = { PART(1, 0, 0, "", 50),
                     PUT(1, 1, 0, "c5"),
                     PASS(""),
                     PUT(1, 0, 0, "a5"),
                     PASS("1:a5 1:c5") } },
        { "nor when it was in the middle of a packet",
          .steps = { PUT(1, 0, T, "a5"),
                     PART(1, 1, C | T, "", 50),
                     PUT(1, 2, C, "c5"),
                     PASS(""),
                     PUT(1, 1, C | T, "b5"),
                     PASS("1:a5b5c5") } },
        { "its end of a packet is good already",
          .steps = { PUT(1, 0, T, "a5"),
                     PART(1, 1, C, "b5", 50),
                     PASS("1:a5b5"),
                     PUT(1, 1, C, "b5|c5"),
                     PASS("1:c5") } },
        { "its beginning of a packet too",
          .steps = { PART(1, 0, T, "a5|b5", 50),
                     PUT(1, 1, C, "c5|d5"),
                     PASS("1:a5 1:b5c5"),
                     PUT(1, 0, T, "a5|b5"),
                     PASS("1:d5") } },
        { "completed without anything new",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 1, 0, "b5"),
                     PASS(""),
                     PUT(1, 0, 0, "a5"),
                     PASS("1:b5") } },
        { "completed without anything new before it is read",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(1, 0, 0, "a5"),
                     PUT(1, 1, 0, "b5"),
                     PASS("1:a5 1:b5"),
                     STAT(chunks_rewritten, 0) } },
        { "the same twice does not complete it",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PART(1, 0, 0, "a5", 50),
                     PUT(1, 1, 0, "c5"),
                     PASS("1:a5"),
                     PART(1, 0, 0, "a5", 50),
                     PASS(""),
                     PUT(1, 0, 0, "a5|b5"),
                     PASS("1:b5 1:c5") } },
        { "a packet goes on behind what was read",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 0, T, "a5|b5"),
                     PASS(""),
                     PUT(1, 1, C, "c5"),
                     PASS("1:b5c5") } },
        { "waits for a patch behind what was read",
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 0, T | P, "a5|b5"),
                     PUT(1, 1, C, "c5"),
                     PASS(""),
                     PATCH(1, 0, 8, "XXXX", false),
                     PASS("1:b1X4c5") } },
        { "out of order",
          .steps = { PART(1, 1, 0, "c5", 50),
                     PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 0, 0, "a5|b5"),
                     PASS("1:b5 1:c5"),
                     PUT(1, 1, 0, "c5|d5"),
                     PASS("1:d5") } },
        { "over the end of the numbers",
          .steps = { PART(1, UINT32_MAX, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 0, 0, "c5"),
                     PASS(""),
                     PUT(1, UINT32_MAX, 0, "a5|b5"),
                     PASS("1:b5 1:c5") } },
        { "evicted after it was read: the rest is new, and nothing is lost",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(2, 0, 0, "x400"),
                     PUT(2, 1, 0, "y400"),
                     PUT(2, 2, 0, "z400"),
                     PUT(1, 0, 0, "a5|b5"),
                     PASS("2:z400/65 1:b5") } },
        { "evicted before it was read: the rest is new",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PART(1, 0, 0, "a5", 50),
                     PUT(2, 0, 0, "x400"),
                     PUT(2, 1, 0, "y300"),
                     PUT(1, 0, 0, "a5|b5"),
                     PASS("2:x400 2:y300 1:b5/65") } },
        { "evicted by its own completion",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PART(1, 0, 0, "a5", 0),
                     PUT(2, 0, 0, "x318"),
                     PUT(2, 1, 0, "y440"),
                     PUT(1, 0, 0, "a5|b100"),
                     PASS("2:y440/65 1:b100/65") } },
        { "a sequence whose rest was evicted goes on",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PART(1, 0, 0, "a5", 50),
                     PASS("1:a5"),
                     PUT(1, 1, 0, "x400"),
                     PUT(1, 2, 0, "y400"),
                     PASS(""),
                     PUT(1, 3, 0, "z400"),
                     PASS("1:y400/65 1:z400") } },
};
SCRIPT_TEST(test_incomplete_chunk_is_continued_without_repeating, incomplete)

static const Script violations[] = {
        { "shorter than before, before it was read",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     REFUSED(1, 0, 0, "a5"),
                     PASS("1:a5 1:b5"),
                     STAT(abi_violations, 1) } },
        { "shorter than before, after it was read",
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
        { "a complete chunk again is nothing",
          .steps = { PUT(1, 0, 0, "a5"),
                     PUT(1, 0, 0, "a5"),
                     PASS("1:a5"),
                     STAT(chunks_written, 1) } },
        { "a complete chunk that goes on",
          .steps = { PUT(1, 0, 0, "a5"),
                     REFUSED(1, 0, 0, "a5|b5"),
                     PASS("1:a5"),
                     STAT(abi_violations, 1),
                     STAT(chunks_discarded, 0) } },
        { "a chunk that has been read, as it was",
          .steps = { PUT(1, 0, 0, "a5"),
                     PASS("1:a5"),
                     PUT(1, 0, 0, "a5"),
                     PART(1, 0, 0, "a5", 50),
                     PUT(1, 1, 0, "b5"),
                     PASS("1:b5"),
                     STAT(chunks_discarded, 0) } },
        { "a chunk that has been read",
          .steps = { PUT(1, 0, 0, "a5"),
                     PASS("1:a5"),
                     REFUSED(1, 0, 0, "a5|b5"),
                     PASS(""),
                     STAT(chunks_discarded, 1) } },
        { "a chunk before one that has been read",
          .steps = { PUT(1, 1, 0, "b5"),
                     PASS("1:b5"),
                     REFUSED(1, 0, 0, "a5"),
                     PART_REFUSED(1, 0, 0, "a5"),
                     PASS(""),
                     STAT(chunks_discarded, 2) } },
        { "a chunk that has been counted as missing",
          .steps = { PUT(1, 0, 0, "a5"),
                     PUT(1, 2, T, "c5|d5"),
                     PASS("1:a5 1:c5/3"),
                     REFUSED(1, 1, 0, "b5"),
                     PUT(1, 3, C, "e5"),
                     PASS("1:d5e5") } },
        { "boundaries moved over what was read",
          .steps = { PART(1, 0, 0, "a5|b5", 50),
                     PASS("1:a5 1:b5"),
                     PUT(1, 0, 0, "x30"),
                     PUT(1, 1, 0, "y5"),
                     PASS("1:y5/5") } },
        { "no room at all",
          .steps = { PUT(1, 0, 0, ""),
                     PUT(2, 0, 0, "a5"),
                     PASS("2:a5"),
                     STAT(abi_violations, 0) } },
        { "bigger than a segment",
          .segment_bytes = 512,
          .steps = { REFUSED(1, 0, 0, "a600"),
                     PUT(1, 1, 0, "b5"),
                     PASS("1:b5"),
                     STAT(abi_violations, 1) } },
        { "bigger than any chunk",
          .segment_bytes = 1 << 17,
          .steps = { PART(1, 0, 0, "a5", 32762),
                     PART_REFUSED(1, 1, 0, "b16000|c16000|d16000"),
                     PASS("1:a5"),
                     STAT(abi_violations, 1) } },
        { "more fragments than there are bytes",
          .steps = { PUT(1, 0, MISCOUNT, "a5|b5"),
                     PUT(1, 1, 0, "c5"),
                     PASS("1:a5 1:b5 1:c5/5"),
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

static const Script discards[] = {
        { "seals when a chunk finds no room, for good",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     REFUSED(1, 2, 0, "c400"),
                     REFUSED(1, 3, 0, "d5"),
                     PASS("1:a400 1:b400"),
                     REFUSED(1, 4, 0, "e5"),
                     PASS(""),
                     STAT(chunks_discarded, 3),
                     STAT(chunks_overwritten, 0) } },
        { "an exact fill does not seal",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 504,
          .steps = { PUT(1, 0, 0, "a446"),
                     PUT(1, 1, 0, "b446"),
                     STAT(chunks_discarded, 0),
                     PASS("1:a446 1:b446") } },
        { "what was read makes room",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     PASS("1:a400 1:b400"),
                     PUT(1, 2, 0, "c400"),
                     PUT(1, 3, 0, "d400"),
                     PASS("1:c400 1:d400"),
                     STAT(chunks_discarded, 0) } },
        { "half a packet at the end stays half",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, T, "b200|c200"),
                     REFUSED(1, 2, C, "d200"),
                     PASS("1:a400 1:b200"),
                     PASS("") } },
        { "the rest of an incomplete chunk still fits where room was kept",
          .policy = TRACE_BUFFER_DISCARD,
          .n_segments = 2,
          .segment_bytes = 640,
          .steps = { PART(1, 0, 0, "a300", 150),
                     PUT(2, 0, 0, "b400"),
                     REFUSED(2, 1, 0, "c400"),
                     PUT(1, 0, 0, "a300|d100"),
                     PASS("1:a300 1:d100 2:b400") } },
};
SCRIPT_TEST(test_discard_keeps_the_oldest, discards)

static const Script stats[] = {
        { "bytes are those of payload and record",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { STAT(buffer_bytes, 1024),
                     PUT(1, 0, 0, "a7"),
                     STAT(bytes_written, 104),
                     PUT(1, 1, 0, "b8"),
                     STAT(bytes_written, 208),
                     STAT(chunks_written, 2),
                     PASS("1:a7 1:b8"),
                     STAT(bytes_read, 208),
                     STAT(chunks_read, 2) } },
        { "wraps and padding",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, "a400"),
                     PUT(1, 1, 0, "b400"),
                     STAT(write_wrap_count, 0),
                     STAT(padding_bytes_written, 8),
                     PUT(1, 2, 0, "c400"),
                     STAT(write_wrap_count, 1),
                     STAT(chunks_overwritten, 1),
                     STAT(bytes_overwritten, 488),
                     PUT(1, 3, 0, "d400"),
                     PUT(1, 4, 0, "e400"),
                     STAT(write_wrap_count, 2) } },
        { "a chunk that was half read counts as overwritten",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, T, "a200|b200"),
                     PASS("1:a200"),
                     PUT(1, 1, C | T, "c400"),
                     PUT(1, 2, C, "d400"),
                     STAT(chunks_overwritten, 1) } },
        { "a chunk that was read in pieces does not",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, T, "a200|b200"),
                     PASS("1:a200"),
                     PUT(1, 1, C, "c400"),
                     PASS("1:b200c400"),
                     PUT(1, 2, 0, "d400"),
                     PUT(1, 3, 0, "e400"),
                     STAT(chunks_overwritten, 0),
                     STAT(bytes_overwritten, 0) } },
        { "an empty chunk is not overwritten data",
          .n_segments = 2,
          .segment_bytes = 512,
          .steps = { PUT(1, 0, 0, ""),
                     PUT(2, 0, 0, "a400"),
                     PUT(2, 1, 0, "b400"),
                     PUT(2, 2, 0, "c400"),
                     STAT(chunks_overwritten, 1) } },
};
SCRIPT_TEST(test_stats_count_what_happened, stats)

static void put_simple(TraceBuffer *buffer, uint16_t writer, uint32_t id, const char *text) {
        Step step = PUT(writer, id, 0, text);

        ck_assert_int_eq(script_put(buffer, &step), 0);
}

START_TEST(test_sizes_are_checked) {
        static const struct {
                uint64_t n_bytes;
                size_t segment_bytes;
                int r;
        } cases[] = {
                { TRACE_BUFFER_BYTES_MIN, 0, 0 },
                { TRACE_BUFFER_BYTES_MIN - 1, 0, -EINVAL },
                { TRACE_BUFFER_BYTES_MAX, 0, 0 },
                { TRACE_BUFFER_BYTES_MAX + 1, 0, -EINVAL },
                { 0, 0, -EINVAL },
                { 1023, 512, -EINVAL },
                { 1024, 8, -EINVAL },
                { UINT64_MAX, 0, -EINVAL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
                int r;

                r = trace_buffer_new(
                        &buffer, cases[i].n_bytes, cases[i].segment_bytes, TRACE_BUFFER_RING);
                ck_assert_msg(r == cases[i].r, "case %zu: %d", i, r);
        }
}
END_TEST

static size_t resident_pages(void) {
        FILE *file = fopen("/proc/self/statm", "re");
        size_t n_pages = 0;

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%*u %zu", &n_pages), 1);
        fclose(file);
        return n_pages;
}

START_TEST(test_memory_is_used_when_it_is_written_to) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        size_t n_before = resident_pages();

        ck_assert_int_eq(trace_buffer_new(&buffer, UINT64_C(1) << 30, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 100; id++)
                put_simple(buffer, 1, id, "a500");
        ck_assert_uint_lt(resident_pages() - n_before, 512);
}
END_TEST

START_TEST(test_smallest_buffer_takes_the_largest_chunk) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, TRACE_BUFFER_BYTES_MIN, 0, TRACE_BUFFER_RING),
                         0);
        for (uint32_t id = 0; id < 10; id++)
                put_simple(buffer, 1, id, "a16000|b16000|c760");
        ck_assert_str_eq(
                script_read(buffer),
                "1:a16000/65 1:b16000 1:c760 1:a16000 1:b16000 1:c760 1:a16000 1:b16000 1:c760");
}
END_TEST

START_TEST(test_reader_that_keeps_up_needs_one_segment) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 64 << 10, 4096, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 1000; id += 2) {
                put_simple(buffer, 1, id, "a500");
                put_simple(buffer, 1, id + 1, "b500");
                ck_assert_uint_eq(trace_buffer_unread_bytes(buffer), 2 * 502);
                ck_assert_str_eq(script_read(buffer), "1:a500 1:b500");
                ck_assert_uint_eq(trace_buffer_unread_bytes(buffer), 0);
        }
        ck_assert_uint_eq(buffer->n_rotations, 0);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_read, 1000);
}
END_TEST

START_TEST(test_read_segments_are_recycled_before_new_ones_are_touched) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        size_t n_used = 0;
        Slot *slot;

        ck_assert_int_eq(trace_buffer_new(&buffer, 64 << 10, 4096, TRACE_BUFFER_DISCARD), 0);
        put_simple(buffer, 1, 0, "a5");
        for (uint32_t id = 0; id < 1000; id++) {
                Step waiting = PUT(2, id, T | P, "b500|c500");

                /* Never quite everything is read, so the newest segment is never empty. */
                ck_assert_int_eq(script_put(buffer, &waiting), 0);
                script_read(buffer);
                ck_assert_int_eq(trace_buffer_patch(buffer,
                                                    SCRIPT_PRODUCER,
                                                    2,
                                                    id,
                                                    600,
                                                    (const uint8_t *)"XXXX",
                                                    false),
                                 0);
        }
        list_for_each (slot, &buffer->used, link)
                n_used++;
        ck_assert_uint_le(n_used, 3);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_discarded, 0);
}
END_TEST

START_TEST(test_chunks_may_come_during_a_pass) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        TracePacket packet;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put_simple(buffer, 1, 0, "a200|b200");
        put_simple(buffer, 2, 0, "c400");
        trace_buffer_begin_read(buffer);
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_uint_eq(packet.n_bytes, 200);

        /* Evicts what the pass was reading: it goes on with what is left. */
        put_simple(buffer, 3, 0, "d400");
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_uint_eq(packet.origin->writer_id, 2);
        put_simple(buffer, 3, 1, "e20");
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_uint_eq(packet.n_bytes, 400);
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_uint_eq(packet.n_bytes, 20);
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), TRACE_BUFFER_E_END);
        put_simple(buffer, 3, 2, "f30");
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
        ck_assert_uint_eq(packet.n_bytes, 30);
        ck_assert_int_eq(trace_buffer_read(buffer, &packet), TRACE_BUFFER_E_END);
}
END_TEST

START_TEST(test_shared_segment_is_never_written_to) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        _cleanup_(segment_unrefp) Segment *held = NULL;
        uint8_t before[512];
        Step part = PART(2, 0, 0, "b5", 50), whole = PUT(2, 0, 0, "b5|c5");

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put_simple(buffer, 1, 0, "a50");
        ck_assert_int_eq(script_put(buffer, &part), 0);
        held = segment_ref(trace_buffer_newest(buffer)->segment);
        ck_assert_uint_eq(trace_buffer_newest(buffer)->n_used, 144);
        memcpy(before, held->memory, 144);

        ck_assert_int_eq(trace_buffer_patch(
                                 buffer, SCRIPT_PRODUCER, 1, 0, 1, (const uint8_t *)"XXXX", false),
                         0);
        ck_assert_int_eq(script_put(buffer, &whole), 0);
        ck_assert_mem_eq(before, held->memory, 144);
        ck_assert_str_eq(script_read(buffer), "1:X4a46 2:b5 2:c5");
        for (uint32_t id = 1; id < 5; id++)
                put_simple(buffer, 1, id, "d400");
        ck_assert_mem_eq(before, held->memory, 144);
        ck_assert_str_eq(script_read(buffer), "1:d400/65 1:d400");
}
END_TEST

START_TEST(test_shared_segment_is_replaced_when_its_turn_comes) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        _cleanup_(segment_unrefp) Segment *held = NULL;
        uint8_t before[400];

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put_simple(buffer, 1, 0, "a400");
        held = segment_ref(trace_buffer_newest(buffer)->segment);
        memcpy(before, held->memory, sizeof(before));
        for (uint32_t id = 1; id < 5; id++)
                put_simple(buffer, 1, id, "d400");
        ck_assert_mem_eq(before, held->memory, sizeof(before));

        /* Also when all of it has been read, which otherwise starts the segment again. */
        script_read(buffer);
        segment_unref(held);
        held = segment_ref(trace_buffer_newest(buffer)->segment);
        memcpy(before, held->memory, sizeof(before));
        put_simple(buffer, 1, 5, "e400");
        ck_assert_mem_eq(before, held->memory, sizeof(before));
        ck_assert_str_eq(script_read(buffer), "1:e400");
}
END_TEST

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

START_TEST(test_idle_sequences_are_few_and_the_recent_ones_are_known) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint16_t writer = 1; writer <= 3000; writer++) {
                put_simple(buffer, writer, 0, "a5");
                script_read(buffer);
        }
        ck_assert_uint_le(buffer->sequences.n_sequences, TRACE_BUFFER_IDLE_SEQUENCES_MAX + 2);
        /* A gap is known of those that are remembered, and all of them are found. */
        put_simple(buffer, 5, 2, "c5");
        ck_assert_str_eq(script_read(buffer), "5:c5");
        for (uint16_t writer = 2100; writer <= 3000; writer++) {
                char expected[16];

                snprintf(expected, sizeof(expected), "%u:b5/3", writer);
                put_simple(buffer, writer, 2, "b5");
                ck_assert_str_eq(script_read(buffer), expected);
        }
}
END_TEST

START_TEST(test_gone_producer_leaves_nothing_behind) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint16_t writer = 1; writer <= 500; writer++)
                put_simple(buffer, writer, 0, "a5");
        script_read(buffer);
        put_simple(buffer, 7, 1, "b5");
        trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER + 1);
        ck_assert_uint_eq(buffer->sequences.n_sequences, 500);
        trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER);
        ck_assert_uint_eq(buffer->sequences.n_sequences, 1);
        ck_assert_str_eq(script_read(buffer), "7:b5");
}
END_TEST

TEST_MAIN("trace-buffer-write",
          test_incomplete_chunk_is_continued_without_repeating,
          test_chunks_against_the_rules_are_contained,
          test_discard_keeps_the_oldest,
          test_stats_count_what_happened,
          test_sizes_are_checked,
          test_memory_is_used_when_it_is_written_to,
          test_smallest_buffer_takes_the_largest_chunk,
          test_reader_that_keeps_up_needs_one_segment,
          test_read_segments_are_recycled_before_new_ones_are_touched,
          test_chunks_may_come_during_a_pass,
          test_shared_segment_is_never_written_to,
          test_shared_segment_is_replaced_when_its_turn_comes,
          test_writer_that_counts_backwards_is_stopped,
          test_idle_sequences_are_few_and_the_recent_ones_are_known,
          test_gone_producer_leaves_nothing_behind)
