/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a writer told once is known until it starts over, and within bounds. */

#include <errno.h>

#include "test.h"
#include "trace/trace-pool.h"
#include "trace/trace-sequence.h"
#include "wire/wire-writer.h"

#define FIELD_EVENT_NAMES 2
#define FIELD_CATEGORIES  1

static TracePool pool;
static uint8_t memory[4096];

static uint32_t add_text(void *texts, const void *data, size_t n) {
        return trace_pool_add(texts, data, n);
}

static TraceSequences sequences_new(void) {
        ck_assert_int_eq(trace_pool_init(&pool), 0);
        return (TraceSequences){ .kinds = 1u << TRACE_INTERNED_EVENT_NAME,
                                 .add_text = add_text,
                                 .texts = &pool };
}

/* A packet that tells one name. */
static TracePacket tells(uint32_t kind, uint64_t iid, const char *text) {
        TracePacket packet = { 0 };
        WireWriter writer;
        size_t entry;

        wire_writer_init(&writer, memory, sizeof(memory));
        entry = wire_begin(&writer, kind);
        wire_put_uint(&writer, 1, iid);
        wire_put_string(&writer, 2, text);
        wire_end(&writer, entry);
        packet.interned = (WireField){ .type = WIRE_BYTES,
                                       .data = memory,
                                       .n_bytes = wire_writer_size(&writer) };
        return packet;
}

START_TEST(test_a_name_is_known_until_the_sequence_starts_over) {
        _cleanup_(trace_sequences_deinit) TraceSequences sequences = sequences_new();
        TraceSequence *one = trace_sequences_get(&sequences, 7);
        TraceSequence *other = trace_sequences_get(&sequences, 8);
        TracePacket packet = tells(FIELD_EVENT_NAMES, 3, "draw"), again = { .is_cleared = true };
        uint32_t number;

        ck_assert_ptr_eq(trace_sequences_get(&sequences, 7), one);
        ck_assert_int_eq(trace_sequence_take(&sequences, one, &packet), 0);
        ck_assert(trace_sequence_find(one, TRACE_INTERNED_EVENT_NAME, 3, &number));
        ck_assert_str_eq(trace_pool_text(&pool, number), "draw");
        ck_assert(!trace_sequence_find(other, TRACE_INTERNED_EVENT_NAME, 3, &number));
        ck_assert(!trace_sequence_find(one, TRACE_INTERNED_CATEGORY, 3, &number));
        ck_assert(!one->is_valid);
        ck_assert_int_eq(trace_sequence_take(&sequences, one, &again), 0);
        ck_assert(one->is_valid);
        ck_assert(!trace_sequence_find(one, TRACE_INTERNED_EVENT_NAME, 3, &number));
        ck_assert_uint_eq(sequences.n_interned, 0);
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_what_nobody_looks_up_is_not_kept) {
        _cleanup_(trace_sequences_deinit) TraceSequences sequences = sequences_new();
        TraceSequence *sequence = trace_sequences_get(&sequences, 7);
        TracePacket packet = tells(FIELD_CATEGORIES, 3, "ui");
        size_t n_before = pool.n_texts;

        ck_assert_int_eq(trace_sequence_take(&sequences, sequence, &packet), 0);
        ck_assert_uint_eq(sequences.n_interned, 0);
        ck_assert_uint_eq(pool.n_texts, n_before);
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_names_have_a_bound_and_a_new_start_makes_room) {
        _cleanup_(trace_sequences_deinit) TraceSequences sequences = sequences_new();
        TraceSequence *sequence = trace_sequences_get(&sequences, 7);
        TracePacket packet = tells(FIELD_EVENT_NAMES, 1, "x"), again = { .is_cleared = true };
        uint32_t number;

        sequences.n_interned = TRACE_INTERNED_MAX - 1; /* as if others had told the rest */
        ck_assert_int_eq(trace_sequence_take(&sequences, sequence, &packet), 0);
        packet = tells(FIELD_EVENT_NAMES, 2, "x");
        ck_assert_int_eq(trace_sequence_take(&sequences, sequence, &packet), -E2BIG);
        ck_assert(!trace_sequence_find(sequence, TRACE_INTERNED_EVENT_NAME, 2, &number));
        ck_assert(trace_sequence_find(sequence, TRACE_INTERNED_EVENT_NAME, 1, &number));
        ck_assert_int_eq(trace_sequence_take(&sequences, sequence, &again), 0);
        ck_assert_int_eq(trace_sequence_take(&sequences, sequence, &packet), 0);
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_sequences_have_a_bound) {
        _cleanup_(trace_sequences_deinit) TraceSequences sequences = sequences_new();
        uint32_t n = 0;

        for (uint32_t id = 0; id < TRACE_SEQUENCES_MAX; id++)
                n += trace_sequences_get(&sequences, id) != NULL;
        ck_assert_uint_eq(n, TRACE_SEQUENCES_MAX);
        ck_assert_ptr_null(trace_sequences_get(&sequences, UINT32_MAX));
        ck_assert_ptr_nonnull(trace_sequences_get(&sequences, 0));
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_differences_add_up_by_track) {
        _cleanup_(trace_sequences_deinit) TraceSequences sequences = sequences_new();
        TraceSequence *sequence = trace_sequences_get(&sequences, 1);

        ck_assert(trace_sequence_add_up(sequence, 1, 2.5) == 2.5);
        ck_assert(trace_sequence_add_up(sequence, 2, 10) == 10);
        ck_assert(trace_sequence_add_up(sequence, 1, -1) == 1.5);
        trace_sequence_clear(&sequences, sequence);
        ck_assert(trace_sequence_add_up(sequence, 1, 4) == 4);
        trace_pool_deinit(&pool);
}
END_TEST

TEST_MAIN("trace-sequence",
          test_a_name_is_known_until_the_sequence_starts_over,
          test_what_nobody_looks_up_is_not_kept,
          test_names_have_a_bound_and_a_new_start_makes_room,
          test_sequences_have_a_bound,
          test_differences_add_up_by_track)
