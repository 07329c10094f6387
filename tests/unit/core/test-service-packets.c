/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's stores: clock snapshots, lifecycle events, sequence ids. */

#include "core/events/service-packets.h"
#include "core/model/event-list.h"
#include "core/model/sequence-ids.h"
#include "core/model/service-limits.h"
#include "test.h"
#include "wire/wire-reader.h"

#define MS UINT64_C(1000000)

static ClockSnapshot snapshot(uint64_t boottime, uint64_t realtime) {
        return (ClockSnapshot){
                .n = 2,
                .readings = { { CLOCK_ID_BOOTTIME, boottime }, { CLOCK_ID_REALTIME, realtime } },
        };
}

START_TEST(test_snapshot_without_drift_says_nothing_new) {
        ClockRing ring = {};
        ClockSnapshot taken;

        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 100 * MS }, { 1, 500 * MS } } });
        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 200 * MS }, { 1, 609 * MS } } });
        ck_assert(clock_ring_take(&ring, &taken));
        ck_assert_uint_eq(taken.readings[0].ns, 100 * MS);
        ck_assert(!clock_ring_take(&ring, &taken));

        /* But each piece of a stream has one. */
        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 300 * MS }, { 1, 700 * MS } } });
        ck_assert(clock_ring_take(&ring, &taken));
        ck_assert_uint_eq(taken.readings[1].ns, 700 * MS);
}
END_TEST

START_TEST(test_drift_in_either_direction_is_kept) {
        ClockRing ring = {};

        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 100 * MS }, { 1, 500 * MS } } });
        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 200 * MS }, { 1, 610 * MS } } });
        ck_assert_uint_eq(ring.n, 2);
        clock_ring_add(
                &ring,
                &(ClockSnapshot){ .n = 2, .readings = { { 6, 300 * MS }, { 1, 700 * MS } } });
        ck_assert_uint_eq(ring.n, 3);
}
END_TEST

START_TEST(test_full_ring_of_snapshots_keeps_the_newest) {
        ClockRing ring = {};
        ClockSnapshot taken;
        size_t n = 0;

        for (unsigned i = 0; i < 3 * CLOCK_RING_MAX; i++) {
                ClockSnapshot at = snapshot(i * MS, i * 100 * MS);

                clock_ring_add(&ring, &at);
        }
        for (; clock_ring_take(&ring, &taken); n++)
                ck_assert_uint_eq(taken.readings[0].ns, (2 * CLOCK_RING_MAX + n) * MS);
        ck_assert_uint_eq(n, CLOCK_RING_MAX);
}
END_TEST

START_TEST(test_too_many_events_cost_the_oldest_flush) {
        static EventList list;

        event_list_add(&list, EVENT_TRACING_STARTED, 1, NULL);
        for (unsigned i = 0; i < 3 * EVENT_LIST_MAX; i++)
                event_list_add(&list, EVENT_FLUSH_STARTED, 2 + i, NULL);
        event_list_add(&list, EVENT_TRACING_DISABLED, 1000, NULL);
        ck_assert_uint_eq(list.n, EVENT_LIST_MAX);
        ck_assert_int_eq(list.records[0].event, EVENT_TRACING_STARTED);
        ck_assert_int_eq(list.records[EVENT_LIST_MAX - 1].event, EVENT_TRACING_DISABLED);
        for (size_t i = 1; i < list.n; i++)
                ck_assert_uint_gt(list.records[i].ns, list.records[i - 1].ns);
        event_list_clear(&list);
}
END_TEST

START_TEST(test_writers_keep_their_sequence_ids) {
        SequenceIds ids = {};
        uint32_t sequence;

        for (unsigned round = 0; round < 2; round++)
                for (uint32_t i = 0; i < 1000; i++) {
                        ck_assert_int_eq(
                                sequence_ids_get(
                                        &ids, 1 + i / 10, (uint16_t)(1 + i % 10), &sequence),
                                0);
                        ck_assert_uint_eq(sequence, 2 + i);
                }
        sequence_ids_deinit(&ids);
}
END_TEST

START_TEST(test_sequence_ids_are_limited) {
        SequenceIds ids = {};
        uint32_t sequence;

        for (uint32_t i = 0; i < SESSION_SEQUENCES_MAX; i++)
                ck_assert_int_eq(
                        sequence_ids_get(&ids, 1 + i / 4096, (uint16_t)(i % 4096), &sequence), 0);
        ck_assert_int_eq(sequence_ids_get(&ids, 1000, 1, &sequence), SEQUENCE_IDS_E_LIMIT);
        ck_assert_int_eq(sequence_ids_get(&ids, 1, 1, &sequence), 0);
        ck_assert_uint_eq(sequence, 3);
        sequence_ids_deinit(&ids);
}
END_TEST

/*
 * Each field of each packet
 */

static char said[4096];

static bool is_text(const WireField *field) {
        for (size_t i = 0; i < field->n_bytes; i++)
                if (field->data[i] < ' ' || field->data[i] > '~')
                        return false;
        return field->n_bytes > 0;
}

/* "1:5 2:text 3{1:6}": bytes that are no text are a message. */
static char *say_message(char *at, const uint8_t *bytes, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, bytes, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                at += sprintf(at, "%s%u", at == said || at[-1] == '{' ? "" : " ", field.number);
                if (field.type != WIRE_BYTES)
                        at += sprintf(at, ":%lld", (long long)field.value);
                else if (is_text(&field))
                        at += sprintf(at, ":%.*s", (int)field.n_bytes, (const char *)field.data);
                else
                        at = stpcpy(say_message(stpcpy(at, "{"), field.data, field.n_bytes), "}");
        }
        ck_assert_int_eq(r, 0);
        return at;
}

/* The packet, as text; frees it. All are the service's: uid 990, sequence 1. */
static const char *packet_said(Bytes *packet) {
        said[0] = 0;
        say_message(said, packet->data, packet->n);
        bytes_deinit(packet);
        ck_assert_int_eq(strncmp(said, "1{3:990 10:1 ", 13), 0);
        said[strlen(said) - 1] = 0;
        return said + 13;
}

static const ServiceInfo info = {
        .uid = 990,
        .version = "desktrace",
        .sysname = "Linux",
        .kernel_version = "#1",
        .release = "6.1",
        .machine = "x86",
        .hz = 250,
        .page_size = 4096,
        .timezone_offset_minutes = 60,
        .n_cpus = 4,
        .ram_bytes = 1000,
        .boot_id = "b00t",
        .os_id = "debian",
        .os_version = "",
        .cpu_model = "6502",
};

START_TEST(test_packets_about_the_machine_and_the_trace_have_all_fields) {
        const ClockSnapshot clocks = snapshot(5, 7);
        const uint64_t uuid[] = { 3, 4 };
        Bytes out = {};

        ck_assert_int_eq(packet_put_system_info(&out, &info), 0);
        ck_assert_str_eq(packet_said(&out),
                         "45{1{1:Linux 2:#1 3:6.1 4:x86} 3:250 4:desktrace 6:4096 7:60 8:4 16:1000 "
                         "1900:b00t 1901:debian 1903:6502}");
        ck_assert_int_eq(packet_put_clock_snapshot(&out, &info, &clocks, CLOCK_ID_REALTIME), 0);
        ck_assert_str_eq(packet_said(&out), "8:5 58:6 6{1{1:6 2:5} 1{1:1 2:7} 2:1}");
        ck_assert_int_eq(packet_put_uuid(&out, &info, uuid), 0);
        ck_assert_str_eq(packet_said(&out), "89{1:3 2:4}");
        ck_assert_int_eq(packet_put_config(&out, &info, "config", 6), 0);
        ck_assert_str_eq(packet_said(&out), "33:config");
        ck_assert_int_eq(packet_put_stats(&out, &info, 9, "stats", 5), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 35:stats");
        ck_assert_int_eq(packet_put_provenance(&out, &info, 9, "who", 3), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 124:who");
}
END_TEST

START_TEST(test_packets_about_what_happened_have_all_fields) {
        const TriggerEvent trigger = { 9, "crash", "app", 1000, 50 };
        ConcurrentEvent other = { 9, 2, 77, "name", 1000, 3 };
        EventRecord event = { .event = EVENT_BUFFER_CLONED, .ns = 9, .buffer = 6 };
        Bytes out = {};

        ck_assert_int_eq(packet_put_trigger(&out, &info, PACKET_TRIGGER, &trigger), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 46{1:crash 2:app 3:1000 4:50}");
        ck_assert_int_eq(packet_put_concurrent_event(&out, &info, &other), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 134{1:2 2:name 3:77 4:1000 5:3}");
        other.session_name = "";
        ck_assert_int_eq(packet_put_concurrent_event(&out, &info, &other), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 134{1:2 3:77 4:1000 5:3}");
        ck_assert_int_eq(packet_put_event(&out, &info, &event), 0);
        ck_assert_ptr_nonnull(strstr(packet_said(&out), "8:9 58:6 69{"));
        ck_assert_ptr_nonnull(strstr(said, ":6}"));
        event = (EventRecord){ .event = EVENT_TRACING_STARTED, .ns = 9 };
        ck_assert_int_eq(packet_put_event(&out, &info, &event), 0);
        ck_assert_ptr_nonnull(strstr(packet_said(&out), ":1}"));
        event_sources_add(&event.sources, "app", "source");
        ck_assert_int_eq(packet_put_event(&out, &info, &event), 0);
        ck_assert_ptr_nonnull(strstr(packet_said(&out), "{1{1:app 2:source}}}"));
        bytes_deinit(&event.sources);
}
END_TEST

START_TEST(test_notes_are_instants_on_a_track_of_their_own) {
        const NoteEvent note = { 9, "text", "source", "app", 12 };
        char track[32];
        Bytes out = {};

        ck_assert_int_eq(packet_put_note_track(&out, &info), 0);
        ck_assert_int_eq(sscanf(packet_said(&out), "60{1:%20[0-9] 2:", track), 1);
        ck_assert_ptr_nonnull(strstr(said, TRACING_NOTES_TRACK));
        ck_assert_int_eq(packet_put_note(&out, &info, &note), 0);
        ck_assert_ptr_nonnull(strstr(packet_said(&out), "8:9 58:6 11{9:3 11:"));
        ck_assert_ptr_nonnull(strstr(said, track));
        ck_assert_ptr_nonnull(strstr(said,
                                     " 22:" TRACING_NOTES_CATEGORY
                                     " 23:text 4{10:data source 6:source} 4{10:producer 6:app} "
                                     "4{10:pid 4:12}}"));
}
END_TEST

START_TEST(test_absence_is_an_event_of_the_service) {
        const ServiceAway away = { .from = 7, .until = 9, .n_lost = 3 };
        Bytes out = {};

        ck_assert_int_eq(packet_put_away(&out, &info, &away), 0);
        ck_assert_str_eq(packet_said(&out), "8:9 58:6 69{1900{1:7 2:9 3:3}}");
}
END_TEST

START_TEST(test_descriptors_of_extensions_are_packed_or_not) {
        Bytes out = {}, descriptors = {};

        ck_assert_int_eq(bytes_append(&descriptors, "types", 5), 0);
        ck_assert_int_eq(packet_put_extension(&out, &info, false, &descriptors, "a.proto"), 0);
        ck_assert_str_eq(packet_said(&out), "72{1:types 3:a.proto}");
        ck_assert_int_eq(packet_put_extension(&out, &info, true, &descriptors, "a.proto"), 0);
        ck_assert_str_eq(packet_said(&out), "72{2:types 3:a.proto}");
        bytes_deinit(&descriptors);
}
END_TEST

TEST_MAIN("service-packets",
          test_snapshot_without_drift_says_nothing_new,
          test_drift_in_either_direction_is_kept,
          test_full_ring_of_snapshots_keeps_the_newest,
          test_too_many_events_cost_the_oldest_flush,
          test_writers_keep_their_sequence_ids,
          test_sequence_ids_are_limited,
          test_packets_about_the_machine_and_the_trace_have_all_fields,
          test_packets_about_what_happened_have_all_fields,
          test_notes_are_instants_on_a_track_of_their_own,
          test_absence_is_an_event_of_the_service,
          test_descriptors_of_extensions_are_packed_or_not)
