/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The whole service among strangers: producers that come, go, lie in their memory and answer
 * anything or nothing, and consumers that start, stop, flush, clone, read and leave in any order,
 * while triggers come and time passes.
 *
 * Whatever they do: each flush is answered once, a session that is stopped comes to its end, and
 * what a session gives is a trace in which each packet says who it is from; in that of a user who
 * may see only what is theirs, nobody else.
 */

#include "core/producer.h"
#include "core/service.h"
#include "core/session-clone.h"
#include "core/session.h"
#include "core/trigger.h"
#include "fuzz.h"
#include "shared/macro.h"
#include "smb/smb.h"
#include "wire/wire-reader.h"

#define PEERS       3
#define PAGES       8
#define PAGE_BYTES  4096
#define STEPS_MAX   300
#define SERVICE_UID 990
#define PROBES_UID  991
#define MS          UINT64_C(1000000)
#define S           (1000 * MS)

typedef struct World World;

typedef struct Peer {
        Producer *producer;
        uint8_t *memory;  /* made by the service's wish */
        uint8_t *brought; /* or by the producer's own */
        SmbArea area;
        bool is_native;
        uint64_t instance;      /* the last one that was set up */
        uint64_t flush_id;      /* the last one asked for */
        uint16_t target_buffer; /* of that instance */
} Peer;

typedef struct Consumer {
        Session *session;
        uid_t uid;
        bool sees_all;
        unsigned n_flushes, n_answers;
        uint64_t n_read;
        Session *cloning; /* what this will be a clone of; NULL: nothing, or it has come */
        World *world;
} Consumer;

struct World {
        Service *service;
        FuzzInput input;
        uint64_t now;
        Peer peers[PEERS];
        Consumer consumers[PEERS];
        unsigned n_looks;
};

static const uid_t uids[] = { 1000, 1001, 0, PROBES_UID };
static const char *const sources[] = { "track_event", "linux.ftrace", "app.own", "app.other" };

#define FILTERED(filters) \
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } " filters " } "

static const char *const configs[] = {
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "data_sources { config { name: \"app.own\" } } flush_period_ms: 200",
        "buffers { size_kb: 128 fill_policy: DISCARD } data_sources { config { name: "
        "\"track_event\" } } "
        "duration_ms: 300 data_source_stop_timeout_ms: 500",
        "buffers { size_kb: 128 } buffers { size_kb: 256 } "
        "data_sources { config { name: \"linux.ftrace\" target_buffer: 1 } } "
        "data_sources { config { name: \"app.other\" } } incremental_state_config { "
        "clear_period_ms: 100 }",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "deferred_start: true "
        "unique_session_name: \"one\"",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "write_into_file: true "
        "file_write_period_ms: 150 max_file_size_bytes: 3000 flush_timeout_ms: 100",
        FILTERED("producer_name_filter: \"nobody\"") "session_semaphores { name: \"a\" }",
        "buffers { size_kb: 128 } data_sources { config { name: \"app.own\" } } "
        "enable_extra_guardrails: true duration_ms: 400 prefer_suspend_clock_for_duration: true "
        "session_semaphores { name: \"a\" max_other_session_count: 1 }",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "exclusive_prio: 1 lockdown_mode: LOCKDOWN_SET",
        "buffers { size_kb: 128 } data_sources { config { name: \"app.other\" } } "
        "exclusive_prio: 2 lockdown_mode: LOCKDOWN_CLEAR",
        "buffers { size_kb: 128 transfer_on_clone: true } "
        "buffers { size_kb: 128 clear_before_clone: true } "
        "data_sources { config { name: \"track_event\" target_buffer: 0 } } "
        "data_sources { config { name: \"app.own\" target_buffer: 1 } } "
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 9000 "
        "triggers { name: \"a\" stop_delay_ms: 100 max_per_24_h: 9 } triggers { name: \"b\" } }",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 900 "
        "triggers { name: \"a\" stop_delay_ms: 200 } triggers { name: \"b\" } }",
        "buffers { size_kb: 128 } data_sources { config { name: \"track_event\" } } "
        "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 900 "
        "triggers { name: \"a\" stop_delay_ms: 200 producer_name_regex: \"p.*\" } "
        "triggers { name: \"b\" skip_probability: 0.5 } }",
};

/*
 * What the service asks of the world
 */

static size_t on_read_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]) {
        const World *world = userdata;

        ret[0] = (ClockReading){ CLOCK_ID_BOOTTIME, world->now };
        ret[1] = (ClockReading){ CLOCK_ID_REALTIME, world->now + S };
        return 2;
}

static void on_random(void *userdata, void *ret, size_t n_bytes) {
        memset(ret, 1, n_bytes);
}

static void on_activate(void *userdata, size_t index) {
}

/* Every other producer, at every other look. */
static bool on_is_suspended(void *userdata, const Identity *identity) {
        World *world = userdata;

        return (world->n_looks++ + (unsigned)identity->pid) % 2;
}

static const ServiceOps service_ops = {
        .read_clocks = on_read_clocks,
        .random = on_random,
        .activate = on_activate,
        .is_suspended = on_is_suspended,
};

static void on_release_memory(void *userdata) {
        Peer *peer = userdata;

        FUZZ_CHECK(peer->memory);
        free(peer->memory);
        peer->memory = NULL;
}

static int on_setup_memory(void *userdata, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        Peer *peer = userdata;
        size_t n = peer->is_native ? smb_native_bytes(pages_bytes, page_bytes) : pages_bytes;

        FUZZ_CHECK(!peer->memory && !peer->brought && pages_bytes <= SMB_PAGES_BYTES_MAX);
        peer->memory = aligned_alloc(PAGE_BYTES, ALIGN_UP(n, PAGE_BYTES));
        FUZZ_CHECK(peer->memory);
        memset(peer->memory, 0, n);
        if (peer->is_native)
                smb_area_create(&peer->area, peer->memory, pages_bytes, page_bytes);
        else
                smb_area_create_plain(&peer->area, peer->memory, pages_bytes, page_bytes);
        *ret = peer->area;
        return 0;
}

static void on_setup_source(void *userdata,
                            uint64_t instance,
                            const char *name,
                            const void *config,
                            size_t n_config) {
        Peer *peer = userdata;
        WireReader reader;
        WireField field;
        int r;

        peer->instance = instance;
        wire_reader_init(&reader, config, n_config);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == 2)
                        peer->target_buffer = (uint16_t)field.value;
        FUZZ_CHECK(r == 0);
}

static void on_instance(void *userdata, uint64_t instance) {
        Peer *peer = userdata;

        peer->instance = instance;
}

static void on_flush(void *userdata,
                     uint64_t flush_id,
                     const uint64_t *instances,
                     size_t n_instances,
                     uint64_t flags) {
        Peer *peer = userdata;

        FUZZ_CHECK(n_instances > 0);
        peer->flush_id = flush_id;
}

static void on_clear(void *userdata, const uint64_t *instances, size_t n_instances) {
        FUZZ_CHECK(n_instances > 0);
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

static void on_session(void *userdata) {
}

static void on_triggered(void *userdata, const char *trigger, const char *producer, uid_t uid) {
        FUZZ_CHECK(trigger[0]);
}

static void consumer_adopt(Consumer *consumer, const Consumer *source, Session *clone);

/* Somebody who has nothing else takes it, of the user whose it is. */
static void on_snapshot_taken(void *userdata, Session *clone, const char *trigger) {
        const Consumer *source = userdata;
        World *world = source->world;

        FUZZ_CHECK(session_state(clone) == SESSION_STOPPED);
        for (size_t i = 0; i < PEERS; i++) {
                Consumer *consumer = &world->consumers[i];

                if (consumer->session || consumer->cloning)
                        continue;
                consumer_adopt(consumer, source, clone);
                return;
        }
        session_free(clone);
        FUZZ_CHECK(trigger[0]);
}

static void on_snapshot_failed(void *userdata, const char *trigger, int outcome, const char *why) {
        FUZZ_CHECK(outcome != 0);
}

static const SessionOps session_ops = {
        .changed = on_session,
        .output_due = on_session,
        .triggered = on_triggered,
        .snapshot_taken = on_snapshot_taken,
        .snapshot_failed = on_snapshot_failed,
};

static void consumer_adopt(Consumer *consumer, const Consumer *source, Session *clone) {
        consumer->session = clone;
        consumer->uid = source->uid;
        consumer->sees_all = source->sees_all;
        session_adopt(clone, &session_ops, consumer);
}

static void on_flushed(void *userdata, int outcome) {
        Consumer *consumer = userdata;

        FUZZ_CHECK(outcome == 0 || outcome == SESSION_E_STATE);
        consumer->n_answers++;
        FUZZ_CHECK(consumer->n_answers <= consumer->n_flushes);
}

/*
 * Producers
 */

static Peer *pick_peer(World *world) {
        return &world->peers[fuzz_take(&world->input) % PEERS];
}

static void add_source(World *world, const Peer *peer) {
        unsigned what = fuzz_take(&world->input);
        SourceOptions options = { .no_flush = what & 0x10 };
        const char *name = sources[what % ARRAY_SIZE(sources)];

        if (what & 0x20)
                producer_remove_source(peer->producer, name, world->now);
        else
                FUZZ_CHECK(producer_add_source(peer->producer, name, &options, world->now) >= 0);
}

static void bring_memory(Peer *peer) {
        peer->brought = aligned_alloc(PAGE_BYTES, PAGES * PAGE_BYTES);
        memset(peer->brought, 0, PAGES * PAGE_BYTES);
        smb_area_create_plain(&peer->area, peer->brought, PAGES * PAGE_BYTES, PAGE_BYTES);
        FUZZ_CHECK(producer_adopt_memory(
                           peer->producer, peer->brought, PAGES * PAGE_BYTES, PAGE_BYTES) == 0);
}

static void step_connect(World *world) {
        Peer *peer = pick_peer(world);
        unsigned how = fuzz_take(&world->input);
        Identity identity = { uids[how % ARRAY_SIZE(uids)], 77 };
        ProducerOptions options = {
                .memory_bytes = PAGES * PAGE_BYTES,
                .page_bytes = PAGE_BYTES,
                .is_native = how & 0x80,
        };
        int r;

        if (peer->producer) {
                add_source(world, peer);
                return;
        }
        peer->is_native = options.is_native;
        r = producer_new(
                &peer->producer, world->service, &identity, "peer", &options, &producer_ops, peer);
        FUZZ_CHECK(r == 0);
        if (!peer->is_native && how & 0x10)
                bring_memory(peer);
        add_source(world, peer);
}

static void peer_disconnect(Peer *peer) {
        producer_free(peer->producer);
        free(peer->memory);
        free(peer->brought);
        *peer = (Peer){};
}

static void step_disconnect(World *world) {
        peer_disconnect(pick_peer(world));
}

static void step_answer(World *world) {
        const Peer *peer = pick_peer(world);
        unsigned what = fuzz_take(&world->input);
        uint64_t wrong = what >> 4; /* mostly 0 */

        if (!peer->producer)
                return;
        switch (what & 3) {
        case 0:
                producer_source_started(peer->producer, peer->instance - wrong, world->now);
                break;
        case 1:
                producer_source_stopped(peer->producer, peer->instance - wrong, world->now);
                break;
        case 2:
                producer_flushed(peer->producer, peer->flush_id - wrong, world->now);
                break;
        case 3:
                producer_source_failed(
                        peer->producer, peer->instance - wrong, "not today", world->now);
                break;
        }
}

/* A commit, as a native producer or Perfetto's makes it, of a chunk whose fragments are any bytes. */
static void step_write(World *world) {
        Peer *peer = pick_peer(world);
        unsigned page = fuzz_take(&world->input) % PAGES, writer = 1 + fuzz_take(&world->input) % 3;
        uint16_t packets = (uint16_t)((fuzz_take(&world->input) & 7) << SMB_FLAGS_SHIFT);
        SmbPageHeader *page_header;
        SmbChunkHeader *header;
        const uint8_t *bytes;
        size_t n;

        packets |= fuzz_take(&world->input) & 15;
        if (!peer->memory && !peer->brought)
                return;
        page_header = smb_page(&peer->area, page);
        header = (SmbChunkHeader *)(page_header + 1);
        page_header->state = (uint32_t)SMB_LAYOUT_DIV1 << 28 |
                             (packets & 8 ? SMB_CHUNK_BEING_WRITTEN : SMB_CHUNK_COMPLETE);
        header->writer_id = (uint16_t)writer;
        header->chunk_id = fuzz_take(&world->input);
        header->packets = packets & (uint16_t)~8;
        n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &bytes);
        memcpy(header + 1, bytes, n);

        if (!peer->is_native) {
                producer_register_writer(peer->producer, writer, peer->target_buffer);
                if (writer == 3)
                        producer_commit_data(
                                peer->producer, header, 8 + n, !(packets & 8), peer->target_buffer);
                else
                        producer_commit(peer->producer, page, 0, peer->target_buffer);
                return;
        }
        peer->area.control->writer_buffer[writer] = peer->target_buffer;
        peer->area.control->rescan = 1;
        producer_doorbell(peer->producer, world->now);
}

static void step_scribble(World *world) {
        const Peer *peer = pick_peer(world);
        size_t offset = (size_t)fuzz_take_16(&world->input) * 4, n_memory;
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(&world->input, fuzz_take(&world->input) & 63, &bytes);

        if (!peer->memory)
                return;
        n_memory = (size_t)(peer->area.pages - peer->memory) + PAGES * PAGE_BYTES;
        offset %= n_memory;
        memcpy(peer->memory + offset, bytes, MIN(n, n_memory - offset));
        producer_doorbell(peer->producer, world->now);
}

static void step_patch(World *world) {
        const Peer *peer = pick_peer(world);
        unsigned chunk_id = fuzz_take(&world->input), offset = fuzz_take(&world->input);
        uint8_t data[4] = { fuzz_take(&world->input), 1, 2, 3 };

        if (peer->producer)
                producer_patch(peer->producer,
                               peer->target_buffer,
                               1,
                               chunk_id,
                               (uint16_t)offset,
                               data,
                               offset & 1);
}

/*
 * Consumers
 */

static Consumer *pick_consumer(World *world) {
        return &world->consumers[fuzz_take(&world->input) % PEERS];
}

/* Changed to what lets in more, or to another config altogether. */
static void consumer_change(World *world, Consumer *consumer, unsigned how) {
        static const char more[] =
                FILTERED("producer_name_filter: \"nobody\" producer_name_regex_filter: "
                         "\".*\"") "session_semaphores { name: \"a\" }";
        const char *text = how & 32 ? more : configs[(how >> 6) % ARRAY_SIZE(configs)];
        ConfigError config_error;
        SessionError error;
        Config *config;

        FUZZ_CHECK(config_new_from_text(&config, text, &config_error) == 0);
        if (session_change_config(consumer->session, config, &error, world->now) != 0)
                config_free(config);
}

static void step_session(World *world) {
        Consumer *consumer = pick_consumer(world);
        unsigned how = fuzz_take(&world->input);
        const char *text = configs[(how >> 4) % ARRAY_SIZE(configs)];
        SessionOptions options = {
                .owner = { .uid = uids[how & 1], .pid = 88 },
                .scope = how & 2 ? SESSION_SCOPE_SYSTEM : SESSION_SCOPE_OWN,
                .has_output = how & 4,
        };
        Config *config = NULL;
        ConfigError config_error;
        SessionError error;

        if (consumer->cloning)
                return;
        if (consumer->session) {
                if (how & 16)
                        consumer_change(world, consumer, how);
                else
                        session_start(consumer->session, world->now);
                return;
        }
        FUZZ_CHECK(config_new_from_text(&config, text, &config_error) == 0);
        consumer->uid = options.owner.uid;
        consumer->sees_all = options.scope == SESSION_SCOPE_SYSTEM;
        if (session_new(&consumer->session,
                        world->service,
                        config,
                        &options,
                        &session_ops,
                        consumer,
                        &error,
                        world->now) != 0) {
                FUZZ_CHECK(!consumer->session && error.message[0]);
                config_free(config);
                return;
        }
        if (how & 8)
                session_start(consumer->session, world->now);
}

static void on_cloned(void *userdata, int outcome, Session *clone) {
        Consumer *consumer = userdata;

        FUZZ_CHECK(consumer->cloning && !consumer->session && (outcome == 0) == !!clone);
        consumer->cloning = NULL;
        if (clone)
                consumer_adopt(consumer, consumer, clone);
}

static void consumer_clone(World *world, Consumer *consumer, const Consumer *source, unsigned how) {
        const CloneOptions options = {
                .owner = session_options(source->session)->owner,
                .has_output = how & 4,
                .skips_filter = how & 8,
                .before_ns = how * MS,
        };
        SessionError error = {};

        consumer->cloning = source->session;
        consumer->uid = source->uid;
        consumer->sees_all = source->sees_all;
        if (session_clone(source->session, &options, on_cloned, consumer, &error, world->now) == 0)
                return;
        FUZZ_CHECK(consumer->cloning && error.message[0]);
        consumer->cloning = NULL;
}

/* Asks for one, or no longer wants it. */
static void step_clone(World *world) {
        Consumer *consumer = pick_consumer(world);
        const Consumer *source = pick_consumer(world);
        unsigned how = fuzz_take(&world->input);

        if (consumer->cloning) {
                session_clone_cancel(consumer->cloning, consumer);
                consumer->cloning = NULL;
        } else if (!consumer->session && source->session) {
                consumer_clone(world, consumer, source, how);
        }
}

static void step_trigger(World *world) {
        static const char *const names[] = { "a", "b", "nothing" };
        unsigned how = fuzz_take(&world->input);
        const TriggerSender sender = {
                .identity = { .uid = uids[how & 3], .pid = 5 },
                .producer = how & 4 ? "p1" : NULL,
                .name = how & 8 ? "somebody" : NULL,
        };
        size_t n;
        int r;

        r = service_activate_triggers(
                world->service, &sender, &names[(how >> 4) % 2], 2, &n, world->now);
        FUZZ_CHECK((r == 0 || r == TRIGGER_E_LIMIT) && n <= PEERS);
}

static void step_stop(World *world) {
        const Consumer *consumer = pick_consumer(world);

        if (consumer->session)
                session_stop(consumer->session, "fuzz", world->now);
}

static void step_flush(World *world) {
        Consumer *consumer = pick_consumer(world);

        if (!consumer->session)
                return;
        consumer->n_flushes++;
        if (session_flush(consumer->session, 50 * MS, 0, on_flushed, consumer, world->now) != 0)
                consumer->n_flushes--;
}

static void check_packet(const Consumer *consumer, const WireField *packet) {
        uint64_t uid = UINT64_MAX, sequence = 0;
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, packet);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == 3)
                        uid = field.value;
                if (field.number == 10)
                        sequence = field.value;
        }
        FUZZ_CHECK(r == 0 && sequence > 0);
        FUZZ_CHECK((uid == SERVICE_UID) == (sequence == 1));
        FUZZ_CHECK(uid == SERVICE_UID || uid == consumer->uid || consumer->sees_all);
}

/* As an output would that has taken so much. */
static void consumer_fill(const World *world, Consumer *consumer, size_t n_bytes) {
        const uint64_t limit = session_config(consumer->session)->pb->max_file_size_bytes;

        consumer->n_read += n_bytes;
        if (session_options(consumer->session)->has_output && limit > 0 && consumer->n_read > limit)
                session_output_full(consumer->session, world->now);
}

static void consumer_read(World *world, Consumer *consumer, size_t max_bytes) {
        _cleanup_(bytes_deinit) Bytes out = {};
        WireReader reader;
        WireField field;
        bool more = true;
        int r;

        if (!consumer->session)
                return;
        for (unsigned i = 0; more; i++) {
                FUZZ_CHECK(i < 100000);
                FUZZ_CHECK(session_read(consumer->session, max_bytes, &out, &more, world->now) ==
                           0);
                if (max_bytes < 64)
                        break;
        }
        wire_reader_init(&reader, out.data, out.n);
        while ((r = wire_read(&reader, &field)) > 0) {
                FUZZ_CHECK(field.number == 1);
                check_packet(consumer, &field);
        }
        FUZZ_CHECK(r == 0);
        consumer_fill(world, consumer, out.n);
}

static void step_read(World *world) {
        Consumer *consumer = pick_consumer(world);

        consumer_read(world, consumer, 1 + 16u * fuzz_take(&world->input));
}

static void consumer_leave(Consumer *consumer) {
        consumer->session = session_free(consumer->session);
        consumer->n_read = 0;
        FUZZ_CHECK(consumer->n_answers == consumer->n_flushes);
        if (consumer->cloning)
                session_clone_cancel(consumer->cloning, consumer);
        consumer->cloning = NULL;
}

static void step_leave(World *world) {
        consumer_leave(pick_consumer(world));
}

/*
 * Time
 */

static void advance(World *world, uint64_t ns) {
        uint64_t end = world->now + ns;

        for (unsigned i = 0; service_next_deadline(world->service) <= end; i++) {
                FUZZ_CHECK(i < 100000);
                world->now = MAX(world->now, service_next_deadline(world->service));
                service_tick(world->service, world->now);
        }
        world->now = end;
}

static void step_wait(World *world) {
        unsigned n = fuzz_take(&world->input);

        advance(world, n & 1 ? n * MS : n * 20 * MS);
}

static void play(World *world) {
        /* New ones behind: the corpus knows the others by their numbers. */
        static void (*const steps[])(World *) = {
                step_connect, step_session, step_write, step_wait,       step_answer, step_read,
                step_flush,   step_stop,    step_leave, step_disconnect, step_patch,  step_scribble,
                step_write,   step_answer,  step_wait,  step_session,    step_clone,  step_trigger,
                step_clone,   step_wait,    step_write, step_trigger,    step_answer, step_read,
                step_connect, step_session, step_write, step_wait,       step_clone,  step_trigger,
                step_leave,   step_stop,
        };

        for (unsigned i = 0; i < STEPS_MAX && world->input.n_left > 0; i++)
                steps[fuzz_take(&world->input) % ARRAY_SIZE(steps)](world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static const ServiceInfo info = { .version = "fuzz",
                                          .sysname = "Linux",
                                          .release = "6",
                                          .kernel_version = "#1",
                                          .machine = "none",
                                          .hz = 100,
                                          .page_size = 4096,
                                          .n_cpus = 1,
                                          .uid = SERVICE_UID,
                                          .probes_uid = PROBES_UID };
        World world = { .input = { data, n_bytes }, .now = 100 * S };

        for (size_t i = 0; i < PEERS; i++)
                world.consumers[i].world = &world;
        FUZZ_CHECK(service_new(&world.service, &info, &service_ops, &world, world.now) == 0);
        play(&world);
        for (size_t i = 0; i < PEERS; i++)
                if (world.consumers[i].session)
                        session_stop(world.consumers[i].session, "end", world.now);
        advance(&world, 60 * S);
        for (size_t i = 0; i < PEERS; i++) {
                const Session *session = world.consumers[i].session;

                FUZZ_CHECK(!session || session_state(session) == SESSION_STOPPED);
                consumer_read(&world, &world.consumers[i], 4096);
        }
        for (size_t i = 0; i < PEERS; i++)
                peer_disconnect(&world.peers[i]);
        for (size_t i = 0; i < PEERS; i++)
                consumer_leave(&world.consumers[i]);
        service_free(world.service);
        return 0;
}
