/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What only the transports ask of the core: properties that they show, and who may what. */

#include <errno.h>

#include "core/model/census.h"
#include "core/model/policy.h"
#include "core/model/producer.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/session-restore.h"
#include "fixture.h"

static Fixture f;

static const Identity root = { .uid = 0 }, user = { .uid = 1000 }, other = { .uid = 1001 };

START_TEST(test_a_producer_says_what_it_is) {
        static const char *const categories[] = { "one", "two", NULL };
        static const uint8_t descriptor[] = "\x0a\x06source";
        const SourceOptions options = {
                .descriptor = descriptor,
                .n_descriptor = sizeof(descriptor) - 1,
                .categories = categories,
                .unavailable = "not now",
        };
        const ProducerOptions versioned = { .is_native = true, .version = "1.2\n" };
        FakeProducer *app, *late;
        const void *data;
        size_t n;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        late = fixture_connect_producer_with(&f, 1000, "late", NULL, &versioned);
        ck_assert_uint_gt(producer_order(app->producer), 0);
        ck_assert_uint_gt(producer_order(late->producer), producer_order(app->producer));
        ck_assert_str_eq(producer_version(app->producer), "");
        ck_assert_str_eq(producer_version(late->producer), "1.2 ");
        ck_assert_str_eq(producer_name(app->producer), "app");
        ck_assert_uint_eq(producer_identity(app->producer)->uid, 1000);
        ck_assert_uint_eq(producer_memory_bytes(app->producer), 0);

        fixture_add_source(app, "source", &options);
        ck_assert_uint_eq(producer_n_sources(app->producer), 1);
        ck_assert_str_eq(producer_source_name(app->producer, 0), "source");
        data = producer_source_descriptor(app->producer, 0, &n);
        ck_assert_uint_eq(n, options.n_descriptor);
        ck_assert_mem_eq(data, descriptor, n);
        ck_assert_str_eq(producer_source_categories(app->producer, 0)[1], "two");
        ck_assert_ptr_null(producer_source_categories(app->producer, 0)[2]);
        ck_assert_str_eq(producer_source_unavailable(app->producer, 0), "not now");
        fixture_start_session(&f, 1000, CONFIG_ONE("source"));
        ck_assert_uint_gt(producer_memory_bytes(app->producer), 0);
        fixture_deinit(&f);
}
END_TEST

/* Each flag of a DataSourceDescriptor, alone. */
START_TEST(test_flags_of_a_descriptor_are_read) {
        static const uint8_t descriptors[][8] = {
                "\x0a\x01s\x10\x01", /* will_notify_on_stop */
                "\x0a\x01s\x18\x01", /* will_notify_on_start */
                "\x0a\x01s\x20\x01", /* handles_incremental_state_clear */
                "\x0a\x01s\x48\x01", /* no_flush */
        };

        for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
                const SourceOptions options = { .descriptor = descriptors[i], .n_descriptor = 5 };
                const ProducerSource *source;
                FakeProducer *app;

                fixture_init(&f);
                app = fixture_connect_plain_producer(&f, 1000, "app", NULL);
                fixture_add_source(app, "s", &options);
                source = app->producer->sources[0];
                ck_assert_int_eq(source->tells_stop, i == 0);
                ck_assert_int_eq(source->tells_start, i == 1);
                ck_assert_int_eq(source->clears_state, i == 2);
                ck_assert_int_eq(source->no_flush, i == 3);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_sources_are_charged_for_what_they_make_the_service_keep) {
        static const char *const categories[] = { "one", "three", NULL };
        static const uint8_t descriptor[] = "\x0a\x06source";
        const SourceOptions options = {
                .descriptor = descriptor,
                .n_descriptor = sizeof(descriptor) - 1,
                .categories = categories,
                .unavailable = "not now",
        };
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        fixture_add_source(app, "source", &options);
        ck_assert_uint_eq(app->producer->sources[0]->charge.n,
                          sizeof(ProducerSource) + options.n_descriptor + 8 + 2 * sizeof(char *) +
                                  2 + 7);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_source_beyond_the_limit_of_its_user_is_refused) {
        FakeProducer *app;
        Charge charge = {};
        uint64_t max;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        max = quota_user_max(&f.service->quota, QUOTA_DESCRIPTOR_BYTES);
        ck_assert_int_eq(
                quota_charge(&f.service->quota, &charge, 1000, QUOTA_DESCRIPTOR_BYTES, max), 0);
        ck_assert_int_eq(producer_add_source(app->producer, "source", &(SourceOptions){}, f.now),
                         PRODUCER_E_LIMIT);
        ck_assert_uint_eq(producer_n_sources(app->producer), 0);
        charge_deinit(&charge);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_connections_and_messages_are_charged_to_users) {
        const uint64_t max = SERVICE_CONNECTIONS_PER_USER_MAX;
        Charge most = {}, last = {}, none = {}, messages = {};

        fixture_init(&f);
        ck_assert(service_has_connection_room(f.service, 1000, max));
        ck_assert(!service_has_connection_room(f.service, 1000, max + 1));
        ck_assert_int_eq(quota_charge(&f.service->quota, &most, 1000, QUOTA_CONNECTIONS, max - 1),
                         0);
        ck_assert_int_eq(service_charge_connection(f.service, &last, 1000), 0);
        ck_assert_int_eq(service_charge_connection(f.service, &none, 1000), QUOTA_E_EXCEEDED);
        ck_assert(!service_has_connection_room(f.service, 1000, 1));
        ck_assert(service_has_connection_room(f.service, 1001, 1));
        ck_assert_int_eq(service_charge_messages(f.service, &messages, 1000), 0);
        ck_assert_ptr_nonnull(messages.owner);
        ck_assert_uint_eq(messages.n, 0);
        ck_assert_int_eq(messages.slot, QUOTA_MESSAGE_BYTES);
        charge_deinit(&messages);
        charge_deinit(&last);
        charge_deinit(&most);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_users_count_and_own_what_is_theirs) {
        const Session *session;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_connect_producer(&f, 1000, "app", "track_event");
        session = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"))->session;
        ck_assert_uint_eq(service_n_visible_sessions(f.service, &user), 1);
        ck_assert_uint_eq(service_n_visible_sessions(f.service, &other), 0);
        ck_assert_uint_eq(service_n_visible_sessions(f.service, &root), 1);
        ck_assert_uint_eq(service_n_visible_producers(f.service, &user), 2);
        ck_assert_uint_eq(service_n_visible_producers(f.service, &other), 0);
        ck_assert(policy_owns_session(&f.info, &user, session));
        ck_assert(policy_owns_session(&f.info, &root, session));
        ck_assert(!policy_owns_session(&f.info, &other, session));
        /* A filter is for the owner as well. */
        ck_assert(policy_may_skip_filter(&f.info, &root));
        ck_assert(!policy_may_skip_filter(&f.info, &user));
        ck_assert(policy_may_start_producers(&f.info, &root));
        ck_assert(policy_may_start_producers(&f.info, &(Identity){ .uid = f.info.uid }));
        ck_assert(!policy_may_start_producers(&f.info, &user));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_the_config_of_an_instance_can_be_asked_for) {
        const FakeInstance *instance;
        FakeProducer *app;
        Bytes config = {};

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        instance = fake_instance(app, "track_event");
        ck_assert_int_eq(producer_instance_config(app->producer, instance->id, &config), 0);
        ck_assert_uint_eq(config.n, instance->n_config);
        ck_assert_mem_eq(config.data, instance->config, config.n);
        ck_assert_int_eq(producer_instance_config(app->producer, instance->id + 1, &config),
                         -ENOENT);
        bytes_deinit(&config);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_changed_instances_are_told_once_they_have_settled) {
        FakeProducer *slow;
        InstanceInfo info;
        Session *session;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "quick", "track_event");
        slow = fixture_connect_producer(&f, 1000, "slow", "track_event");
        slow->acks_start = false;
        session = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"))->session;
        ck_assert(session_take_changed_instance(session, &info));
        ck_assert_str_eq(info.producer, "quick");
        ck_assert_int_eq(info.state, INSTANCE_STARTED);
        ck_assert(!session_take_changed_instance(session, &info));
        producer_source_started(slow->producer, fake_instance(slow, "track_event")->id, f.now);
        ck_assert(session_take_changed_instance(session, &info));
        ck_assert_str_eq(info.producer, "slow");
        ck_assert(!session_take_changed_instance(session, &info));
        session_stop(session, "requested", f.now);
        fixture_settle(&f);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert(session_take_changed_instance(session, &info));
                ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        }
        ck_assert(!session_take_changed_instance(session, &info));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_sources_that_nobody_has_are_missing) {
        static const char *const wanted[] = { "b", "a", "c", "d" };
        InstanceCursor cursor = {};
        InstanceInfo info;
        Session *session;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "b");
        session = fixture_start_session(&f,
                                        1000,
                                        CONFIG_ONE("a") "data_sources { config { name: \"b\" } } "
                                                        "data_sources { config { name: \"c\" } } "
                                                        "data_sources { config { name: \"d\" } } ")
                          ->session;
        ck_assert_uint_eq(session_n_instances(session), 4);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                ck_assert(session_next_instance(session, &cursor, &info));
                ck_assert_str_eq(info.source, wanted[i]);
                ck_assert_str_eq(info.producer, i == 0 ? "app" : "");
                ck_assert_int_eq(info.state, i == 0 ? INSTANCE_STARTED : INSTANCE_MISSING);
        }
        ck_assert(!session_next_instance(session, &cursor, &info));
        fixture_deinit(&f);
}
END_TEST

/* For a transport that makes room and tries again. */
START_TEST(test_a_refusal_says_whether_room_would_help) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_ne(fixture_try_session(&f, &consumer, &options, "buffers { } "), 0);
        ck_assert(!consumer->error.is_quota);
        for (unsigned i = 0; i < SERVICE_SESSIONS_PER_USER_MAX; i++)
                fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(fixture_try_session(&f, &consumer, &options, CONFIG_ONE("track_event")),
                         SESSION_E_LIMIT);
        ck_assert(consumer->error.is_quota);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_properties_of_a_session) {
        int index_fd, segments_fd;
        Session *session;

        fixture_init(&f);
        session =
                fixture_start_session(&f,
                                      1000,
                                      CONFIG_ONE("track_event") "trigger_config { trigger_mode: "
                                                                "STOP_TRACING trigger_timeout_ms: "
                                                                "60000 triggers { name: \"a\" } }")
                        ->session;
        ck_assert_int_eq(session_trigger_mode(session), TRIGGER_MODE_STOP);
        ck_assert(!session_is_deferred(session));
        session_set_detached(session, true);
        ck_assert(session_options(session)->detached);
        session_set_detached(session, false);
        ck_assert(!session_options(session)->detached);
        ck_assert_uint_eq(session_ends_at(session), f.now + 60 * S);
        ck_assert_uint_eq(session_cloned_from(session), 0);
        ck_assert(!session_can_be_left(session));
        ck_assert(!session_buffer_files(session, 0, &index_fd, &segments_fd)); /* it is not kept */
        session = fixture_start_session(&f, 1000, CONFIG_ONE("track_event") "deferred_start: true")
                          ->session;
        ck_assert_int_eq(session_trigger_mode(session), TRIGGER_MODE_NONE);
        ck_assert(session_is_deferred(session));
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("transport-side",
          test_a_producer_says_what_it_is,
          test_flags_of_a_descriptor_are_read,
          test_sources_are_charged_for_what_they_make_the_service_keep,
          test_a_source_beyond_the_limit_of_its_user_is_refused,
          test_connections_and_messages_are_charged_to_users,
          test_users_count_and_own_what_is_theirs,
          test_the_config_of_an_instance_can_be_asked_for,
          test_changed_instances_are_told_once_they_have_settled,
          test_all_sources_that_nobody_has_are_missing,
          test_a_refusal_says_whether_room_would_help,
          test_properties_of_a_session)
