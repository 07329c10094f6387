/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn, in what is asked of a session that records: each call fails as a whole or goes
 * on with what there is, what it could not make is not charged, and the same call works when there is memory again.
 */

#include "core/session-restore.h"
#include "tight-world.h"

static Session *start_session_with(Config *config) {
        Session *session;

        ck_assert_int_eq(try_session(&session, config, 1000), 0);
        ck_assert_int_eq(session_start(session, f.now), 0);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        return session;
}

static Session *start_session(void) {
        return start_session_with(config_new());
}

/* DataSourceDescriptor with a name, and a category of track events. */
static const uint8_t descriptor[] = "\x0a\x05other\x32\x05\x0a\x03\x0a\x01y";

START_TEST(test_source_is_there_as_a_whole_or_not_at_all) {
        static const char *const categories[] = { "one", "two", NULL };
        const SourceOptions options = {
                .descriptor = descriptor,
                .n_descriptor = sizeof(descriptor) - 1,
                .categories = categories,
                .unavailable = "not now",
        };
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                FakeProducer *app = start();
                const Held before = held_now();
                int r;

                arm(i);
                r = producer_add_source(app->producer, "other", &options, f.now);
                has_ended = !disarm();
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert_uint_eq(app->producer->n_sources, has_ended ? 2 : 1);
                if (r != 0)
                        assert_held(&before);
                n_failed += r != 0;
                ck_assert_int_eq(producer_add_source(app->producer, "other", &options, f.now), 0);
                ck_assert_uint_eq(app->producer->n_sources, 2);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 5);
}
END_TEST

/* Whatever of it cannot be kept, the session takes the next one. */
START_TEST(test_trigger_is_taken_or_not) {
        const TriggerSender sender = { .identity = { .uid = 1000 }, .producer = "bee" };
        static const char *const names[] = { "a" };
        unsigned n_missed = 0, n_refused = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Session *session;
                size_t n;
                int r;

                start();
                session = start_session();
                n_snapshots = n_snapshots_failed = 0;
                arm(i);
                r = service_activate_triggers(f.service, &sender, names, 1, &n, f.now);
                has_ended = !disarm();
                ck_assert(r == 0 || (r == TRIGGER_E_LIMIT && n == 0));
                n_refused += r != 0; /* nothing remembers how many were sent */
                fixture_advance(&f, 1 * S);
                ck_assert_uint_le(n_snapshots + n_snapshots_failed, 1);
                n_missed += n_snapshots == 0;
                ck_assert(n_snapshots == 1 || !has_ended);

                n_snapshots = 0;
                r = service_activate_triggers(f.service, &sender, names, 1, &n, f.now);
                ck_assert_int_eq(r, 0);
                ck_assert_uint_eq(n, 1);
                fixture_advance(&f, 1 * S);
                ck_assert_uint_eq(n_snapshots, 1);
                ck_assert_int_eq(session_state(session), SESSION_STARTED);
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_missed, 4);
        ck_assert_uint_eq(n_refused, 1);
}
END_TEST

/* A session with packets of two writers, which can be read: one with snapshots is read in these alone. */
static Session *record(FakeProducer *app) {
        Session *session = start_session_with(config_new_with(""));

        for (unsigned i = 0; i < 2; i++) {
                SmbWriter *writer = fake_writer_new(app, fake_instance(app, "track_event"));

                fake_write(writer, "hello");
                free(writer);
        }
        fake_ring(app);
        return session;
}

static int read_all(Session *session, Bytes *out) {
        bool more = true;
        int r = 0;

        while (r == 0 && more)
                r = session_read(session, 4096, out, &more, f.now);
        return r;
}

START_TEST(test_read_fails_or_has_everything) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                FakeProducer *app = start();
                Session *session = record(app);
                Bytes trace = {};
                int r;

                fixture_settle(&f);
                arm(i);
                r = read_all(session, &trace);
                has_ended = !disarm();
                ck_assert(r == 0 || (r == -ENOMEM && !has_ended));
                n_failed += r != 0;
                if (r == 0)
                        ck_assert_uint_eq(trace_count(&trace, FIXTURE_TEXT_FIELD), 2);
                bytes_deinit(&trace);
                ck_assert_int_eq(session_state(session), SESSION_STARTED);
                session_free(session);
                assert_goes_on();
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 3);
}
END_TEST

START_TEST(test_statistics_fail_or_are_whole) {
        Bytes whole = {};
        FakeProducer *app = start();
        Session *session = record(app);
        bool has_ended = false;
        unsigned n_failed = 0;

        ck_assert_int_eq(session_append_stats(session, &whole), 0);
        for (unsigned i = 0; !has_ended; i++) {
                Bytes stats = {};
                int r;

                arm(i);
                r = session_append_stats(session, &stats);
                has_ended = !disarm();
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                n_failed += r != 0;
                ck_assert_uint_eq(stats.n, has_ended ? whole.n : 0);
                bytes_deinit(&stats);
        }
        ck_assert_uint_gt(n_failed, 0);
        bytes_deinit(&whole);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* The config of start_session() with one more filter. */
static Config *wider_config(void) {
        Config *config = config_new();
        char **old = config->pb->data_sources[0]->producer_name_regex_filter;
        char **filters = calloc(2, sizeof(*filters));

        ck_assert_ptr_nonnull(filters);
        filters[0] = old[0];
        filters[1] = strdup("z.*");
        free(old);
        config->pb->data_sources[0]->producer_name_regex_filter = filters;
        config->pb->data_sources[0]->n_producer_name_regex_filter = 2;
        return config;
}

START_TEST(test_config_is_changed_or_stays) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Session *session;
                Config *config;
                int r;

                start();
                session = start_session();
                config = wider_config();
                arm(i);
                r = session_change_config(session, config, &error, f.now);
                has_ended = !disarm();
                n_failed += r != 0;
                if (r != 0) {
                        ck_assert_int_eq(r, -ENOMEM);
                        ck_assert_ptr_null(session->change);
                        ck_assert_int_eq(session_change_config(session, config, &error, f.now), 0);
                }
                ck_assert_ptr_eq(session->change, config);
                ck_assert_uint_eq(session->sources[0].n_filters, 2);
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 3);
}
END_TEST

/* Those that are there stay. */
START_TEST(test_descriptor_is_there_as_a_whole_or_not_at_all) {
        static const uint8_t set[] = { 0x0a, 2, 0x0a, 0 };
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                int r;

                start();
                ck_assert_int_eq(service_add_descriptor(f.service, "one", set, sizeof(set), false),
                                 0);
                arm(i);
                r = service_add_descriptor(f.service, "two", set, sizeof(set), false);
                has_ended = !disarm();
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert(service_has_descriptor(f.service, "one"));
                ck_assert(service_has_descriptor(f.service, "two") == has_ended);
                n_failed += r != 0;
                fixture_deinit(&f);
        }
        ck_assert_uint_eq(n_failed, 3);
}
END_TEST

TEST_MAIN("out-of-memory-calls",
          test_source_is_there_as_a_whole_or_not_at_all,
          test_descriptor_is_there_as_a_whole_or_not_at_all,
          test_trigger_is_taken_or_not,
          test_read_fails_or_has_everything,
          test_statistics_fail_or_are_whole,
          test_config_is_changed_or_stays)
