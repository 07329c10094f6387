/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Matching, which producers take part: names, filters, users, late producers, producers that must be started first. */

#include "core/model/session.h"
#include "fixture.h"

static Fixture f;

#define PROBES_UID 991

static FakeConsumer *start_system(const char *config) {
        return fixture_start_session_with(
                &f,
                &(SessionOptions){ .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_SYSTEM },
                config);
}

static InstanceInfo instance_info(FakeConsumer *consumer, size_t i) {
        InstanceInfo info;

        ck_assert_uint_lt(i, session_n_instances(consumer->session));
        session_instance(consumer->session, i, &info);
        return info;
}

START_TEST(test_sources_match_by_exact_name) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "com.example.render");
        fixture_add_source(app, "com.example.render.extra", &(SourceOptions){});
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("com.example.render"));
        ck_assert_uint_eq(app->n_instances, 1);
        ck_assert_str_eq(app->instances[0].name, "com.example.render");
        ck_assert_uint_eq(session_n_instances(consumer->session), 1);
        ck_assert_int_eq(instance_info(consumer, 0).state, INSTANCE_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_producers_of_a_source_take_part) {
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "a", "track_event");
        fixture_connect_producer(&f, 1000, "b", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_uint_eq(session_n_instances(consumer->session), 2);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_name_filters_choose_producers) {
        FakeProducer *a, *b, *c;

        fixture_init(&f);
        a = fixture_connect_producer(&f, 1000, "compositor", "track_event");
        b = fixture_connect_producer(&f, 1000, "editor", "track_event");
        c = fixture_connect_producer(&f, 1000, "editor-helper", "track_event");
        fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 } data_sources { config { name: \"track_event\" } "
                "producer_name_filter: \"compositor\" producer_name_regex_filter: \"edit(or|ing)\" "
                "}");
        ck_assert_uint_eq(a->n_instances, 1);
        ck_assert_uint_eq(b->n_instances, 1);
        ck_assert_uint_eq(c->n_instances, 0); /* a regular expression matches the whole name */
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_late_producers_join) {
        FakeProducer *late;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_int_eq(instance_info(consumer, 0).state, INSTANCE_MISSING);
        ck_assert_str_eq(instance_info(consumer, 0).producer, "");

        fixture_advance(&f, 3 * S);
        late = fixture_connect_producer(&f, 1000, "late", "track_event");
        ck_assert(fake_instance(late, "track_event")->start_asked);
        ck_assert_int_eq(instance_info(consumer, 0).state, INSTANCE_STARTED);
        ck_assert_uint_eq(session_n_instances(consumer->session), 1);
        writer = fake_writer_new(late, fake_instance(late, "track_event"));
        fake_write(writer, "late");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "late"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_nobody_joins_what_has_stopped) {
        FakeProducer *late;
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, consumer);
        late = fixture_connect_producer(&f, 1000, "late", "track_event");
        ck_assert_uint_eq(late->n_instances, 0);
        ck_assert_ptr_null(late->memory);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_own_sessions_never_see_other_users) {
        FakeProducer *mine, *theirs, *roots;

        fixture_init(&f);
        mine = fixture_connect_producer(&f, 1000, "mine", "track_event");
        theirs = fixture_connect_producer(&f, 1001, "theirs", "track_event");
        roots = fixture_connect_producer(&f, 0, "roots", "track_event");
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_uint_eq(mine->n_instances, 1);
        ck_assert_uint_eq(theirs->n_instances, 0);
        ck_assert_uint_eq(roots->n_instances, 0);
        ck_assert_ptr_null(theirs->memory);

        start_system(CONFIG_ONE("track_event"));
        ck_assert_uint_eq(mine->n_instances, 2);
        ck_assert_uint_eq(theirs->n_instances, 1);
        ck_assert_uint_eq(roots->n_instances, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_two_sessions_do_not_mix) {
        FakeProducer *app;
        FakeConsumer *first, *second;
        FakeInstance *in_first, *in_second;
        SmbWriter *one, *two;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        first = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        in_first = fake_instance(app, "track_event");
        second = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        in_second = fake_instance(app, "track_event");
        ck_assert_uint_ne(in_first->target_buffer, in_second->target_buffer);
        ck_assert_uint_ne(in_first->id, in_second->id);
        one = fake_writer_new(app, in_first);
        two = fake_writer_new(app, in_second);
        fake_write(one, "for the first");
        fake_write(two, "for the second");
        fixture_stop_session(&f, first);
        fake_write(two, "and goes on");
        ck_assert_int_eq(session_state(second->session), SESSION_STARTED);

        trace = fixture_read(&f, first);
        ck_assert_uint_eq(trace_count_text(&trace, "for the first"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "for the second"), 0);
        bytes_deinit(&trace);
        fixture_stop_session(&f, second);
        trace = fixture_read(&f, second);
        ck_assert_uint_eq(trace_count_text(&trace, "for the first"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "for the second"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "and goes on"), 1);
        bytes_deinit(&trace);
        free(one);
        free(two);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_missing_source_is_activated_and_awaited) {
        static const char *const sources[] = { "linux.ftrace", "linux.sys_stats", NULL };
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(
                service_add_activatable(f.service, "other", (const char *[]){ "other", NULL }), 0);
        ck_assert_int_eq(service_add_activatable(f.service, "probes", sources), 0);
        ck_assert(service_can_activate(f.service, "linux.ftrace"));
        ck_assert(!service_can_activate(f.service, "linux.perf"));
        consumer = start_system(
                CONFIG_ONE("linux.ftrace") "data_sources { config { name: \"linux.sys_stats\" } }");
        ck_assert_uint_eq(f.n_activations[0], 0);
        ck_assert_uint_eq(f.n_activations[1], 1); /* once for both sources */
        fixture_advance(&f, 1 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);

        {
                FakeProducer *probes =
                        fixture_connect_producer(&f, PROBES_UID, "probes", "linux.ftrace");

                ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
                fixture_add_source(probes, "linux.sys_stats", &(SourceOptions){});
                ck_assert_uint_eq(probes->n_instances, 2);
        }
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_running_source_is_not_activated) {
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(
                                 f.service, "probes", (const char *[]){ "linux.ftrace", NULL }),
                         0);
        fixture_connect_producer(&f, PROBES_UID, "probes", "linux.ftrace");
        consumer = start_system(CONFIG_ONE("linux.ftrace"));
        ck_assert_uint_eq(f.n_activations[0], 0);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_failed_activation_says_why_and_holds_nobody) {
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(
                                 f.service, "probes", (const char *[]){ "linux.ftrace", NULL }),
                         0);
        consumer = start_system(CONFIG_ONE("linux.ftrace"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        service_activation_failed(f.service, 0, "the unit is masked", f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_int_eq(instance_info(consumer, 0).state, INSTANCE_MISSING);
        ck_assert_str_eq(instance_info(consumer, 0).why, "the unit is masked");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_activation_that_brings_nothing_is_given_up) {
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(
                                 f.service, "probes", (const char *[]){ "linux.ftrace", NULL }),
                         0);
        consumer = start_system(CONFIG_ONE("linux.ftrace"));
        fixture_advance(&f, SESSION_START_TIMEOUT_NS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_str_ne(instance_info(consumer, 0).why, "");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_activated_producer_of_another_user_is_explained) {
        FakeConsumer *consumer;
        FakeProducer *theirs;

        fixture_init(&f);
        ck_assert_int_eq(
                service_add_activatable(f.service, "extra", (const char *[]){ "extra", NULL }), 0);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("extra"));
        theirs = fixture_connect_producer(&f, 1001, "extra", "extra");
        ck_assert_uint_eq(theirs->n_instances, 0);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_ptr_nonnull(strstr(instance_info(consumer, 0).why, "another user"));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_fresh_service_waits_for_running_programs) {
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init_fresh(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, SERVICE_SETTLE_NS / 2);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert(fake_instance(app, "track_event")->start_asked);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, SERVICE_SETTLE_NS / 2);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_programs_that_come_and_go_do_not_pile_up) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        for (unsigned i = 0; i < 300; i++) {
                FakeProducer *app = fixture_connect_producer(&f, 1000, "app", "track_event");

                fixture_disconnect_producer(app);
                free(app);
                f.n_producers--;
        }
        ck_assert_uint_eq(session_n_instances(consumer->session), SESSION_GONE_MAX + 1);
        fixture_stop_session(&f, consumer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_changed_options_of_a_source_keep_its_instances) {
        static const char *const categories[] = { "render", "input", NULL };
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_ptr_null(producer_source_categories(app->producer, 0));
        fixture_add_source(
                app, "track_event", &(SourceOptions){ .categories = categories, .no_flush = true });
        ck_assert_uint_eq(producer_n_sources(app->producer), 1);
        ck_assert_str_eq(producer_source_categories(app->producer, 0)[1], "input");
        ck_assert_uint_eq(app->n_instances, 1);
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(app->n_flushes, 0);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-match",
          test_sources_match_by_exact_name,
          test_all_producers_of_a_source_take_part,
          test_name_filters_choose_producers,
          test_late_producers_join,
          test_nobody_joins_what_has_stopped,
          test_own_sessions_never_see_other_users,
          test_two_sessions_do_not_mix,
          test_missing_source_is_activated_and_awaited,
          test_running_source_is_not_activated,
          test_failed_activation_says_why_and_holds_nobody,
          test_activation_that_brings_nothing_is_given_up,
          test_activated_producer_of_another_user_is_explained,
          test_fresh_service_waits_for_running_programs,
          test_programs_that_come_and_go_do_not_pile_up,
          test_changed_options_of_a_source_keep_its_instances)
