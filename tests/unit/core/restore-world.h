/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A session with a packet, whose service goes, and the service that comes after it. */

#include <fcntl.h>

#include "core/session-restore.h"
#include "fixture.h"

static Fixture f;

#define RECORDER CONFIG_ONE("track_event") "duration_ms: 10000 "

static const SessionOptions kept = {
        .owner = { .uid = 1000 },
        .detached = true,
        .is_kept = true,
};

/* What the next service finds of it. */
static inline SessionFormer leave(FakeConsumer *consumer, FormerBuffer *ret_buffer) {
        static Bytes past; /* of one session at a time */

        const Session *session = consumer->session;
        SessionFormer former = {
                .id = session_id(session),
                .uuid = { session_uuid(session)[0], session_uuid(session)[1] },
                .started_at = session_started_at(session),
                .cloned_from = session_cloned_from(session),
                .left_at = f.now,
                .buffers = ret_buffer,
                .n_buffers = 1,
        };
        int index_fd, segments_fd;

        ck_assert(session_can_be_left(session));
        ck_assert(session_buffer_files(session, 0, &index_fd, &segments_fd));
        *ret_buffer = (FormerBuffer){
                .index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                .segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        bytes_clear(&past);
        ck_assert_int_eq(session_put_past(session, &past), 0);
        former.past = past.data;
        former.n_past = past.n;
        session_leave(consumer->session);
        return former;
}

static Session *snapshot_taken;

static inline void on_changed(void *peer) {
}

static inline void on_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
}

static inline void on_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        static const SessionOps ops = { .changed = on_changed };

        session_adopt(clone, &ops, NULL);
        snapshot_taken = clone;
}

static inline int restore_as(Session **ret, SessionFormer *former, const char *text) {
        static const SessionOps ops = { .changed = on_changed,
                                        .triggered = on_triggered,
                                        .snapshot_taken = on_snapshot_taken };
        SessionError error = {};
        ConfigError why;
        Config *config;
        int r;

        ck_assert_int_eq(config_new_from_text(&config, text, &why), 0);
        r = session_restore(ret, f.service, config, &kept, &ops, NULL, former, &error, f.now);
        if (r != 0)
                config_free(config);
        return r;
}

static inline int restore(Session **ret, SessionFormer *former) {
        return restore_as(ret, former, RECORDER);
}

/* The service goes with all that it has, and after a while another one comes. */
static inline void replace_service(uint64_t away_ns) {
        const uint64_t now = f.now + away_ns;

        fixture_deinit(&f);
        fixture_init(&f);
        ck_assert_uint_le(f.now, now);
        fixture_advance(&f, now - f.now);
}

static inline Bytes read_session(Session *session) {
        FakeConsumer consumer = { .session = session };

        return fixture_read(&f, &consumer);
}

/* A session of this config with a packet, a second old. */
static inline FakeConsumer *record(const char *config) {
        FakeProducer *producer;
        FakeConsumer *consumer;
        SmbWriter *writer;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(&f, &kept, config);
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write(writer, "before");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        free(writer);
        return consumer;
}

/* A recorder with a packet, whose service is gone; and what the next one finds. */
static inline SessionFormer record_and_leave(FormerBuffer *ret_buffer) {
        FakeConsumer *consumer = record(RECORDER);

        return leave(consumer, ret_buffer);
}
