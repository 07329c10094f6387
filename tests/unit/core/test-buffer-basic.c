/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "buffer-script.h"
#include "buffer/trace-buffer-private.h"

SCRIPT_CASE(test_empty_buffer_has_nothing_to_read, .steps = { PASS(""), PASS("") })

SCRIPT_CASE(test_segments_are_filled_to_the_last_byte,
            .n_segments = 2,
            .segment_bytes = 608,
            .steps = { PUT(1, 0, 0, "a62"),
                       PUT(1, 1, 0, "b446"),
                       PUT(1, 2, 0, "c254"),
                       PUT(1, 3, 0, "d254"),
                       PASS("1:a62 1:b446 1:c254 1:d254"),
                       PUT(1, 4, 0, "a62"),
                       PUT(1, 5, 0, "b446"),
                       PUT(1, 6, 0, "c254"),
                       PUT(1, 7, 0, "d254"),
                       PASS("1:a62 1:b446 1:c254 1:d254"),
                       PUT(1, 8, 0, "a62"),
                       PUT(1, 9, 0, "b446"),
                       PUT(1, 10, 0, "c254"),
                       PUT(1, 11, 0, "d254"),
                       PASS("1:a62 1:b446 1:c254 1:d254"),
                       STAT(padding_bytes_written, 0),
                       STAT(chunks_overwritten, 0) })

SCRIPT_CASE(test_oldest_segment_makes_room_and_padding_is_counted,
            .n_segments = 3,
            .segment_bytes = 608,
            .steps = { PUT(1, 0, 0, "a62"),
                       PUT(1, 1, 0, "b300"),
                       PUT(1, 2, 0, "c254"),
                       PUT(1, 3, 0, "d190"),
                       PUT(1, 4, 0, "e446"),
                       STAT(padding_bytes_written, 128 + 64),
                       STAT(padding_bytes_cleared, 0),
                       PUT(1, 5, 0, "f446"),
                       PASS("1:c254/65 1:d190 1:e446 1:f446"),
                       STAT(chunks_written, 6),
                       STAT(chunks_overwritten, 2),
                       STAT(chunks_read, 4),
                       STAT(bytes_written, 104 + 360 + 296 + 232 + 488 + 488),
                       STAT(bytes_overwritten, 104 + 360),
                       STAT(bytes_read, 296 + 232 + 488 + 488),
                       STAT(padding_bytes_written, 128 + 64 + 104),
                       STAT(padding_bytes_cleared, 128),
                       PUT(1, 6, 0, "g500"),
                       PUT(1, 7, 0, "h500"),
                       STAT(padding_bytes_cleared, 128 + 64) })

SCRIPT_CASE(test_empty_chunk_takes_no_more_than_its_record,
            .n_segments = 2,
            .segment_bytes = 544,
            .steps = { PUT(1, 0, 0, "a446"),
                       PUT(1, 1, 0, ""),
                       PUT(1, 2, 0, "b446"),
                       PUT(1, 3, 0, ""),
                       PUT(1, 4, 0, "c446"),
                       PUT(1, 5, 0, ""),
                       STAT(padding_bytes_written, 0),
                       STAT(bytes_written, 3 * (488 + 40)),
                       PASS("1:b446/65 1:c446") })

SCRIPT_CASE(test_full_segments_that_were_read_are_used_again,
            .n_segments = 2,
            .segment_bytes = 504,
            .steps = { PUT(1, 0, 0, "a446"),
                       PASS("1:a446"),
                       PUT(1, 1, 0, ""),
                       PUT(1, 2, 0, "b446"),
                       PUT(1, 3, 0, "c400"),
                       PASS("1:b446 1:c400"),
                       STAT(chunks_overwritten, 0) })

SCRIPT_CASE(test_empty_packets_are_skipped_and_are_no_violation,
            .steps = { PUT(1, 0, 0, "a41|x0|c41"),
                       PUT(1, 1, 0, "x0|d4|x0|x0|e5|x0"),
                       PASS("1:a41 1:c41 1:d4 1:e5"),
                       STAT(abi_violations, 0),
                       STAT(chunks_read, 2) })

SCRIPT_CASE(test_turn_of_the_ring_is_counted_with_the_next_write,
            .n_segments = 2,
            .segment_bytes = 504,
            .steps = { PUT(1, 0, 0, "a446"),
                       PUT(1, 1, 0, "b446"),
                       STAT(write_wrap_count, 0),
                       PUT(1, 2, 0, "c300"),
                       STAT(write_wrap_count, 1),
                       PUT(1, 3, 0, "d300"),
                       PUT(1, 4, 0, "e446"),
                       STAT(write_wrap_count, 2) })

SCRIPT_CASE(test_chunk_slightly_smaller_than_what_it_overwrites,
            .n_segments = 2,
            .segment_bytes = 608,
            .steps = { PUT(1, 0, 0, "a34"),
                       PUT(1, 1, 0, "x446"),
                       PUT(1, 2, 0, "b446"),
                       PUT(1, 3, 0, "y34"),
                       PUT(1, 4, 0, "c30"),
                       PASS("1:b446/65 1:y34 1:c30") })

static const Script several[] = {
        { "several packets a chunk",
          .steps = { PUT(1, 0, 0, "a10|b200|c1"),
                     PUT(1, 1, 0, "d5"),
                     PASS("1:a10 1:b200 1:c1 1:d5") } },
        { "what comes after a pass is read in the next",
          .steps = { PUT(1, 0, 0, "a1"),
                     PASS("1:a1"),
                     PUT(1, 1, 0, "b1"),
                     PUT(2, 0, 0, "c1"),
                     PASS("1:b1 2:c1"),
                     PASS("") } },
        { "a pass that is broken off goes on, or begins again",
          .steps = { PUT(1, 0, 0, "a1|b1|c1"),
                     PUT(2, 0, 0, "d1"),
                     SOME("1:a1"),
                     NEXT("1:b1"),
                     SOME("1:c1"),
                     NEXT("2:d1"),
                     NEXT("") } },
};
SCRIPT_TEST(test_packets_come_back_in_buffer_order, several)

static void put(TraceBuffer *buffer, uint16_t writer, uint32_t id, const char *text) {
        Step step = PUT(writer, id, 0, text);

        ck_assert_int_eq(script_put(buffer, &step), 0);
}

START_TEST(test_writers_are_read_in_the_order_of_their_chunks) {
        for (uint16_t n = 1; n <= 10; n++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
                char expected[200] = "";

                ck_assert_int_eq(trace_buffer_new(&buffer, 4096, 2048, TRACE_BUFFER_RING), 0);
                for (uint16_t i = n; i > 0; i--) {
                        put(buffer, i, i, "a15");
                        sprintf(expected + strlen(expected), "%s%u:a15", i < n ? " " : "", i);
                }
                ck_assert_str_eq(script_read(buffer), expected);
        }
}
END_TEST

START_TEST(test_random_chunks_come_back_as_they_were_written) {
        for (uint64_t seed = 1; seed <= 32; seed++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
                struct {
                        unsigned writer, n;
                } written[400];
                uint64_t state = seed;
                unsigned n_written = 0;
                TracePacket packet;

                ck_assert_int_eq(trace_buffer_new(&buffer, 16 * 16384, 16384, TRACE_BUFFER_RING),
                                 0);
                while (buffer->index->n_rotations < 14) {
                        char text[16];

                        state = state * UINT64_C(6364136223846793005) + 1;
                        written[n_written].writer = 1 + (unsigned)(state >> 33) % 5000;
                        written[n_written].n = 1 + (unsigned)(state >> 48) % 4094;
                        sprintf(text, "a%u", written[n_written].n);
                        put(buffer, (uint16_t)written[n_written].writer, n_written, text);
                        n_written++;
                }
                trace_buffer_begin_read(buffer);
                for (unsigned i = 0; i < n_written; i++) {
                        ck_assert_int_eq(trace_buffer_read(buffer, &packet), 0);
                        ck_assert_uint_eq(packet.origin->writer_id, written[i].writer);
                        ck_assert_uint_eq(packet.n_bytes, written[i].n);
                        ck_assert_uint_eq(packet.loss & ~(LOSS_PRESENT | LOSS_READ_GAP), 0);
                }
                ck_assert_int_eq(trace_buffer_read(buffer, &packet), TRACE_BUFFER_E_END);
        }
}
END_TEST

START_TEST(test_reader_that_keeps_up_needs_one_segment_and_no_padding) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const TraceBufferStats *stats;

        ck_assert_int_eq(trace_buffer_new(&buffer, 64 << 10, 4096, TRACE_BUFFER_RING), 0);
        stats = trace_buffer_stats(buffer);
        for (uint32_t id = 0; id < 1000; id++) {
                put(buffer, 1, id, "a500");
                ck_assert_uint_eq(trace_buffer_unread_bytes(buffer), 502);
                ck_assert_str_eq(script_read(buffer), "1:a500");
                ck_assert_uint_eq(trace_buffer_unread_bytes(buffer), 0);
                ck_assert_uint_eq(stats->chunks_written, id + 1);
                ck_assert_uint_eq(stats->chunks_read, id + 1);
                ck_assert_uint_eq(stats->bytes_read, stats->bytes_written);
        }
        ck_assert_uint_eq(stats->bytes_written, 1000 * 552);
        ck_assert_uint_eq(stats->padding_bytes_written, 0);
        ck_assert_uint_eq(stats->padding_bytes_cleared, 0);
        ck_assert_uint_eq(buffer->index->n_rotations, 0);
}
END_TEST

START_TEST(test_sizes_are_checked) {
        static const struct {
                uint64_t n_bytes;
                size_t segment_bytes;
                int r;
        } cases[] = {
                { TRACE_BUFFER_BYTES_MIN, 0, 0 },
                { TRACE_BUFFER_BYTES_MIN - 1, 0, -EINVAL },
                { TRACE_BUFFER_BYTES_MAX, 0, sizeof(void *) > 4 ? 0 : -ENOMEM },
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

START_TEST(test_memory_is_used_when_it_is_written_to) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        size_t n_before = resident_pages();

        ck_assert_int_eq(trace_buffer_new(&buffer, UINT64_C(1) << 30, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 100; id++)
                put(buffer, 1, id, "a500");
        /* One huge page, and what is small. */
        ck_assert_uint_lt(resident_pages() - n_before, 512 + 256);
}
END_TEST

START_TEST(test_smallest_buffer_takes_the_largest_chunk) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, TRACE_BUFFER_BYTES_MIN, 0, TRACE_BUFFER_RING),
                         0);
        for (uint32_t id = 0; id < 10; id++)
                put(buffer, 1, id, "a16000|b16000|c760");
        ck_assert_str_eq(
                script_read(buffer),
                "1:a16000/65 1:b16000 1:c760 1:a16000 1:b16000 1:c760 1:a16000 1:b16000 1:c760");
}
END_TEST

START_TEST(test_read_segments_are_recycled_before_new_ones_are_touched) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        size_t n_used = 0;
        Slot *slot;

        ck_assert_int_eq(trace_buffer_new(&buffer, 64 << 10, 4096, TRACE_BUFFER_DISCARD), 0);
        put(buffer, 1, 0, "a5");
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

        ck_assert_int_eq(trace_buffer_new(&buffer, 1024, 512, TRACE_BUFFER_RING), 0);
        put(buffer, 1, 0, "a200|b200");
        put(buffer, 2, 0, "c400");
        trace_buffer_begin_read(buffer);
        ck_assert_str_eq(script_read_next(buffer, 1), "1:a200");

        /* Evicts what the pass was reading: it goes on with what is left. */
        put(buffer, 3, 0, "d400");
        ck_assert_str_eq(script_read_next(buffer, 1), "2:c400");
        put(buffer, 3, 1, "e20");
        ck_assert_str_eq(script_read_next(buffer, SIZE_MAX), "3:d400 3:e20");
        put(buffer, 3, 2, "f30");
        ck_assert_str_eq(script_read_next(buffer, SIZE_MAX), "3:f30");
}
END_TEST

static size_t sequences_n_allocated(const TraceBuffer *buffer) {
        size_t n = 0;

        for (size_t i = 0; i < buffer->sequences.n_allocated; i++)
                if (buffer->sequences.sequences[i])
                        n += buffer->sequences.sequences[i]->n_allocated;
        return n;
}

START_TEST(test_idle_sequence_takes_little_memory) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_uint_le(sizeof(Sequence), 400);
        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t id = 0; id < 2000; id++)
                for (uint16_t writer = 1; writer <= 4; writer++)
                        put(buffer, writer, id, "a5");
        ck_assert_uint_ge(sequences_n_allocated(buffer), 8000);
        script_discard(buffer);
        ck_assert_uint_le(sequences_n_allocated(buffer), 4 * 4);

        /* And works as before. */
        for (uint32_t id = 2000; id < 2100; id++)
                put(buffer, 1, id, "a5");
        put(buffer, 2, 2001, "b5");
        ck_assert_uint_eq(script_discard(buffer), 101);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_read, 8101);
}
END_TEST

START_TEST(test_idle_sequences_are_few_and_the_recent_ones_are_known) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 16 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint16_t writer = 1; writer <= 30000; writer++)
                put(buffer, writer, 0, "a5");
        ck_assert_uint_ge(buffer->sequences.n_allocated, 60000);
        ck_assert_uint_eq(script_discard(buffer), 30000);
        for (uint32_t id = 1; id < 10; id++)
                put(buffer, 29999, id, "b5");
        script_discard(buffer);
        ck_assert_uint_le(buffer->sequences.n_sequences, TRACE_BUFFER_IDLE_SEQUENCES_MAX + 2);
        ck_assert_uint_le(buffer->sequences.n_allocated, 16 * TRACE_BUFFER_IDLE_SEQUENCES_MAX);

        /* A gap is known of those that are remembered, and all of them are found. */
        put(buffer, 5, 2, "c5");
        ck_assert_str_eq(script_read(buffer), "5:c5");
        for (uint16_t writer = 29100; writer <= 29998; writer++) {
                char expected[16];

                snprintf(expected, sizeof(expected), "%u:b5/3", writer);
                put(buffer, writer, 2, "b5");
                ck_assert_str_eq(script_read(buffer), expected);
        }
}
END_TEST

/* Of different producers: there are more of them than one has writers. */
static int put_of(TraceBuffer *buffer, uint32_t writer) {
        const ChunkOrigin origin = { .producer_id = 1 + writer / 1000,
                                     .writer_id = (uint16_t)(1 + writer % 1000) };
        const ChunkData data = {
                .payload = "\1x", .n_payload = 2, .n_fragments = 1, .complete = true
        };

        return trace_buffer_put(buffer, &origin, &data);
}

START_TEST(test_writers_take_no_more_memory_than_the_buffer) {
        const uint32_t n_max = (4u << 20) / TRACE_BUFFER_SEQUENCE_BYTES;
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint32_t writer = 0; writer < n_max; writer++)
                ck_assert_int_eq(put_of(buffer, writer), 0);
        for (uint32_t writer = n_max; writer < n_max + 100; writer++)
                ck_assert_int_eq(put_of(buffer, writer), TRACE_BUFFER_E_DISCARDED);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_discarded, 100);
        ck_assert_uint_eq(buffer->sequences.n_sequences, n_max);

        /* Those that are there go on, and the others when there is room again. */
        ck_assert_int_eq(put_of(buffer, 5), 0);
        script_discard(buffer);
        ck_assert_int_eq(put_of(buffer, n_max + 200), 0);
}
END_TEST

static bool may_grow(void *userdata, size_t n_bytes) {
        size_t *left = userdata;

        if (n_bytes > *left)
                return false;
        *left -= n_bytes;
        return true;
}

START_TEST(test_writers_take_no_more_memory_than_is_granted) {
        const uint32_t n_free =
                (4u << 20) / TRACE_BUFFER_SEQUENCE_BYTES / TRACE_BUFFER_SEQUENCES_FREE;
        size_t left = 2 * TRACE_BUFFER_SEQUENCES_STEP * TRACE_BUFFER_SEQUENCE_BYTES + 100;
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        uint32_t writer = 0;

        ck_assert_int_eq(trace_buffer_new(&buffer, 4 << 20, 0, TRACE_BUFFER_RING), 0);
        trace_buffer_set_may_grow(buffer, may_grow, &left);
        while (put_of(buffer, writer) == 0)
                writer++;
        ck_assert_uint_eq(writer, n_free + 2 * TRACE_BUFFER_SEQUENCES_STEP);
        ck_assert_uint_eq(left, 100);
        ck_assert_uint_eq(trace_buffer_stats(buffer)->chunks_discarded, 1);

        /* Silent ones make room for others. */
        script_discard(buffer);
        for (uint32_t i = 0; i < writer; i++)
                ck_assert_int_eq(put_of(buffer, 10000 + i), 0);
        ck_assert_int_eq(put_of(buffer, 1), TRACE_BUFFER_E_DISCARDED);
}
END_TEST

START_TEST(test_gone_producer_is_forgotten_first) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        const Sequence *first;

        ck_assert_int_eq(trace_buffer_new(&buffer, 1 << 20, 0, TRACE_BUFFER_RING), 0);
        for (uint16_t writer = 1; writer <= 500; writer++)
                put(buffer, writer, 0, "a5");
        script_discard(buffer);
        put(buffer, 7, 1, "b5");
        first = list_first(&buffer->sequences.idle, Sequence, idle_link);
        trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER + 1);
        ck_assert_ptr_eq(list_first(&buffer->sequences.idle, Sequence, idle_link), first);
        ck_assert(!first->is_gone);
        trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER);
        ck_assert(first->is_gone);
        ck_assert_uint_eq(buffer->sequences.n_idle, 499);
        ck_assert_str_eq(script_read(buffer), "7:b5");

        /* Those of others, however old, outlive them. */
        for (uint16_t writer = 1; writer <= TRACE_BUFFER_IDLE_SEQUENCES_MAX; writer++) {
                ChunkOrigin origin = { .producer_id = 8, .writer_id = writer };
                ChunkData data = {
                        .payload = "\1x", .n_payload = 2, .n_fragments = 1, .complete = true
                };

                ck_assert_int_eq(trace_buffer_put(buffer, &origin, &data), 0);
                trace_buffer_clear(buffer);
        }
        trace_buffer_producer_gone(buffer, SCRIPT_PRODUCER);
        put(buffer, 600, 0, "a5");
        for (uint16_t writer = 1; writer <= TRACE_BUFFER_IDLE_SEQUENCES_MAX; writer++)
                ck_assert_ptr_nonnull(sequence_table_find(&buffer->sequences, 8, writer));
        ck_assert_ptr_null(sequence_table_find(&buffer->sequences, SCRIPT_PRODUCER, 1));
}
END_TEST

TEST_MAIN("buffer-basic",
          test_empty_buffer_has_nothing_to_read,
          test_segments_are_filled_to_the_last_byte,
          test_oldest_segment_makes_room_and_padding_is_counted,
          test_empty_chunk_takes_no_more_than_its_record,
          test_full_segments_that_were_read_are_used_again,
          test_empty_packets_are_skipped_and_are_no_violation,
          test_turn_of_the_ring_is_counted_with_the_next_write,
          test_chunk_slightly_smaller_than_what_it_overwrites,
          test_packets_come_back_in_buffer_order,
          test_writers_are_read_in_the_order_of_their_chunks,
          test_random_chunks_come_back_as_they_were_written,
          test_reader_that_keeps_up_needs_one_segment_and_no_padding,
          test_sizes_are_checked,
          test_memory_is_used_when_it_is_written_to,
          test_smallest_buffer_takes_the_largest_chunk,
          test_read_segments_are_recycled_before_new_ones_are_touched,
          test_chunks_may_come_during_a_pass,
          test_idle_sequence_takes_little_memory,
          test_idle_sequences_are_few_and_the_recent_ones_are_known,
          test_writers_take_no_more_memory_than_the_buffer,
          test_writers_take_no_more_memory_than_is_granted,
          test_gone_producer_is_forgotten_first)
