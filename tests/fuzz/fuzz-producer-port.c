/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producers on sockets who say anything: whole frames of any kind and length, half ones, messages that are nearly
 * right, and descriptors where none are wanted, while a session records them.
 *
 * Whatever they say, the service goes on, each is answered or disconnected, and in the end nobody is left.
 */

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/producer.h"
#include "fuzz-quiet-world.h"
#include "fuzz.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "socket/ports.h"
#include "wire/ipc-frame.h"

#define CLIENTS   3
#define STEPS_MAX 400
#define METHODS   13 /* and one that there is not */
#define SECOND    UINT64_C(1000000000)

typedef struct World {
        FuzzInput input;
        Service *service;
        sd_event *event;
        Ports *ports;
        Session *session;
        int clients[CLIENTS];
        uint64_t now;
} World;

static void on_session(void *userdata) {
}

static void on_triggered(void *userdata, const char *trigger, const char *producer, uid_t uid) {
        FUZZ_CHECK(trigger[0] && producer[0]);
}

static const SessionOps session_ops = {
        .changed = on_session,
        .output_due = on_session,
        .triggered = on_triggered,
};

static void serve(World *world) {
        while (sd_event_run(world->event, 0) > 0)
                ports_settle(world->ports);
        ports_settle(world->ports);
        for (unsigned i = 0; service_next_deadline(world->service) <= world->now; i++) {
                FUZZ_CHECK(i < 1000);
                service_tick(world->service, world->now);
        }
}

/* What is sent to them is read now and then, and thrown away. */
static void read_client(int client) {
        uint8_t bytes[4096];
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { bytes, sizeof(bytes) };
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        int fd;

        while (recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0) {
                if (message.msg_controllen > 0) {
                        memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
                        close(fd);
                }
                message.msg_controllen = sizeof(control);
        }
}

static void say(int client, const WireWriter *writer, int fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { writer->start, wire_writer_size(writer) };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        if (fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
        }
        if (sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                read_client(client); /* full, or over: it makes no difference */
}

static int *pick_client(World *world) {
        return &world->clients[fuzz_take(&world->input) % CLIENTS];
}

/* Bound and initialized, and with one source, as most of what there is to say means nothing before. */
static void connect_client(World *world, int *client) {
        static uint8_t memory[1024];
        WireWriter writer;
        int fds[2];

        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        *client = fds[1];
        if (closer_is_full(getuid())) /* of what it has passed before */
                closer_replace(NULL);
        FUZZ_CHECK(ports_accept(world->ports, PORT_PRODUCER, fds[0]) == 0);
        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_bind(&writer, 1, "ProducerPort");
        if (fuzz_take(&world->input) & 1) {
                ipc_put_invoke(&writer, 2, 1, 1, false, "\x1a\x01p", 3);
                ipc_put_invoke(&writer, 3, 1, 5, false, "", 0);
                ipc_put_invoke(&writer, 4, 1, 2, false, "\x0a\x05\x0a\x01s\x10\x01", 7);
        }
        say(*client, &writer, -1);
}

static void step_connect(World *world) {
        int *client = pick_client(world);

        if (*client >= 0)
                *client = fd_close(*client);
        else
                connect_client(world, client);
}

/* A method's message, of the input. */
static void step_call(World *world) {
        static uint8_t memory[IPC_FRAME_BYTES_MAX + 64];
        const int client = *pick_client(world);
        const unsigned method = 1 + fuzz_take(&world->input) % METHODS;
        const unsigned how = fuzz_take(&world->input);
        const uint8_t *data;
        WireWriter writer;
        size_t n;
        int fd;

        n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &data);
        if (client < 0)
                return;
        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_invoke(&writer, 9, 1, method, how & 1, data, n);
        fd = how & 2 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
        say(client, &writer, fd);
        fd_close(fd);
}

/* A commit of a chunk in the message, for the buffers that there may be. */
static void step_commit(World *world) {
        static uint8_t memory[1024];
        const int client = *pick_client(world);
        const uint16_t buffers[] = { 0, world->session->buffers[0].id, 1, UINT16_MAX };
        const unsigned how = fuzz_take(&world->input);
        uint8_t message[512];
        const uint8_t *data;
        WireWriter inner, writer;
        size_t n, move;

        n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &data);
        if (client < 0)
                return;
        wire_writer_init(&inner, message, sizeof(message));
        move = wire_begin(&inner, 1);
        wire_put_uint(&inner, 3, buffers[how & 3]);
        wire_put_bytes(&inner, 4, data, n);
        wire_put_bool(&inner, 5, how & 4);
        wire_end(&inner, move);
        wire_put_uint(&inner, 3, how >> 3);
        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_invoke(&writer, 9, 1, 4, how & 1, message, wire_writer_size(&inner));
        say(client, &writer, -1);
}

static void step_bytes(World *world) {
        const int client = *pick_client(world);
        const uint8_t *data;
        size_t n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &data);

        if (client >= 0)
                send(client, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void step_read(World *world) {
        const int client = *pick_client(world);

        if (client >= 0)
                read_client(client);
}

static void step_flush(World *world) {
        world->now += (1 + fuzz_take(&world->input)) * (SECOND / 100);
        session_flush(world->session, 0, 0, NULL, NULL, world->now);
}

static Session *start_session(World *world) {
        static const char text[] =
                "buffers { size_kb: 128 } data_sources { config { name: \"s\" } } "
                "incremental_state_config { clear_period_ms: 100 }";
        const SessionOptions options = {
                .owner = { .uid = getuid(), .pid = 1 },
                .scope = SESSION_SCOPE_SYSTEM,
        };
        ConfigError config_error;
        SessionError error;
        Session *session;
        Config *config;

        FUZZ_CHECK(config_new_from_text(&config, text, &config_error) == 0);
        FUZZ_CHECK(session_new(&session,
                               world->service,
                               config,
                               &options,
                               &session_ops,
                               world,
                               &error,
                               world->now) == 0);
        session_start(session, world->now);
        return session;
}

static void play(World *world) {
        static void (*const steps[])(World *) = {
                step_connect, step_call,   step_call,  step_commit,
                step_bytes,   step_commit, step_flush, step_read,
        };

        for (unsigned i = 0; i < STEPS_MAX && world->input.n_left > 0; i++) {
                steps[fuzz_take(&world->input) % ARRAY_SIZE(steps)](world);
                serve(world);
        }
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
                                          .uid = 990 };
        World world = { .input = { data, n_bytes }, .now = 100 * SECOND };
        PortsOptions options = {};

        log_set_level(-1);
        for (size_t i = 0; i < CLIENTS; i++)
                world.clients[i] = -1;
        FUZZ_CHECK(service_new(&world.service, &info, &fuzz_service_ops, &world.now, world.now) ==
                   0);
        FUZZ_CHECK(sd_event_new(&world.event) >= 0);
        options.event = world.event;
        options.service = world.service;
        options.info = &info;
        FUZZ_CHECK(ports_new(&world.ports, &options) == 0);
        world.session = start_session(&world);
        for (size_t i = 0; i < CLIENTS; i++)
                connect_client(&world, &world.clients[i]);
        serve(&world);
        play(&world);
        for (size_t i = 0; i < CLIENTS; i++)
                fd_close(world.clients[i]);
        serve(&world);
        FUZZ_CHECK(service_n_producers(world.service) == 0);
        session_free(world.session);
        ports_free(world.ports);
        sd_event_unref(world.event);
        service_free(world.service);
        return 0;
}
