/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What one track event says, in both of the ways in which it may be said. */

#include "test.h"
#include "trace/trace-track-event.h"
#include "wire/wire-writer.h"

static uint8_t memory[64 << 10];
static WireWriter writer;

static WireWriter *begin(void) {
        wire_writer_init(&writer, memory, sizeof(memory));
        return &writer;
}

static TraceTrackEvent event_read(void) {
        const WireField field = { .type = WIRE_BYTES,
                                  .data = memory,
                                  .n_bytes = wire_writer_size(&writer) };
        TraceTrackEvent event;

        ck_assert(!wire_writer_failed(&writer));
        trace_track_event_read(&event, &field);
        return event;
}

START_TEST(test_a_begin_has_its_names_and_track) {
        WireWriter *w = begin();
        TraceTrackEvent event;

        wire_put_uint(w, 9, 1);
        wire_put_uint(w, 10, 77);
        wire_put_uint(w, 11, 1234567890123);
        wire_put_uint(w, 3, 5);
        wire_put_string(w, 22, "ui");
        event = event_read();
        ck_assert_int_eq(event.type, TRACE_EVENT_BEGIN);
        ck_assert(event.has_name && event.has_track && !event.is_async);
        ck_assert_ptr_null(event.name.data);
        ck_assert_uint_eq(event.name.iid, 77);
        ck_assert_uint_eq(event.track_uuid, 1234567890123);
        ck_assert_uint_eq(event.n_categories, 2);
        ck_assert_uint_eq(event.categories[0].iid, 5);
        ck_assert_uint_eq(event.categories[1].n, 2);
        ck_assert_mem_eq(event.categories[1].data, "ui", 2);
}
END_TEST

START_TEST(test_an_older_phase_counts_only_without_a_type) {
        WireWriter *w = begin();
        TraceTrackEvent event;
        size_t legacy = wire_begin(w, 6);

        wire_put_uint(w, 1, 9);
        wire_put_uint(w, 2, 'X');
        wire_put_uint(w, 3, 20);
        wire_end(w, legacy);
        event = event_read();
        ck_assert_int_eq(event.type, TRACE_EVENT_COMPLETE);
        ck_assert_int_eq(event.duration_ns, 20000);
        ck_assert_uint_eq(event.name.iid, 9);
        wire_put_uint(w, 9, 2);
        event = event_read();
        ck_assert_int_eq(event.type, TRACE_EVENT_END);
}
END_TEST

START_TEST(test_an_asynchronous_event_says_whose_its_id_is) {
        WireWriter *w = begin();
        TraceTrackEvent event;
        size_t legacy = wire_begin(w, 6);

        wire_put_uint(w, 2, 'b');
        wire_put_uint(w, 10, 0xabc);
        wire_put_string(w, 7, "scope");
        wire_end(w, legacy);
        event = event_read();
        ck_assert_int_eq(event.type, TRACE_EVENT_BEGIN);
        ck_assert(event.is_async && event.has_scope);
        ck_assert_int_eq(event.async_kind, TRACE_ASYNC_LOCAL);
        ck_assert_uint_eq(event.async_id, 0xabc);
}
END_TEST

START_TEST(test_a_duration_that_is_not_known_stays_so) {
        WireWriter *w = begin();
        size_t legacy = wire_begin(w, 6);

        wire_put_uint(w, 2, 'X');
        wire_put_int(w, 3, -1);
        wire_end(w, legacy);
        ck_assert_int_eq(event_read().duration_ns, -1);
}
END_TEST

START_TEST(test_lists_end_at_their_limits) {
        WireWriter *w = begin();
        TraceTrackEvent event;

        for (uint32_t i = 0; i < 1000; i++) {
                wire_put_uint(w, 3, i + 1);
                wire_put_uint(w, 36, i);
                wire_put_uint(w, 42, i);
        }
        event = event_read();
        ck_assert_uint_eq(event.n_categories, TRACE_EVENT_CATEGORIES_MAX);
        ck_assert_uint_eq(event.n_flows, TRACE_EVENT_FLOWS_MAX);
        ck_assert_uint_eq(event.n_ending, TRACE_EVENT_FLOWS_MAX);
}
END_TEST

START_TEST(test_fields_of_other_types_are_no_harm) {
        WireWriter *w = begin();
        TraceTrackEvent event;

        wire_put_string(w, 9, "begin");
        wire_put_string(w, 11, "track");
        wire_put_uint(w, 23, 5);
        wire_put_uint(w, 6, 5);
        wire_put_uint(w, 22, 5);
        event = event_read();
        ck_assert_int_eq(event.type, TRACE_EVENT_NONE);
        ck_assert(!event.has_name);
        ck_assert_uint_eq(event.n_categories, 0);
}
END_TEST

TEST_MAIN("trace-track-event",
          test_a_begin_has_its_names_and_track,
          test_an_older_phase_counts_only_without_a_type,
          test_an_asynchronous_event_says_whose_its_id_is,
          test_a_duration_that_is_not_known_stays_so,
          test_lists_end_at_their_limits,
          test_fields_of_other_types_are_no_harm)
