/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A session of uid 1000 with triggers, and one program that sends them. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "fixture.h"

static Fixture f;

#define H (3600 * S)

#define CONFIG_TRIGGERS(mode, triggers) \
        CONFIG_ONE("track_event")       \
        "trigger_config { trigger_mode: " mode " " triggers " } "

#define START(triggers) CONFIG_TRIGGERS("START_TRACING trigger_timeout_ms: 10000", triggers)
#define STOP(triggers)  CONFIG_TRIGGERS("STOP_TRACING trigger_timeout_ms: 10000", triggers)
#define CLONE(triggers) CONFIG_TRIGGERS("CLONE_SNAPSHOT trigger_timeout_ms: 600000000", triggers)

static FakeProducer *app;

static inline FakeConsumer *start(const char *config) {
        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        return fixture_start_session(&f, 1000, config);
}

static inline SmbWriter *writer_new(void) {
        return fake_writer_new(app, fake_instance(app, "track_event"));
}

static inline size_t count_text_of(FakeConsumer *consumer, const char *text) {
        Bytes trace = fixture_read(&f, consumer);
        size_t n = trace_count_text(&trace, text);

        bytes_deinit(&trace);
        return n;
}

static inline size_t bytes_of(FakeConsumer *consumer) {
        Bytes trace = fixture_read(&f, consumer);
        size_t n = trace.n;

        bytes_deinit(&trace);
        return n;
}

/* "name producer uid delay" of the nth trigger packet. */
static inline const char *trigger_text(const Bytes *trace, uint32_t number, size_t nth) {
        TestPacket packet = trace_packet(trace, number, nth), message;
        static char text[128];
        WireField field, name, producer;

        ck_assert(packet_field(&packet, number, &field));
        message = (TestPacket){ .data = field.data, .n = field.n_bytes };
        ck_assert(packet_field(&message, 1, &name) && packet_field(&message, 2, &producer));
        snprintf(text,
                 sizeof(text),
                 "%.*s %.*s %u %u",
                 (int)name.n_bytes,
                 (const char *)name.data,
                 (int)producer.n_bytes,
                 (const char *)producer.data,
                 (unsigned)packet_uint(&message, 3),
                 (unsigned)packet_uint(&message, 4));
        return text;
}
