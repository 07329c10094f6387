/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * bench-scale-foreign: an application with Perfetto's library that emits what it is told to, as far as the service can
 * tell: the same orders as bench-scale-producer has, by the protocol of PERFETTO_PRODUCER_SOCK_NAME
 *
 * Usage: bench-scale-foreign SHARED-MEMORY-KB
 *
 * One thread, one writer, one session at a time. Chunks that are full are committed at the end of an order, the one
 * that is being written with the answer to a flush, and all with that to a stop. Its packets are those of Perfetto's
 * library: names are interned, times are differences to the packet before.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "producer-client.h"
#include "shared/fd.h"

#define PAGE_BYTES         4096
#define MEMORY_KIB_DEFAULT 256
#define PACKET_BYTES_MAX   512
#define WAIT_MS            10000
#define SOURCE_ID          1

/* Fields of perfetto.protos.TracePacket and of what it is made of here. */
enum {
        PACKET_CLOCKS = 6,
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_INTERNED = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_DEFAULTS = 59,
        PACKET_TRACK_DESCRIPTOR = 60,
        PACKET_FIRST = 87,

        SNAPSHOT_CLOCK = 1,
        CLOCK_ID = 1,
        CLOCK_TIMESTAMP = 2,
        CLOCK_IS_INCREMENTAL = 3,

        DEFAULTS_TRACK_EVENT = 11,
        DEFAULTS_CLOCK_ID = 58,

        INTERNED_CATEGORIES = 1,
        INTERNED_EVENT_NAMES = 2,
        INTERNED_ARGUMENT_NAMES = 3,
        INTERNED_ID = 1,
        INTERNED_TEXT = 2,

        EVENT_CATEGORY_ID = 3,
        EVENT_ARGUMENT = 4,
        EVENT_TYPE = 9,
        EVENT_NAME_ID = 10,
        EVENT_TRACK = 11,
        ARGUMENT_NAME_ID = 1,
        ARGUMENT_UINT = 3,

        TRACK_UUID = 1,
        TRACK_THREAD = 4,
        THREAD_PID = 1,
        THREAD_TID = 2,

        CLOCK_BOOT = 6,
        CLOCK_INCREMENTAL = 64,
        STATE_CLEARED = 1,
        STATE_NEEDED = 2,
        TYPE_INSTANT = 3,
};

typedef struct Program {
        ProducerClient client;
        ClientWriter writer;
        uint64_t instance; /* 0: nobody records */
        uint16_t n_writers;
        uint64_t index;   /* of the next event of the session */
        uint64_t last_ns; /* the time of the packet before */
} Program;

static uint64_t now_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Packets
 */

static void put_clock(WireWriter *writer, uint64_t id, uint64_t ns) {
        size_t clock = wire_begin(writer, SNAPSHOT_CLOCK);

        wire_put_uint(writer, CLOCK_ID, id);
        wire_put_uint(writer, CLOCK_TIMESTAMP, ns);
        if (id == CLOCK_INCREMENTAL)
                wire_put_bool(writer, CLOCK_IS_INCREMENTAL, true);
        wire_end(writer, clock);
}

static void put_interned(WireWriter *writer, uint32_t what, const char *text) {
        size_t entry = wire_begin(writer, what);

        wire_put_uint(writer, INTERNED_ID, 1);
        wire_put_string(writer, INTERNED_TEXT, text);
        wire_end(writer, entry);
}

static void put_track(WireWriter *writer) {
        const uint64_t pid = (uint64_t)getpid();
        size_t track = wire_begin(writer, PACKET_TRACK_DESCRIPTOR), thread;

        wire_put_uint(writer, TRACK_UUID, pid);
        thread = wire_begin(writer, TRACK_THREAD);
        wire_put_uint(writer, THREAD_PID, pid);
        wire_put_uint(writer, THREAD_TID, pid);
        wire_end(writer, thread);
        wire_end(writer, track);
}

/* What all others of the sequence refer to. */
static void put_first_packet(Program *program) {
        uint8_t packet[PACKET_BYTES_MAX];
        size_t part, event;
        WireWriter writer;

        program->last_ns = now_ns(CLOCK_BOOTTIME);
        wire_writer_init(&writer, packet, sizeof(packet));
        wire_put_uint(&writer, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
        wire_put_bool(&writer, PACKET_FIRST, true);
        part = wire_begin(&writer, PACKET_CLOCKS);
        put_clock(&writer, CLOCK_BOOT, program->last_ns);
        put_clock(&writer, CLOCK_INCREMENTAL, program->last_ns);
        wire_end(&writer, part);
        part = wire_begin(&writer, PACKET_DEFAULTS);
        wire_put_uint(&writer, DEFAULTS_CLOCK_ID, CLOCK_INCREMENTAL);
        event = wire_begin(&writer, DEFAULTS_TRACK_EVENT);
        wire_put_uint(&writer, EVENT_TRACK, (uint64_t)getpid());
        wire_end(&writer, event);
        wire_end(&writer, part);
        part = wire_begin(&writer, PACKET_INTERNED);
        put_interned(&writer, INTERNED_CATEGORIES, "bench");
        put_interned(&writer, INTERNED_EVENT_NAMES, "event");
        put_interned(&writer, INTERNED_ARGUMENT_NAMES, "i");
        wire_end(&writer, part);
        put_track(&writer);
        writer_put(&program->writer, packet, wire_writer_size(&writer));
}

static void put_event(Program *program) {
        const uint64_t ns = now_ns(CLOCK_BOOTTIME);
        uint8_t packet[PACKET_BYTES_MAX];
        size_t event, argument;
        WireWriter writer;

        wire_writer_init(&writer, packet, sizeof(packet));
        wire_put_uint(&writer, PACKET_TIMESTAMP, ns - program->last_ns);
        wire_put_uint(&writer, PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
        event = wire_begin(&writer, PACKET_TRACK_EVENT);
        wire_put_uint(&writer, EVENT_CATEGORY_ID, 1);
        argument = wire_begin(&writer, EVENT_ARGUMENT);
        wire_put_uint(&writer, ARGUMENT_NAME_ID, 1);
        wire_put_uint(&writer, ARGUMENT_UINT, program->index++);
        wire_end(&writer, argument);
        wire_put_uint(&writer, EVENT_TYPE, TYPE_INSTANT);
        wire_put_uint(&writer, EVENT_NAME_ID, 1);
        wire_end(&writer, event);
        if (writer_put(&program->writer, packet, wire_writer_size(&writer)))
                program->last_ns = ns;
}

/*
 * What the service asks for
 */

static void begin_recording(Program *program, const ClientInstance *instance) {
        ProducerClient *client = &program->client;

        program->instance = instance->id;
        program->index = 0;
        client_number(client, CLIENT_SOURCE_STARTED, instance->id);
        writer_init(&program->writer, client, ++program->n_writers, instance->target_buffer, true);
        put_first_packet(program);
}

/* The client forgets its instances, of which it has no room for more than a few. */
static void end_recording(Program *program) {
        writer_end(&program->writer);
        client_number(&program->client, CLIENT_SOURCE_STOPPED, program->instance);
        program->instance = 0;
        program->client.n_instances = 0;
}

/* Everything is returned before a flush is answered. */
static void answer_flush(Program *program) {
        ProducerClient *client = &program->client;

        if (client->last_flush == 0)
                return;
        if (program->instance)
                writer_return(&program->writer);
        client_commit(client, client->last_flush, false);
        client->last_flush = 0;
}

static void obey_service(Program *program) {
        const ClientInstance *instance = client_instance(&program->client, "track_event");

        answer_flush(program);
        if (!instance)
                return;
        if (!program->instance && instance->is_started)
                begin_recording(program, instance);
        if (program->instance && instance->is_stopped)
                end_recording(program);
}

/*
 * What bench-scale asks for
 */

/* Asks the service something that needs no work: what one call of the protocol takes. */
static bool carry_out_call(Program *program) {
        ProducerClient *client = &program->client;
        uint64_t request = client_call(client, CLIENT_SYNC, true, NULL, 0);

        while (request != 0 && !client_reply(client, request)) {
                if (!client_pump(client, WAIT_MS))
                        return false;
                obey_service(program);
        }
        return request != 0;
}

static bool carry_out(Program *program, const Order *order, Answer *answer) {
        const uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);

        if (order->kind == ORDER_CALL && !carry_out_call(program))
                return false;
        if (order->kind == ORDER_EMIT && program->instance) {
                for (uint64_t i = 0; i < order->n_events; i++)
                        put_event(program);
                if (program->client.commit.n > 0)
                        client_commit(&program->client, 0, false);
                answer->n_emitted = order->n_events;
        }
        answer->ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
        return true;
}

static bool obey_bench(Program *program) {
        Answer answer = {};
        Order order;

        return read(STDIN_FILENO, &order, sizeof(order)) == (ssize_t)sizeof(order) &&
               carry_out(program, &order, &answer) &&
               write(STDIN_FILENO, &answer, sizeof(answer)) == (ssize_t)sizeof(answer);
}

static bool serve(Program *program) {
        struct pollfd ready[] = {
                { .fd = STDIN_FILENO, .events = POLLIN },
                { .fd = program->client.fd, .events = POLLIN },
        };

        if (poll(ready, ARRAY_SIZE(ready), -1) < 0)
                return false;
        /* The service first: it has answered bench-scale only when it had asked us. */
        if (ready[1].revents != 0) {
                if (!client_pump(&program->client, 0))
                        return false;
                obey_service(program);
        }
        return ready[0].revents == 0 || obey_bench(program);
}

static int connect_to(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return fd_close(fd);
        return fd;
}

static bool introduce(ProducerClient *client, unsigned memory_kib) {
        const ClientOptions options = {
                .name = "bench-scale-foreign",
                .memory_bytes = (memory_kib ?: MEMORY_KIB_DEFAULT) * 1024,
                .page_bytes = PAGE_BYTES,
        };

        client->is_silent = true; /* we answer, when the writer's chunk has been returned */
        client_bind(client);
        while (!client->is_bound)
                if (!client_pump(client, WAIT_MS))
                        return false;
        client_initialize(client, &options);
        client_describe_source(client, CLIENT_REGISTER_SOURCE, "track_event", SOURCE_ID, "bench");
        return true;
}

int main(int argc, char *argv[]) {
        const char *path = getenv("PERFETTO_PRODUCER_SOCK_NAME");
        static Program program;
        int fd = path ? connect_to(path) : -1;

        if (fd < 0)
                return EXIT_FAILURE;
        client_init(&program.client, fd);
        if (!introduce(&program.client, argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0))
                return EXIT_FAILURE;
        while (serve(&program))
                ;
        client_deinit(&program.client);
        return EXIT_SUCCESS;
}
