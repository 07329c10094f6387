/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A track is in one state at a time, until its next event says another one or none. */

#include "trace/trace-import.h"
#include "trace/trace-packets.h"

#define BYTES_MAX (UINT64_C(64) << 20)

/* Perfetto's numbers. */
#define TYPE_STATE       5
#define DESCRIPTOR_STATE 18

enum {
        TRACK_OWN = 5, /* the thread's */
        TRACK_PLAYER = 10,
        TRACK_OF_THREAD,
        TRACK_UNNAMED,
        TRACK_OTHER, /* not one of states */
        TRACK_COUNTER,
        TRACK_OF_PROCESS,
        TRACK_UNKNOWN,
};

static void put_state_track(TraceBuilder *builder,
                            uint64_t uuid,
                            uint64_t parent,
                            const char *name,
                            uint32_t more) {
        WireWriter *w = trace_packet(builder, 0);
        size_t track = wire_begin(w, 60);

        wire_put_uint(w, 1, uuid);
        if (name)
                wire_put_string(w, 2, name);
        if (parent)
                wire_put_uint(w, 5, parent);
        if (more)
                wire_end(w, wire_begin(w, more));
        wire_end(w, wire_begin(w, DESCRIPTOR_STATE));
        wire_end(w, track);
        trace_packet_end(builder, 3, 77, 0);
}

/* An argument of this name is added if there is one. */
static void put_state(TraceBuilder *builder,
                      uint64_t at_ns,
                      uint64_t track,
                      const char *value,
                      const char *argument) {
        WireWriter *w = trace_packet(builder, at_ns);
        size_t event = wire_begin(w, 11), annotation;

        wire_put_uint(w, 9, TYPE_STATE);
        wire_put_uint(w, 3, 1);
        if (track)
                wire_put_uint(w, 11, track);
        if (value)
                wire_put_string(w, 23, value);
        if (argument) {
                annotation = wire_begin(w, 4);
                wire_put_string(w, 10, argument);
                wire_put_uint(w, 4, at_ns);
                wire_end(w, annotation);
        }
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, 0);
}

static TraceBuilder *builder_new(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, TRACK_OWN);
        trace_thread_track(builder, 3, TRACK_OWN, 77, 78, "painter");
        put_state_track(builder, TRACK_PLAYER, 0, "player", 0);
        put_state_track(builder, TRACK_OF_THREAD, TRACK_OWN, "of a thread", 0);
        put_state_track(builder, TRACK_UNNAMED, 0, NULL, 0);
        trace_named_track(builder, TRACK_OTHER, 0, "other", false);
        put_state_track(builder, TRACK_COUNTER, 0, "counter", 8);
        put_state_track(builder, TRACK_OF_PROCESS, 0, "process", 3);
        return builder;
}

static TraceStore *store_of(TraceBuilder *builder) {
        int fd = trace_builder_fd(builder, SIZE_MAX);
        TraceStore *store;

        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), 0);
        close(fd);
        free(builder);
        return store;
}

static void
check_state(const TraceStore *store, uint32_t row, int64_t at_ns, int64_t dur, const char *value) {
        const TraceTable *states = &store->tables[TRACE_TABLE_TRACK_STATE];
        uint32_t text = trace_table_get(states, TRACK_STATE_VALUE, row);

        ck_assert_uint_lt(row, states->n);
        ck_assert_int_eq(trace_table_i64(states, TRACK_STATE_TS, row), at_ns);
        ck_assert_int_eq(trace_table_i64(states, TRACK_STATE_DUR, row), dur);
        ck_assert_str_eq(trace_pool_text(&store->pool, text), value);
        text = trace_table_get(states, TRACK_STATE_CATEGORY, row);
        ck_assert_str_eq(trace_pool_text(&store->pool, text), "ui");
}

static const char *track_text(const TraceStore *store, uint32_t row, unsigned column) {
        const TraceTable *states = &store->tables[TRACE_TABLE_TRACK_STATE];
        uint32_t track = trace_table_get(states, TRACK_STATE_TRACK, row);

        return trace_pool_text(&store->pool,
                               trace_table_get(&store->tables[TRACE_TABLE_TRACK], column, track));
}

static unsigned count_args(const TraceStore *store, uint32_t row) {
        const TraceTable *args = &store->tables[TRACE_TABLE_ARG];
        uint32_t set =
                trace_table_get(&store->tables[TRACE_TABLE_TRACK_STATE], TRACK_STATE_ARGS, row);
        unsigned n = 0;

        for (uint32_t i = 0; i < args->n; i++)
                n += trace_table_get(args, ARG_SET, i) == set;
        return n;
}

/* The empty text is a state as well. */
START_TEST(test_a_state_lasts_until_the_next) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        TraceBuilder *builder = builder_new();

        put_state(builder, 2000, TRACK_PLAYER, "idle", NULL);
        put_state(builder, 2100, TRACK_OF_THREAD, "busy", NULL);
        put_state(builder, 2300, TRACK_PLAYER, "playing", NULL);
        put_state(builder, 2400, TRACK_PLAYER, "", NULL);
        put_state(builder, 2450, TRACK_PLAYER, NULL, NULL);
        put_state(builder, 2500, TRACK_PLAYER, NULL, NULL);
        put_state(builder, 2600, TRACK_PLAYER, "idle", NULL);
        store = store_of(builder);
        ck_assert_uint_eq(store->tables[TRACE_TABLE_TRACK_STATE].n, 5);
        check_state(store, 0, 2000, 300, "idle");
        check_state(store, 1, 2100, -1, "busy");
        check_state(store, 2, 2300, 100, "playing");
        check_state(store, 3, 2400, 50, "");
        check_state(store, 4, 2600, -1, "idle");
        ck_assert_str_eq(track_text(store, 0, TRACK_NAME), "player");
        ck_assert_str_eq(track_text(store, 0, TRACK_TYPE), "global_state_track_event");
        ck_assert_str_eq(track_text(store, 1, TRACK_TYPE), "thread_state_track_event");
        ck_assert_uint_eq(store->tables[TRACE_TABLE_SLICE].n, 0);
}
END_TEST

START_TEST(test_the_same_state_again_only_adds_arguments) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        TraceBuilder *builder = builder_new();

        put_state(builder, 2000, TRACK_PLAYER, "idle", NULL);
        put_state(builder, 2100, TRACK_PLAYER, "idle", "a");
        put_state(builder, 2200, TRACK_PLAYER, "idle", "b");
        put_state(builder, 2300, TRACK_PLAYER, "playing", "a");
        store = store_of(builder);
        ck_assert_uint_eq(store->tables[TRACE_TABLE_TRACK_STATE].n, 2);
        check_state(store, 0, 2000, 300, "idle");
        check_state(store, 1, 2300, -1, "playing");
        ck_assert_uint_eq(count_args(store, 0), 2);
        ck_assert_uint_eq(count_args(store, 1), 1);
}
END_TEST

START_TEST(test_a_track_without_a_name_is_called_by_its_first_state) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        TraceBuilder *builder = builder_new();

        put_state(builder, 2000, TRACK_UNNAMED, "first", NULL);
        put_state(builder, 2100, TRACK_UNNAMED, "second", NULL);
        store = store_of(builder);
        ck_assert_str_eq(track_text(store, 1, TRACK_NAME), "first");
}
END_TEST

/* Perfetto's trace processor has none there, either. */
START_TEST(test_other_tracks_have_no_states) {
        static const uint64_t tracks[] = { TRACK_OTHER,      TRACK_COUNTER, TRACK_OWN,
                                           TRACK_OF_PROCESS, TRACK_UNKNOWN, 0 };
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        TraceBuilder *builder = builder_new();

        for (size_t i = 0; i < ARRAY_SIZE(tracks); i++)
                put_state(builder, 2000 + i, tracks[i], "idle", "a");
        store = store_of(builder);
        ck_assert_uint_eq(store->tables[TRACE_TABLE_TRACK_STATE].n, 0);
}
END_TEST

TEST_MAIN("trace-states",
          test_a_state_lasts_until_the_next,
          test_the_same_state_again_only_adds_arguments,
          test_a_track_without_a_name_is_called_by_its_first_state,
          test_other_tracks_have_no_states)
