/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A service that runs out of memory when it is told to, and what it holds before and after
 *
 * To be included by one file of a test.
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

/* Snapshots of triggers, of which nobody wants to have one. */
static unsigned n_snapshots, n_snapshots_failed;

static void on_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        n_snapshots++;
        session_free(clone);
}

static void on_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        ck_assert_int_eq(outcome, -ENOMEM);
        n_snapshots_failed++;
}

static const SessionOps ops = {
        .changed = on_nothing,
        .output_due = on_nothing,
        .triggered = on_triggered,
        .snapshot_taken = on_snapshot_taken,
        .snapshot_failed = on_snapshot_failed,
};

/* Something of everything that is made for a session. */
static const char config_text[] =
        "buffers { size_kb: 64 } buffers { size_kb: 64 transfer_on_clone: true } "
        "data_sources { config { name: \"track_event\" } producer_name_regex_filter: \"a.*\" } "
        "data_sources { config { name: \"track_event\" target_buffer: 1 } } "
        "data_sources { config { name: \"desktrace.self\" } } "
        "unique_session_name: \"tight\" enable_extra_guardrails: true flush_period_ms: 1 "
        "builtin_data_sources { enable_concurrent_session_events: true } "
        "trace_filter { string_filter_chain { rules { policy: SFP_MATCH_REDACT_GROUPS "
        "regex_pattern: \"(secret).*\" atrace_payload_starts_with: \"b\" name: \"c\" } } ";

static const char triggers_text[] =
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 "
        "triggers { name: \"a\" producer_name_regex: \"b.*\" } }";

/* With a filter that keeps strings, whose bytecode is written in octal. */
static Config *config_new_with(const char *triggers) {
        const uint32_t words[] = {
                OP(1, OP_NESTED), 1, OP_END, OP(FIXTURE_TEXT_FIELD, OP_STRING), OP_END,
        };
        ConfigError why;
        Config *config;
        uint8_t code[32];
        size_t n = bytecode_put(code, sizeof(code), words, ARRAY_SIZE(words));
        char text[4096],
                *at = stpcpy(stpcpy(stpcpy(text, triggers), config_text), "bytecode_v2: \"");
        int r;

        for (size_t i = 0; i < n; i++)
                at += sprintf(at, "\\%03o", code[i]);
        strcpy(at, "\" }");
        r = config_new_from_text(&config, text, &why);

        ck_assert_msg(r == 0, "%s", why.message);
        return config;
}

static Config *config_new(void) {
        return config_new_with(triggers_text);
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
