/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a user is told of how much there is: nothing of what other users have. */

#include "core/model/census.h"
#include "core/model/service.h"
#include "fixture.h"

static Fixture f;

#define ONE CONFIG_ONE("track_event")

static uint64_t count(uid_t viewer, CensusWhat what) {
        return census_count(&f.service->census, &f.info, &(Identity){ .uid = viewer }, what);
}

START_TEST(test_users_count_what_they_may_see) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_connect_producer(&f, 1001, "other", "track_event");
        fixture_connect_producer(&f, f.info.probes_uid, "probes", "linux.ftrace");
        fixture_start_session(&f, 1000, ONE);
        fixture_start_session(&f, 1001, ONE);
        fixture_start_session(&f, 1001, ONE);
        ck_assert_uint_eq(count(1000, CENSUS_PRODUCERS), 2);
        ck_assert_uint_eq(count(1000, CENSUS_SOURCES), 2);
        ck_assert_uint_eq(count(1000, CENSUS_SESSIONS), 1);
        ck_assert_uint_eq(count(1000, CENSUS_BUFFERS), 1);
        ck_assert_uint_eq(count(1001, CENSUS_SESSIONS), 2);
        ck_assert_uint_eq(count(1002, CENSUS_PRODUCERS), 1);
        ck_assert_uint_eq(count(1002, CENSUS_SESSIONS), 0);
        ck_assert_uint_eq(count(0, CENSUS_PRODUCERS), 3);
        ck_assert_uint_eq(count(0, CENSUS_SESSIONS), 3);
        ck_assert_uint_eq(count(0, CENSUS_BUFFERS), 3);
        fixture_disconnect_producer(app);
        ck_assert_uint_eq(count(1000, CENSUS_PRODUCERS), 1);
        ck_assert_uint_eq(count(1000, CENSUS_PRODUCERS_SEEN), 2);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_users_who_have_nothing_are_forgotten) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, ONE);
        ck_assert(!list_is_empty(&f.service->census));
        fixture_free_session(consumer);
        ck_assert(list_is_empty(&f.service->census));
        fixture_deinit(&f);
}
END_TEST

/* TraceStats is in one's own trace. */
static void read_stats(const FakeConsumer *consumer, uint64_t ret[static 8]) {
        _cleanup_(bytes_deinit) Bytes stats = {};
        WireReader reader;
        WireField field;

        memset(ret, 0, 8 * sizeof(*ret));
        ck_assert_int_eq(session_append_stats(consumer->session, &stats), 0);
        wire_reader_init(&reader, stats.data, stats.n);
        while (wire_read(&reader, &field) > 0)
                if (field.number < 8)
                        ret[field.number] = field.value;
}

START_TEST(test_the_statistics_in_a_trace_do_not_change_with_other_users) {
        uint64_t before[8], after[8];
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, ONE);
        read_stats(consumer, before);
        ck_assert_uint_eq(before[2], 1);
        ck_assert_uint_eq(before[6], 1);
        fixture_connect_producer(&f, 1001, "other", "track_event");
        fixture_start_session(&f, 1001, ONE);
        read_stats(consumer, after);
        ck_assert_mem_eq(before, after, sizeof(before));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_ids_do_not_tell_how_many_there_are) {
        uint64_t sessions[3], producers[3];

        fixture_init(&f);
        for (unsigned i = 0; i < 3; i++) {
                producers[i] = producer_id(
                        fixture_connect_producer(&f, 1000, "app", "track_event")->producer);
                sessions[i] = session_id(fixture_start_session(&f, 1000, ONE)->session);
        }
        ck_assert(sessions[1] - sessions[0] != 1 || sessions[2] - sessions[1] != 1);
        ck_assert(producers[1] - producers[0] != 1 || producers[2] - producers[1] != 1);
        /* The service's own user is alone with these numbers. */
        ck_assert_uint_eq(session_id(fixture_start_session(&f, f.info.uid, ONE)->session), 1);
        ck_assert_uint_eq(session_id(fixture_start_session(&f, f.info.uid, ONE)->session), 2);
        fixture_deinit(&f);
}
END_TEST

/* What a program is asked for in a session of its own has no gaps where other users' sessions were. */
START_TEST(test_requests_are_counted_for_each_producer) {
        FakeProducer *app;
        uint64_t first;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_connect_producer(&f, 1001, "other", "track_event");
        fixture_start_session(&f, 1000, ONE);
        first = fake_instance(app, "track_event")->id;
        for (unsigned i = 0; i < 5; i++)
                fixture_free_session(fixture_start_session(&f, 1001, ONE));
        fixture_start_session(&f, 1000, ONE);
        ck_assert_uint_eq(fake_instance(app, "track_event")->id, first + 1);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("census",
          test_users_count_what_they_may_see,
          test_users_who_have_nothing_are_forgotten,
          test_the_statistics_in_a_trace_do_not_change_with_other_users,
          test_ids_do_not_tell_how_many_there_are,
          test_requests_are_counted_for_each_producer)
