/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the other transport is told of sessions of the consumer port, and what the peer itself is told of its own. */

#include <stdio.h>

#include "consumer-world.h"

#define TRIGGERED                                                           \
        CONFIG_ONE("com.example")                                           \
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms:" \
        " 60000 triggers { name: \"jank\" } }"

/* What is shown of a session. */
typedef struct Shown {
        const Session *session;
        const SessionStream *stream;
        unsigned n_changed, n_started, n_ended, n_triggered, n_snapshots;
        const struct Shown *snapshot;
        uid_t uid;
        char texts[64];
        bool is_gone;
} Shown;

static Shown shown[8];
static size_t n_shown;

static void *on_came(void *userdata, Session *session, const SessionStream *stream) {
        Shown *object = &shown[n_shown++];

        *object = (Shown){ .session = session, .stream = stream };
        return object;
}

static void on_changed(void *userdata) {
        Shown *object = userdata;

        object->n_changed++;
}

static void on_source(void *userdata, const InstanceInfo *info) {
        Shown *object = userdata;

        ck_assert_str_eq(info->producer, "app");
        ck_assert_str_eq(info->source, "com.example");
        object->n_started += info->state == INSTANCE_STARTED;
        object->n_ended += info->state == INSTANCE_STOPPED;
}

static void on_triggered(void *userdata, const char *trigger, const char *producer, uid_t uid) {
        Shown *object = userdata;

        object->n_triggered++;
        object->uid = uid;
        snprintf(object->texts, sizeof(object->texts), "%s by %s", trigger, producer);
}

static void on_snapshot(void *userdata, void *snapshot, const char *trigger) {
        Shown *object = userdata;

        ck_assert_str_eq(trigger, "jank");
        object->n_snapshots++;
        object->snapshot = snapshot;
}

static void on_goes(void *userdata) {
        Shown *object = userdata;

        ck_assert(!object->is_gone);
        ck_assert_uint_gt(session_id(object->session), 0); /* it is still there */
        object->is_gone = true;
}

static const PortsObserver observer = {
        .session_came = on_came,
        .session_changed = on_changed,
        .session_source = on_source,
        .session_triggered = on_triggered,
        .session_snapshot = on_snapshot,
        .session_goes = on_goes,
};

static void begin_observed(void) {
        n_shown = 0;
        world_init_observed(&observer);
}

static void record(const char *config) {
        world_enable(&consumer, config, -1);
        world_run(&consumer);
}

START_TEST(test_a_session_is_shown_until_it_goes) {
        begin_observed();
        record(CONFIG_ONE("com.example"));
        ck_assert_uint_eq(n_shown, 1);
        ck_assert_ptr_eq(shown[0].session, service_next_session(f.service, NULL));
        ck_assert_ptr_nonnull(shown[0].stream);
        ck_assert_uint_eq(shown[0].n_started, 1);
        ck_assert_uint_eq(shown[0].n_ended, 0);
        ck_assert_uint_gt(shown[0].n_changed, 0);
        shown[0].n_changed = 0;
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        world_run(&consumer);
        ck_assert_uint_gt(shown[0].n_changed, 0);
        ck_assert_uint_eq(shown[0].n_ended, 1);
        ck_assert(!shown[0].is_gone);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FREE));
        ck_assert(shown[0].is_gone);
        world_deinit();
}
END_TEST

START_TEST(test_a_snapshot_of_a_trigger_is_shown_as_one) {
        begin_observed();
        record(TRIGGERED);
        ck_assert_uint_eq(fake_trigger(app, "jank"), 1);
        world_run(&consumer);
        ck_assert_uint_eq(shown[0].n_triggered, 1);
        ck_assert_str_eq(shown[0].texts, "jank by app");
        ck_assert_uint_eq(shown[0].uid, getuid());
        ck_assert_uint_eq(n_shown, 2);
        ck_assert_uint_eq(shown[0].n_snapshots, 1);
        ck_assert_ptr_eq(shown[0].snapshot, &shown[1]);
        ck_assert_uint_eq(shown[1].n_snapshots, 0);
        ck_assert_ptr_ne(shown[0].session, shown[1].session);
        world_deinit();
        ck_assert(shown[0].is_gone && shown[1].is_gone);
}
END_TEST

/* An observer may not want to show a session, or none at all. */
static void *on_came_unwanted(void *userdata, Session *session, const SessionStream *stream) {
        return NULL;
}

START_TEST(test_what_is_not_to_be_shown_is_not_spoken_of) {
        static const PortsObserver unwilling = {
                .session_came = on_came_unwanted,
                .session_changed = on_changed,
                .session_source = on_source,
                .session_triggered = on_triggered,
                .session_snapshot = on_snapshot,
                .session_goes = on_goes,
        };
        static const PortsObserver of_producers_alone = {};
        const PortsObserver *const observers[] = { &unwilling, &of_producers_alone };

        for (size_t i = 0; i < ARRAY_SIZE(observers); i++) {
                world_init_observed(observers[i]);
                record(TRIGGERED);
                ck_assert_uint_eq(fake_trigger(app, "jank"), 1);
                world_run(&consumer);
                ck_assert_uint_eq(service_n_sessions(f.service), 2);
                world_deinit();
        }
}
END_TEST

/*
 * ObserveEvents
 */

/* Of one event of its kind: the field of it, or 0. */
static size_t count_instances(uint64_t request, const char *producer, uint64_t state) {
        size_t n = 0;

        for (size_t i = 0; i < consumer_n_replies(&consumer, request); i++) {
                const ConsumerReply *reply = consumer_reply(&consumer, request, i);
                ConsumerReply inner = {};
                WireField field, name, value;

                if (!consumer_reply_field(reply, 1, &field))
                        continue;
                inner.data = (Bytes){ .data = (uint8_t *)field.data, .n = field.n_bytes };
                if (!consumer_reply_field(&inner, 1, &field))
                        continue;
                inner.data = (Bytes){ .data = (uint8_t *)field.data, .n = field.n_bytes };
                ck_assert(consumer_reply_field(&inner, 1, &name));
                ck_assert(consumer_reply_field(&inner, 3, &value));
                n += name.n_bytes == strlen(producer) &&
                     memcmp(name.data, producer, name.n_bytes) == 0 && value.value == state;
        }
        return n;
}

static uint64_t observe(unsigned events) {
        wire_put_uint(consumer_message(&consumer), 1, events);
        return consumer_call(&consumer, CONSUMER_OBSERVE);
}

enum { EVENT_INSTANCES = 1, STATE_STOPPED = 1, STATE_STARTED = 2 };

/* And of a source that nobody has, nothing. */
CONSUMER_WORLD_TEST(test_a_later_observer_is_told_what_has_started_already) {
        uint64_t request;

        record(CONFIG_ONE("com.example") "data_sources { config { name: \"nobody's\" } }");
        request = observe(EVENT_INSTANCES);
        world_run(&consumer);
        ck_assert_uint_eq(consumer_n_replies(&consumer, request), 1);
        ck_assert_uint_eq(count_instances(request, "app", STATE_STARTED), 1);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        world_run(&consumer);
        ck_assert_uint_eq(count_instances(request, "app", STATE_STOPPED), 1);
}

/* Packed numbers, and fields of other kinds, which mean nothing. */
CONSUMER_WORLD_TEST(test_the_events_may_come_packed) {
        static const uint8_t both[] = { 1, 2 }, cut[] = { 0x80 };
        uint64_t request;

        wire_put_string(consumer_message(&consumer), 2, "unknown");
        wire_put_bytes(&consumer.message, 1, both, sizeof(both));
        request = consumer_call(&consumer, CONSUMER_OBSERVE);
        record(CONFIG_ONE("com.example"));
        ck_assert_uint_eq(count_instances(request, "app", STATE_STARTED), 1);
        ck_assert_uint_eq(consumer_n_replies(&consumer, request), 2); /* and that all have */
        wire_put_bytes(consumer_message(&consumer), 1, cut, sizeof(cut));
        consumer_call(&consumer, CONSUMER_OBSERVE);
        world_run(&consumer);
        ck_assert(consumer.is_closed);
}

CONSUMER_WORLD_TEST(test_that_all_have_started_is_told_once) {
        const uint64_t request = observe(2);

        record(CONFIG_ONE("com.example"));
        ck_assert_uint_eq(consumer_n_replies(&consumer, request), 1);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FLUSH));
        fixture_connect_producer(&f, getuid(), "late", "com.example");
        world_run(&consumer);
        ck_assert_uint_eq(consumer_n_replies(&consumer, request), 1);
}

TEST_MAIN("consumer-observer",
          test_a_session_is_shown_until_it_goes,
          test_a_snapshot_of_a_trigger_is_shown_as_one,
          test_what_is_not_to_be_shown_is_not_spoken_of,
          test_a_later_observer_is_told_what_has_started_already,
          test_the_events_may_come_packed,
          test_that_all_have_started_is_told_once)
