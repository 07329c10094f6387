/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The memory of a program that another process of the service has left, in which the program may have written anything,
 * and writes on: what it had reaches the session that it wrote for, and no other. And what is said of the program, in
 * which anything may stand: it is refused, or the program goes on and comes to its end like any other.
 */

#include <fcntl.h>

#include "core/producer-restore.h"
#include "core/producer.h"
#include "core/session-restore.h"
#include "fuzz-quiet-world.h"
#include "fuzz.h"
#include "shared/fd.h"
#include "smb/smb.h"

#define S           UINT64_C(1000000000)
#define PAGES_BYTES (8 * 4096)
#define ORIGIN      5
#define OTHER_UID   1001

/* The ids of the buffers by which the program writes for its own session, and that of another user. */
#define OWN_BUFFER   41
#define OTHER_BUFFER 42

typedef struct World {
        uint64_t now; /* first: the quiet world's userdata */
        Service *service;
        Session *own, *other;
        uint32_t *memory;
        size_t n_memory;
        Producer *producer;
        FuzzInput input;
} World;

static void on_changed(void *peer) {
}

static int on_setup_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        return -1;
}

static void on_release_memory(void *peer) {
}

static void
on_setup_source(void *peer, uint64_t instance, const char *name, const void *config, size_t n) {
}

static void on_instance(void *peer, uint64_t instance) {
}

static void
on_flush(void *peer, uint64_t request, const uint64_t *instances, size_t n, uint64_t flags) {
}

static void on_clear(void *peer, const uint64_t *instances, size_t n) {
}

static const ProducerOps producer_ops = {
        .setup_memory = on_setup_memory,
        .release_memory = on_release_memory,
        .setup_source = on_setup_source,
        .start_source = on_instance,
        .stop_source = on_instance,
        .flush = on_flush,
        .clear_incremental_state = on_clear,
};

static const SessionOps session_ops = { .changed = on_changed, .output_due = on_changed };

/* A session of another process, recording into an empty buffer with this id. */
static Session *find_session(World *world, uint64_t id, uid_t uid, uint16_t buffer_id) {
        const SessionOptions options = { .owner = { .uid = uid },
                                         .detached = true,
                                         .is_kept = true };
        const uint64_t origin = ORIGIN;
        uint8_t past[16] = { 1 << 3, SESSION_STARTED, 15 << 3, (uint8_t)buffer_id };
        SessionError error = {};
        SessionFormer former = {
                .id = id,
                .started_at = 1 * S,
                .left_at = 2 * S,
                .n_buffers = 1,
                .past = past,
                .n_past = 4,
                .producers = &origin,
                .n_producers = 1,
        };
        int index_fd, segments_fd;
        TraceBuffer *buffer;
        FormerBuffer files;
        ConfigError why;
        Session *session;
        Config *config;

        FUZZ_CHECK(trace_buffer_new_kept(&buffer, 128u << 10, 0, TRACE_BUFFER_RING) == 0);
        FUZZ_CHECK(trace_buffer_files(buffer, &index_fd, &segments_fd));
        files = (FormerBuffer){
                .index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                .segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        trace_buffer_leave(buffer);
        former.buffers = &files;
        FUZZ_CHECK(config_new_from_text(&config,
                                        "buffers { size_kb: 128 } data_sources { config { name: "
                                        "\"track_event\" } }",
                                        &why) == 0);
        FUZZ_CHECK(session_restore(&session,
                                   world->service,
                                   config,
                                   &options,
                                   &session_ops,
                                   NULL,
                                   &former,
                                   &error,
                                   world->now) == 0);
        return session;
}

/* Four bytes anywhere: near the beginning of what the service looks at, more often than elsewhere. */
static void write_words(World *world, unsigned n) {
        for (; n > 0 && world->input.n_left > 0; n--) {
                const uint32_t where = fuzz_take_16(&world->input);
                const size_t i = where & 1 ? (world->n_memory - PAGES_BYTES) / 4 + where / 2 % 64
                                           : where / 2;
                const uint32_t low = fuzz_take_16(&world->input);

                world->memory[i % (world->n_memory / 4)] =
                        low | (uint32_t)fuzz_take_16(&world->input) << 16;
        }
}

static void live(World *world, unsigned n_seconds) {
        for (unsigned i = 0; i < n_seconds; i++) {
                write_words(world, 4);
                world->now += S;
                service_tick(world->service, world->now);
                if (world->producer)
                        producer_doorbell(world->producer, world->now);
        }
}

static ProducerPast honest_past(InstancePast *instance) {
        *instance = (InstancePast){
                .id = 1, .session = 7, .buffer = OWN_BUFFER, .state = INSTANCE_STARTED
        };
        return (ProducerPast){
                .id = ORIGIN,
                .origin_id = ORIGIN,
                .identity = { .uid = 1000, .pid = 4711 },
                .name = "app",
                .pages_bytes = PAGES_BYTES,
                .page_bytes = 4096,
                .n_memories = 1,
                .last_instance_id = 1,
                .instances = instance,
                .n_instances = 1,
        };
}

static void check_that_the_other_is_untouched(const Session *other) {
        FUZZ_CHECK(session_buffer_stats(other, 0)->bytes_written == 0);
}

static void restore(World *world, const ProducerPast *past, bool is_honest) {
        const uint64_t id = 1;
        int r;

        FUZZ_CHECK(service_expect_producer(world->service, past) == 0);
        r = producer_restore(&world->producer,
                             world->service,
                             past,
                             world->memory,
                             world->n_memory,
                             &producer_ops,
                             NULL,
                             world->now);
        FUZZ_CHECK(r == 0 || !is_honest);
        if (r != 0) {
                service_give_up_on_producer(world->service, past);
                return;
        }
        live(world, 2);
        (void)producer_add_source(world->producer, "track_event", &(SourceOptions){}, world->now);
        producer_return(world->producer, &id, world->input.n_left % 2, world->now);
        live(world, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        World world = { .now = 10 * S, .input = { data, n_bytes } };
        const ServiceInfo info = { .uid = 990, .version = "fuzz" };
        const bool is_honest = fuzz_take(&world.input) % 2 == 0;
        const uint8_t *said;
        InstancePast instance;
        ProducerPast past = {};
        SmbArea area;

        FUZZ_CHECK(service_new(&world.service, &info, &fuzz_service_ops, &world, world.now) == 0);
        world.n_memory = smb_native_bytes(PAGES_BYTES, 4096);
        world.memory = aligned_alloc(4096, world.n_memory);
        memset(world.memory, 0, world.n_memory);
        smb_area_create(&area, world.memory, PAGES_BYTES, 4096);
        world.own = find_session(&world, 7, 1000, OWN_BUFFER);
        world.other = find_session(&world, 8, OTHER_UID, OTHER_BUFFER);

        if (is_honest) {
                past = honest_past(&instance);
                write_words(&world, 64);
                restore(&world, &past, true);
                check_that_the_other_is_untouched(world.other);
        } else {
                const size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input), &said);

                if (producer_past_read(&past, said, n) == 0)
                        restore(&world, &past, false);
                producer_past_deinit(&past);
        }
        producer_free(world.producer);
        service_tick(world.service, world.now);
        session_free(world.own);
        session_free(world.other);
        service_free(world.service);
        free(world.memory);
        return 0;
}
