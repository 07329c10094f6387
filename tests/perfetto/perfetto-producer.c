/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with Perfetto's SDK, as the service sees one: two threads' slices, by a client of the protocol that comes
 * back when the service does.
 *
 * Usage: perfetto-producer SOCKET NAME [BEHAVIOUR]
 *
 * Behaviours: flood (more than its memory holds), startup (brings its memory, in which it has written before), die (is
 * killed amidst a chunk), stuck (reads nothing of what the service sends), trigger (sends one and leaves).
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "producer-client.h"
#include "shared/fd.h"

#define WRITERS         2
#define RECORDINGS_MAX  4
#define STEP_MS         5
#define SLICES_PER_STEP 4
#define STARTUP_SLICES  100
#define FLOOD_SLICES    2000
#define MEMORY_BYTES    (64 << 10)
#define PAGE_BYTES      4096
#define RETRY_NS        50000000

/* Fields of perfetto.protos.TracePacket and of what it is made of here. */
enum {
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_DROPPED = 42,
        PACKET_CLOCK_ID = 58,
        PACKET_TRACK_DESCRIPTOR = 60,
        PACKET_FIRST = 87,

        EVENT_TYPE = 9,
        EVENT_TRACK = 11,
        EVENT_CATEGORY = 22,
        EVENT_NAME = 23,

        TRACK_UUID = 1,
        TRACK_THREAD = 4,
        THREAD_PID = 1,
        THREAD_TID = 2,
        THREAD_NAME = 5,

        CLOCK_BOOT = 6,
        STATE_CLEARED = 1,
        STATE_NEEDED = 2,
        SLICE_BEGIN = 1,
        SLICE_END = 2,
        WRITER_ABORTED = 1 | 256, /* previous_packet_dropped */
};

/* One session's. */
typedef struct Recording {
        uint64_t instance; /* 0: none */
        ClientWriter writers[WRITERS];
        bool has_described[WRITERS], has_lost[WRITERS];
        unsigned n_clears;
        unsigned n_slices;
} Recording;

typedef struct Program {
        const char *path, *name, *behaviour;
        ProducerClient client;
        Recording recordings[RECORDINGS_MAX];
        Recording startup; /* what was written before */
        unsigned n_writers;
        int memory_fd; /* 0: it brings none */
} Program;

static bool behaves(const Program *program, const char *behaviour) {
        return program->behaviour && streq(program->behaviour, behaviour);
}

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t track_uuid(unsigned thread) {
        return (uint64_t)getpid() * 100 + thread + 1;
}

static void begin_packet(WireWriter *writer, uint8_t *memory, size_t n) {
        wire_writer_init(writer, memory, n);
        wire_put_uint(writer, PACKET_TIMESTAMP, now_ns());
        wire_put_uint(writer, PACKET_CLOCK_ID, CLOCK_BOOT);
}

/* The first packet of a sequence, and again when what it says may be lost. */
static bool describe_thread(Recording *recording, unsigned thread) {
        ClientWriter *to = &recording->writers[thread];
        uint8_t packet[256];
        size_t track, about;
        WireWriter writer;
        char name[32];

        snprintf(name, sizeof(name), "worker %u", thread);
        begin_packet(&writer, packet, sizeof(packet));
        wire_put_uint(&writer, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
        if (to->n_chunks == 0)
                wire_put_bool(&writer, PACKET_FIRST, true);
        if (recording->has_lost[thread])
                wire_put_uint(&writer, PACKET_DROPPED, WRITER_ABORTED);
        track = wire_begin(&writer, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(&writer, TRACK_UUID, track_uuid(thread));
        about = wire_begin(&writer, TRACK_THREAD);
        wire_put_uint(&writer, THREAD_PID, (uint64_t)getpid());
        wire_put_uint(&writer, THREAD_TID, (uint64_t)getpid() + thread);
        wire_put_string(&writer, THREAD_NAME, name);
        wire_end(&writer, about);
        wire_end(&writer, track);
        return writer_put(to, packet, wire_writer_size(&writer));
}

static bool put_event(Recording *recording, unsigned thread, unsigned type, const char *name) {
        uint8_t packet[256];
        WireWriter writer;
        size_t event;

        begin_packet(&writer, packet, sizeof(packet));
        wire_put_uint(&writer, PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
        event = wire_begin(&writer, PACKET_TRACK_EVENT);
        wire_put_uint(&writer, EVENT_TYPE, type);
        wire_put_uint(&writer, EVENT_TRACK, track_uuid(thread));
        if (name) {
                wire_put_string(&writer, EVENT_CATEGORY, "test");
                wire_put_string(&writer, EVENT_NAME, name);
        }
        wire_end(&writer, event);
        return writer_put(&recording->writers[thread], packet, wire_writer_size(&writer));
}

/* What is lost is said with the next thing that has room. */
static void put_slice(Recording *recording, unsigned thread) {
        char name[32];

        if (!recording->has_described[thread] || recording->has_lost[thread]) {
                recording->has_described[thread] = describe_thread(recording, thread);
                recording->has_lost[thread] = !recording->has_described[thread];
        }
        snprintf(name, sizeof(name), "slice-%u.", ++recording->n_slices);
        if (!recording->has_described[thread] || !put_event(recording, thread, SLICE_BEGIN, name) ||
            !put_event(recording, thread, SLICE_END, NULL))
                recording->has_lost[thread] = true;
}

static void put_slices(Recording *recording, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                put_slice(recording, i % WRITERS);
}

/* What a writer has written before it was known where to stays its own. */
static void bind_writer(Program *program, ClientWriter *writer, uint16_t target_buffer) {
        ClientWriter bound = *writer;

        writer_init(writer, &program->client, bound.id, target_buffer, true);
        bound.target_buffer = target_buffer;
        *writer = bound;
}

static void
begin_recording(Program *program, Recording *recording, const ClientInstance *instance) {
        const bool began_before = program->startup.n_slices > 0;

        *recording = program->startup;
        program->startup.n_slices = 0;
        recording->instance = instance->id;
        recording->n_clears = instance->n_clears;
        client_number(&program->client, CLIENT_SOURCE_STARTED, instance->id);
        for (unsigned i = 0; i < WRITERS; i++)
                if (began_before)
                        bind_writer(program, &recording->writers[i], instance->target_buffer);
                else
                        writer_init(&recording->writers[i],
                                    &program->client,
                                    (uint16_t)++program->n_writers,
                                    instance->target_buffer,
                                    true);
        if (!began_before)
                for (unsigned i = 0; i < WRITERS; i++)
                        recording->has_described[i] = recording->has_lost[i] = false;
        if (behaves(program, "flood"))
                put_slices(recording, FLOOD_SLICES);
}

static void end_recording(Program *program, Recording *recording) {
        for (unsigned i = 0; i < WRITERS; i++)
                writer_end(&recording->writers[i]);
        client_number(&program->client, CLIENT_SOURCE_STOPPED, recording->instance);
        recording->instance = 0;
}

static void write_more(Recording *recording, const ClientInstance *instance) {
        if (instance->n_clears != recording->n_clears)
                for (unsigned i = 0; i < WRITERS; i++)
                        recording->has_described[i] = false;
        recording->n_clears = instance->n_clears;
        put_slices(recording, SLICES_PER_STEP);
}

/* Everything that a writer has is returned before a flush is answered, as Perfetto's threads do it. */
static void answer_flush(Program *program) {
        ProducerClient *client = &program->client;

        if (client->last_flush == 0)
                return;
        for (unsigned k = 0; k < RECORDINGS_MAX; k++)
                for (unsigned i = 0; program->recordings[k].instance && i < WRITERS; i++)
                        writer_return(&program->recordings[k].writers[i]);
        client_commit(client, client->last_flush, false);
        client->last_flush = 0;
}

/* Its own, or an empty one for it; NULL: it has as many as it can have. */
static Recording *find_recording(Program *program, uint64_t instance) {
        Recording *empty = NULL;

        for (unsigned k = 0; k < RECORDINGS_MAX; k++) {
                if (program->recordings[k].instance == instance)
                        return &program->recordings[k];
                if (!program->recordings[k].instance)
                        empty = &program->recordings[k];
        }
        return empty;
}

static void step_instance(Program *program, ClientInstance *instance) {
        Recording *recording = instance->is_over ? NULL : find_recording(program, instance->id);

        if (!recording)
                return;
        if (!recording->instance && instance->is_started)
                begin_recording(program, recording, instance);
        if (instance->is_stopped && recording->instance) {
                end_recording(program, recording);
                instance->is_over = true;
        }
        if (!recording->instance)
                return;
        write_more(recording, instance);
        if (behaves(program, "die") && recording->n_slices >= STARTUP_SLICES) {
                client_commit(&program->client, 0, false);
                raise(SIGKILL);
        }
}

static void step(Program *program) {
        ProducerClient *client = &program->client;

        answer_flush(program);
        for (size_t i = 0; i < client->n_instances; i++)
                step_instance(program, &client->instances[i]);
        if (client->commit.n > 0)
                client_commit(client, 0, false);
}

static int connect_to(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return fd_close(fd);
        return fd;
}

static void bring_memory(Program *program) {
        ProducerClient *client = &program->client;

        if (fd_new_sealed_memfd(&program->memory_fd, "startup", MEMORY_BYTES) < 0)
                exit(1);
        client->memory =
                mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, program->memory_fd, 0);
        smb_area_create_plain(&client->area, client->memory, MEMORY_BYTES, PAGE_BYTES);
        for (unsigned i = 0; i < WRITERS; i++)
                writer_init(&program->startup.writers[i],
                            client,
                            (uint16_t)++program->n_writers,
                            0,
                            false);
        put_slices(&program->startup, STARTUP_SLICES);
}

/* Returns false when nobody is there now. */
static bool introduce(Program *program) {
        ProducerClient *client = &program->client;
        ClientOptions options = {
                .name = program->name,
                .memory_bytes = behaves(program, "flood") ? 16 << 10 : MEMORY_BYTES,
                .page_bytes = PAGE_BYTES,
                .memory_fd = program->memory_fd,
        };

        client_bind(client);
        while (!client->is_bound)
                if (!client_pump(client, 1000))
                        return false;
        client_initialize(client, &options);
        client_describe_source(client, CLIENT_REGISTER_SOURCE, "track_event", 7, "test");
        return true;
}

static void serve(Program *program) {
        ProducerClient *client = &program->client;

        while (behaves(program, "stuck"))
                pause();
        if (behaves(program, "trigger")) {
                client_call(client, CLIENT_TRIGGERS, false, "\x0a\x06jank-1", 8);
                return;
        }
        while (client_pump(client, STEP_MS))
                step(program);
}

int main(int argc, char **argv) {
        static Program program;
        const struct timespec retry = { .tv_nsec = RETRY_NS };

        if (argc < 3)
                return 2;
        program.path = argv[1];
        program.name = argv[2];
        program.behaviour = argv[3];
        for (;;) {
                int fd = connect_to(program.path);

                if (fd < 0) {
                        nanosleep(&retry, NULL);
                        continue;
                }
                client_init(&program.client, fd);
                program.client.is_silent = true;
                memset(program.recordings, 0, sizeof(program.recordings));
                if (behaves(&program, "startup") && program.n_writers == 0)
                        bring_memory(&program);
                bool is_introduced = introduce(&program);

                if (is_introduced)
                        serve(&program);
                client_deinit(&program.client);
                if (is_introduced && behaves(&program, "trigger"))
                        return 0;
        }
}
