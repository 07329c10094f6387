/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service's stores: clock snapshots, lifecycle events, sequence ids. */

#include "core/model/event-list.h"
#include "core/model/sequence-ids.h"
#include "core/model/service-limits.h"
#include "test.h"

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

TEST_MAIN("service-packets",
          test_snapshot_without_drift_says_nothing_new,
          test_drift_in_either_direction_is_kept,
          test_full_ring_of_snapshots_keeps_the_newest,
          test_too_many_events_cost_the_oldest_flush,
          test_writers_keep_their_sequence_ids,
          test_sequence_ids_are_limited)
