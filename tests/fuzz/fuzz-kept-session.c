/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The state of a session that another process has left, in which anything may be said: it is refused, or the session
 * goes on, comes to its end like any other, and can be left and found again.
 */

#include <fcntl.h>

#include "core/session-restore.h"
#include "fuzz-quiet-world.h"
#include "fuzz.h"
#include "keep/kept-state.h"
#include "shared/fd.h"

#define S       UINT64_C(1000000000)
#define SECONDS 90

static const char *const configs[] = {
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } duration_ms: "
        "60000",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "deferred_start: true",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } trigger_config "
        "{ trigger_mode: "
        "START_TRACING trigger_timeout_ms: 20000 triggers { name: \"go\" stop_delay_ms: 5000 } }",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } trigger_config "
        "{ trigger_mode: "
        "CLONE_SNAPSHOT trigger_timeout_ms: 20000 triggers { name: \"go\" stop_delay_ms: 5000 } }",
};

typedef struct World {
        uint64_t now; /* first: the quiet world's userdata */
        Service *service;
        FormerBuffer files;
} World;

static void on_changed(void *peer) {
}

static void on_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
}

static void on_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        session_free(clone);
}

static void on_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
}

static const SessionOps ops = {
        .changed = on_changed,
        .output_due = on_changed,
        .triggered = on_triggered,
        .snapshot_taken = on_snapshot_taken,
        .snapshot_failed = on_snapshot_failed,
};

static void world_init(World *world, uint64_t now) {
        static const ServiceInfo info = { .uid = 990, .version = "fuzz" };

        world->now = now;
        FUZZ_CHECK(service_new(&world->service, &info, &fuzz_service_ops, world, now) == 0);
}

static void world_make_files(World *world) {
        TraceBuffer *buffer;
        int index_fd, segments_fd;

        FUZZ_CHECK(trace_buffer_new_kept(&buffer, 128u << 10, 0, TRACE_BUFFER_RING) == 0);
        FUZZ_CHECK(trace_buffer_files(buffer, &index_fd, &segments_fd));
        world->files = (FormerBuffer){
                .index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                .segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        trace_buffer_leave(buffer);
}

static int
world_restore(World *world, Session **ret, const char *text, const void *past, size_t n_past) {
        static const SessionOptions options = { .owner = { .uid = 1000 },
                                                .detached = true,
                                                .is_kept = true };
        SessionFormer former = {
                .id = 7,
                .started_at = 1 * S,
                .left_at = 2 * S,
                .buffers = &world->files,
                .n_buffers = 1,
                .past = past,
                .n_past = n_past,
        };
        SessionError error = {};
        ConfigError why;
        Config *config;
        int r;

        FUZZ_CHECK(config_new_from_text(&config, text, &why) == 0);
        r = session_restore(
                ret, world->service, config, &options, &ops, NULL, &former, &error, world->now);
        if (r != 0)
                config_free(config);
        return r;
}

static void read_some(World *world, Session *session) {
        Bytes trace = {};
        bool more;

        FUZZ_CHECK(session_read(session, 64u << 10, &trace, &more, world->now) == 0);
        bytes_deinit(&trace);
}

static void live(World *world, Session *session, unsigned n_seconds) {
        for (unsigned i = 0; i < n_seconds; i++) {
                world->now += S;
                service_tick(world->service, world->now);
                if (i % 16 == 0)
                        read_some(world, session);
        }
}

/* It has said itself what it was, so that is believed. */
static void leave_and_find(World *world, Session *session, const char *text) {
        const SessionState state = session_state(session);
        int index_fd, segments_fd;
        Bytes past = {};

        FUZZ_CHECK(session_put_past(session, &past) == 0);
        FUZZ_CHECK(session_buffer_files(session, 0, &index_fd, &segments_fd));
        world->files.index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3);
        world->files.segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3);
        session_leave(session);
        session_free(session);
        service_free(world->service);
        world_init(world, world->now);
        FUZZ_CHECK(world_restore(world, &session, text, past.data, past.n) == 0);
        FUZZ_CHECK(session_state(session) == state || state == SESSION_STARTING);
        bytes_deinit(&past);
        live(world, session, SECONDS);
        session_stop(session, "requested", world->now);
        live(world, session, SECONDS);
        FUZZ_CHECK(session_state(session) == SESSION_STOPPED);
        session_free(session);
}

/* The record as it is written, with one byte of the file another: all of it is there, or none. */
static bool pass_on(const uint8_t *past, size_t n_past, unsigned where, unsigned how) {
        const KeptSession session = { .id = 7, .n_past = (uint32_t)n_past };
        KeptSession found;
        KeptState state;
        uint8_t *bytes = NULL;
        int r;

        FUZZ_CHECK(kept_state_new(&state) == 0);
        FUZZ_CHECK(kept_state_write(&state, &session, NULL, past) == 0);
        ((uint8_t *)state.head)[where % (72u << 10)] ^= (uint8_t)how;
        r = kept_state_read(&state, &found, &bytes);
        FUZZ_CHECK(r == 0 || r == KEPT_STATE_E_BROKEN);
        if (r == 0)
                FUZZ_CHECK(found.n_past == n_past && memcmp(bytes, past, n_past) == 0);
        free(bytes);
        kept_state_deinit(&state);
        return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        const char *text = configs[fuzz_take(&input) % ARRAY_SIZE(configs)];
        const unsigned where = fuzz_take_16(&input) + 2u * fuzz_take(&input),
                       how = fuzz_take(&input);
        Session *session;
        World world = {};

        if (!pass_on(input.at, input.n_left, where, how))
                return 0;
        world_init(&world, 10 * S);
        world_make_files(&world);
        if (world_restore(&world, &session, text, input.at, input.n_left) == 0) {
                live(&world, session, SECONDS / 3);
                leave_and_find(&world, session, text);
        }
        fd_close(world.files.index_fd);
        fd_close(world.files.segments_fd);
        service_free(world.service);
        return 0;
}
