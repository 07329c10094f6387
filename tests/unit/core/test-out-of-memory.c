/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn: whatever of a session, a start or a clone cannot be made is taken back, nothing
 * stays charged, and the service goes on. A leak is for the sanitizers to find.
 */

#include "core/filter-bytecode.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "failing-allocator.h"
#include "fixture.h"

static Fixture f;

static void on_nothing(void *peer) {
}

static void on_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
}

static const SessionOps ops = {
        .changed = on_nothing,
        .output_due = on_nothing,
        .triggered = on_triggered,
};

/* Something of everything that is made for a session. */
static const char config_text[] =
        "buffers { size_kb: 64 } buffers { size_kb: 64 transfer_on_clone: true } "
        "data_sources { config { name: \"track_event\" } producer_name_regex_filter: \"a.*\" } "
        "data_sources { config { name: \"track_event\" target_buffer: 1 } } "
        "data_sources { config { name: \"desktrace.self\" } } "
        "unique_session_name: \"tight\" enable_extra_guardrails: true flush_period_ms: 1 "
        "builtin_data_sources { enable_concurrent_session_events: true } "
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 "
        "triggers { name: \"a\" producer_name_regex: \"b.*\" } } "
        "trace_filter { string_filter_chain { rules { policy: SFP_MATCH_REDACT_GROUPS "
        "regex_pattern: \"(secret).*\" atrace_payload_starts_with: \"b\" name: \"c\" } } ";

/* With a filter that keeps strings, whose bytecode is written in octal. */
static Config *config_new(void) {
        const uint32_t words[] = {
                OP(1, OP_NESTED), 1, OP_END, OP(FIXTURE_TEXT_FIELD, OP_STRING), OP_END,
        };
        ConfigError why;
        Config *config;
        uint8_t code[32];
        size_t n = bytecode_put(code, sizeof(code), words, ARRAY_SIZE(words));
        char text[4096], *at = stpcpy(stpcpy(text, config_text), "bytecode_v2: \"");
        int r;

        for (size_t i = 0; i < n; i++)
                at += sprintf(at, "\\%03o", code[i]);
        strcpy(at, "\" }");
        r = config_new_from_text(&config, text, &why);

        ck_assert_msg(r == 0, "%s", why.message);
        return config;
}

static SessionError error;

static int try_session(Session **ret, Config *config, uid_t uid) {
        const SessionOptions options = { .owner = { .uid = uid }, .scope = SESSION_SCOPE_SYSTEM };

        return session_new(ret, f.service, config, &options, &ops, NULL, &error, f.now);
}

/* A user whose programs are connected, and whose memory is there: the fake peers allocate as they like. */
static FakeProducer *start(void) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_free_session(fixture_start_session(&f, 1000, CONFIG_ONE("track_event")));
        return app;
}

typedef struct Held {
        size_t n_sessions, n_buffers;
        uint64_t n_charged[_QUOTA_SLOT_N];
} Held;

static Held held_now(void) {
        Held held = {
                .n_sessions = f.service->n_sessions,
                .n_buffers = f.service->n_buffers,
        };

        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++)
                held.n_charged[slot] = f.service->quota.used[slot];
        if (f.service->self) /* which stays, with its source, once a session has wanted it */
                held.n_charged[QUOTA_DESCRIPTOR_BYTES] -= sizeof(ProducerSource);
        return held;
}

static void assert_held(const Held *before) {
        const Held held = held_now();

        ck_assert_uint_eq(held.n_sessions, before->n_sessions);
        ck_assert_uint_eq(held.n_buffers, before->n_buffers);
        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++)
                ck_assert_msg(held.n_charged[slot] == before->n_charged[slot],
                              "slot %d: %llu, was %llu",
                              (int)slot,
                              (unsigned long long)held.n_charged[slot],
                              (unsigned long long)before->n_charged[slot]);
}

/* The user's next session is made and records. */
static void assert_goes_on(void) {
        FakeConsumer *consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));

        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_stop_session(&f, consumer);
        fixture_free_session(consumer);
}

/* Each source knows how many programs record for it, also when one of them could not join. */
static void assert_counts(const Session *session) {
        size_t n = 0;

        for (size_t i = 0; i < session->n_sources; i++)
                n += session->sources[i].n_instances;
        ck_assert_uint_eq(n, session->n_instances);
}

static void make_at_each_place(uid_t uid) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Config *config = config_new();
                Session *session = NULL;
                Held before;
                int r;

                start();
                before = held_now();
                arm(i);
                r = try_session(&session, config, uid);
                has_ended = !disarm();
                ck_assert_msg(r <= 0, "%s", error.message);
                if (r == 0) {
                        assert_counts(session);
                        session_free(session);
                        before.n_charged[QUOTA_RECENT_SESSIONS] =
                                held_now().n_charged[QUOTA_RECENT_SESSIONS];
                } else {
                        ck_assert_int_eq(r, -ENOMEM);
                        ck_assert_ptr_null(session);
                        config_free(config);
                        n_failed++;
                }
                assert_held(&before);
                assert_goes_on();
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 20);
}

START_TEST(test_session_that_cannot_be_made_leaves_nothing_behind) {
        make_at_each_place(1000);
}
END_TEST

START_TEST(test_first_thing_of_a_user_that_cannot_be_made_leaves_nothing_behind) {
        make_at_each_place(1001);
}
END_TEST

/* The program reports that its sources have started, and the service does what is due then. */
static void answer_start(FakeProducer *app) {
        for (size_t i = 0; i < app->n_to_start; i++)
                producer_source_started(app->producer, app->to_start[i], f.now);
        app->n_to_start = 0;
        service_tick(f.service, f.now);
}

START_TEST(test_start_goes_on_with_what_there_is) {
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Session *session;
                FakeProducer *app = start();
                Held before = held_now();
                int r;

                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                arm(i);
                r = session_start(session, f.now);
                answer_start(app);
                has_ended = !disarm();
                ck_assert_int_eq(r, 0);
                fixture_settle(&f);
                ck_assert_int_eq(session_state(session), SESSION_STARTED);
                session_stop(session, "requested", f.now);
                fixture_settle(&f);
                ck_assert_int_eq(session_state(session), SESSION_STOPPED);
                session_free(session);
                before.n_charged[QUOTA_RECENT_SESSIONS]++;
                assert_held(&before);
                assert_goes_on();
                fixture_deinit(&f);
        }
}
END_TEST

static void on_flushed(void *userdata, int outcome) {
        ++*(unsigned *)userdata;
}

START_TEST(test_flush_is_refused_or_answered_once) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                unsigned n_replies = 0;
                Session *session;
                Held before;
                int r;

                start();
                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                ck_assert_int_eq(session_start(session, f.now), 0);
                fixture_settle(&f);
                before = held_now();
                arm(i);
                r = session_flush(session, 0, 0, on_flushed, &n_replies, f.now);
                has_ended = !disarm();
                fixture_settle(&f);
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert_uint_eq(n_replies, r == 0);
                n_failed += r != 0;
                assert_held(&before);
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 2);
}
END_TEST

typedef struct Reply {
        unsigned n;
        int outcome;
        Session *clone;
} Reply;

static void on_cloned(void *userdata, int outcome, Session *clone) {
        Reply *reply = userdata;

        reply->n++;
        reply->outcome = outcome;
        reply->clone = clone;
        if (clone)
                session_adopt(clone, &ops, NULL);
}

/* Of a session that records, whose clone waits for a flush; or that has stopped. */
static void clone_at_each_place(bool is_stopped) {
        const CloneOptions options = { .owner = { .uid = 1000 }, .name = "clone" };
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Reply reply = {};
                Session *session;
                FakeProducer *app = start();
                Held before;
                int r;

                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                ck_assert_int_eq(session_start(session, f.now), 0);
                fixture_settle(&f);
                if (is_stopped)
                        session_stop(session, "requested", f.now);
                fixture_settle(&f);
                before = held_now();

                arm(i);
                r = session_clone(session, &options, on_cloned, &reply, &error, f.now);
                for (uint64_t n = 2; r == 0 && !is_stopped && n > 0; n--) /* groups of buffers */
                        producer_flushed(app->producer, app->to_flush + 1 - n, f.now);
                has_ended = !disarm();
                app->to_flush = 0;
                fixture_settle(&f);
                ck_assert_uint_eq(reply.n, r == 0);
                ck_assert(r == 0 || r == -ENOMEM);
                ck_assert(reply.outcome == 0 || reply.outcome == -ENOMEM);
                n_failed += r != 0 || reply.outcome != 0;
                session_free(reply.clone);
                assert_held(&before);
                ck_assert_int_eq(session_state(session),
                                 is_stopped ? SESSION_STOPPED : SESSION_STARTED);
                assert_goes_on();
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 4);
}

START_TEST(test_clone_of_a_running_session_comes_whole_or_not_at_all) {
        clone_at_each_place(false);
}
END_TEST

START_TEST(test_clone_of_a_stopped_session_comes_whole_or_not_at_all) {
        clone_at_each_place(true);
}
END_TEST

TEST_MAIN("out-of-memory",
          test_session_that_cannot_be_made_leaves_nothing_behind,
          test_first_thing_of_a_user_that_cannot_be_made_leaves_nothing_behind,
          test_start_goes_on_with_what_there_is,
          test_flush_is_refused_or_answered_once,
          test_clone_of_a_running_session_comes_whole_or_not_at_all,
          test_clone_of_a_stopped_session_comes_whole_or_not_at_all)
