/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The consumer port among strangers: connections that call any method with any message, or send anything at all, with
 * and without descriptors, and go in the middle of it, while permissions are asked for, granted, denied or never
 * answered, and outputs take what they like.
 *
 * Whatever they do: what comes back is frames, no call is answered once more after its last reply, and when the last
 * connection and what was detached have gone, so have all sessions.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "fuzz.h"
#include "owner/permission.h"
#include "shared/fd.h"
#include "socket/ports.h"
#include "wire/ipc-frame.h"

#define CLIENTS       2
#define STEPS_MAX     200
#define QUESTIONS_MAX 4
#define REQUESTS_MAX  256
#define S             UINT64_C(1000000000)

struct AccessQuestion {
        bool is_open;
        AccessDone done;
        void *userdata;
};

struct Output {
        OutputChanged changed;
        void *userdata;
        bool is_finished;
        uint64_t n_written, n_packets;
};

typedef struct Client {
        int fd;
        uint64_t n_requests;
        bool is_over[REQUESTS_MAX]; /* the last reply has come */
        bool is_raw;                /* it may have made calls that it has not counted */
        Bytes received;
} Client;

typedef struct World {
        FuzzInput input;
        Service *service;
        sd_event *event;
        Ports *ports;
        Client clients[CLIENTS];
        AccessQuestion questions[QUESTIONS_MAX];
        uint64_t ahead; /* of the real time */
} World;

static World world;

static int fake_open(Output **ret,
                     void *host,
                     int fd,
                     const OutputOptions *options,
                     OutputChanged changed,
                     void *userdata,
                     const char **ret_why) {
        Output *output;

        if (fuzz_take(&world.input) % 8 == 0) {
                *ret_why = "no";
                return OUTPUT_E_UNUSABLE;
        }
        output = calloc(1, sizeof(*output));
        FUZZ_CHECK(output);
        *output = (Output){ .changed = changed, .userdata = userdata };
        close(fd);
        *ret = output;
        return 0;
}

static size_t fake_room(Output *output) {
        return 64 << 10;
}

static void fake_borrow(Output *output, Bytes *ret) {
        *ret = (Bytes){};
}

static int fake_push(Output *output, Bytes *bytes, bool is_end) {
        FUZZ_CHECK(!output->is_finished);
        output->n_written += bytes->n;
        return fuzz_take(&world.input) == 1 ? -ENOSPC : 0;
}

static void fake_note_read(Output *output, uint64_t n_packets, uint64_t said) {
        FUZZ_CHECK(n_packets >= output->n_packets);
        output->n_packets = n_packets;
}

static bool fake_is_full(Output *output) {
        return false;
}

static void fake_finish(Output *output) {
        output->is_finished = true;
}

static bool fake_is_done(Output *output) {
        return output->is_finished;
}

static int fake_error(Output *output) {
        return 0;
}

static uint64_t fake_n_written(Output *output) {
        return output->n_written;
}

static void fake_give_up(Output *output, int error) {
        output->is_finished = true;
}

static void fake_copy(Output *output, Output *original) {
}

static Output *fake_close(Output *output) {
        free(output);
        return NULL;
}

static const OutputOps output_ops = {
        .open = fake_open,
        .room = fake_room,
        .borrow = fake_borrow,
        .push = fake_push,
        .note_read = fake_note_read,
        .copy = fake_copy,
        .is_full = fake_is_full,
        .finish = fake_finish,
        .is_done = fake_is_done,
        .error = fake_error,
        .n_written = fake_n_written,
        .n_moved = fake_n_written,
        .give_up = fake_give_up,
        .close = fake_close,
};

static int fake_ask_quietly(AccessQuestion **ret,
                            void *host,
                            const AccessPeer *peer,
                            AccessDone done,
                            void *userdata) {
        for (size_t i = 0; i < QUESTIONS_MAX; i++)
                if (!world.questions[i].is_open) {
                        world.questions[i] = (AccessQuestion){ true, done, userdata };
                        *ret = &world.questions[i];
                        return 0;
                }
        return ACCESS_E_REFUSED;
}

static int
fake_ask(AccessQuestion **ret, void *host, const AccessAsk *ask, AccessRefusal *ret_refusal) {
        access_refuse(ret_refusal, ACCESS_LIMIT, "there are too many");
        return fake_ask_quietly(ret, host, ask->peer, ask->done, ask->userdata);
}

static AccessQuestion *fake_cancel(AccessQuestion *question) {
        FUZZ_CHECK(question->is_open);
        question->is_open = false;
        return NULL;
}

static const AccessOps access_ops = {
        .ask = fake_ask,
        .ask_quietly = fake_ask_quietly,
        .cancel = fake_cancel,
};

static size_t fake_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]) {
        ret[0] = (ClockReading){ CLOCK_ID_BOOTTIME, 1 };
        return 1;
}

static void fake_random(void *userdata, void *ret, size_t n_bytes) {
        memset(ret, 7, n_bytes);
}

static void fake_activate(void *userdata, size_t index) {
}

static bool fake_is_suspended(void *userdata, const Identity *identity) {
        return false;
}

static const ServiceOps service_ops = {
        .read_clocks = fake_clocks,
        .random = fake_random,
        .activate = fake_activate,
        .is_suspended = fake_is_suspended,
};

static const char *const configs[] = {
        "buffers { size_kb: 64 } data_sources { config { name: \"track_event\" } }",
        "buffers { size_kb: 64 } data_sources { config { name: \"linux.ftrace\" } }",
        "buffers { size_kb: 64 } data_sources { config { name: \"a\" } } write_into_file: true "
        "unique_session_name: \"name\"",
        "buffers { size_kb: 64 } data_sources { config { name: \"a\" } } deferred_start: true "
        "duration_ms: 1000 bugreport_score: 3 unique_session_name: \"name\"",
        "buffers { size_kb: 64 } data_sources { config { name: \"a\" } } trigger_config { "
        "trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 1000 triggers { name: \"name\" } }",
        "buffers { size_kb: 64 } data_sources { config { name: \"desktrace.self\" } }",
};

static void client_connect(Client *client) {
        int fds[2];

        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        client->fd = fds[0];
        /* Not while its descriptors wait to be closed, which takes threads a moment. */
        if (ports_accept(world.ports, PORT_CONSUMER, fds[1]) < 0)
                client->fd = fd_close(client->fd);
}

static void client_leave(Client *client) {
        fd_close(client->fd);
        bytes_deinit(&client->received);
        *client = (Client){ .fd = -1 };
}

static void run(void) {
        while (sd_event_run(world.event, 0) > 0)
                ports_settle(world.ports);
        ports_settle(world.ports);
}

static void client_send(Client *client, const void *data, size_t n, bool with_fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { (void *)data, n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        if (with_fd && n > 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.header), &client->fd, sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = sizeof(control.space);
        }
        if (sendmsg(client->fd, &message, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
                client_leave(client);
}

static void client_call(Client *client, uint32_t method, const void *data, size_t n, bool with_fd) {
        uint8_t memory[4096];
        WireWriter writer;

        if (client->n_requests + 1 >= REQUESTS_MAX)
                return;
        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_invoke(&writer, ++client->n_requests, 1, method, method & 0x40, data, n);
        if (!wire_writer_failed(&writer))
                client_send(client, memory, wire_writer_size(&writer), with_fd);
}

static void step_bind(Client *client) {
        uint8_t memory[64];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_bind(&writer, 0, "ConsumerPort");
        client_send(client, memory, wire_writer_size(&writer), false);
}

static void step_call(Client *client) {
        const uint32_t method = fuzz_take(&world.input);
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input) & 63, &bytes);

        client_call(client, method % 17, bytes, n, method & 0x80);
}

static void step_enable(Client *client) {
        const uint8_t shape = fuzz_take(&world.input);
        _cleanup_(config_freep) Config *config = NULL;
        uint8_t memory[1024];
        ConfigError error;
        WireWriter writer;

        FUZZ_CHECK(config_new_from_text(&config, configs[shape % 6], &error) == 0);
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bytes(&writer, 1, config->bytes, config->n_bytes);
        client_call(client, 1, memory, wire_writer_size(&writer), shape & 0x80);
}

/* Detach, Attach and CloneSession of what there may be. */
static void step_name(Client *client) {
        static const struct { uint32_t method, field; } calls[] = { { 8, 1 }, { 9, 1 }, { 15, 4 } };
        const uint8_t shape = fuzz_take(&world.input);
        uint8_t memory[64];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        if (shape & 0x40)
                wire_put_uint(&writer, 1, shape % 8);
        else
                wire_put_string(&writer, calls[shape % 3].field, "name");
        client_call(
                client, calls[shape % 3].method, memory, wire_writer_size(&writer), shape & 0x80);
}

static void step_raw(Client *client) {
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input), &bytes);

        client->is_raw = true;
        client_send(client, bytes, n, n & 1);
}

static void step_answer(Client *client) {
        const AccessRefusal denied = { ACCESS_DENIED, "no" };
        const uint8_t shape = fuzz_take(&world.input);
        AccessQuestion *question = &world.questions[shape % QUESTIONS_MAX];

        if (!question->is_open)
                return;
        question->is_open = false;
        question->done(question->userdata, shape & 0x80 ? NULL : &denied);
        run();
}

static void check_frame(Client *client, const uint8_t *data, size_t n) {
        IpcFrame frame;

        FUZZ_CHECK(ipc_frame_read(&frame, data, n) == 0);
        if (frame.kind != IPC_INVOKE_REPLY || client->is_raw)
                return;
        FUZZ_CHECK(frame.request_id <= client->n_requests);
        FUZZ_CHECK(!client->is_over[frame.request_id]);
        client->is_over[frame.request_id] |= !frame.has_more;
}

static void step_read(Client *client) {
        uint8_t piece[4096];
        size_t at = 0, n;
        ssize_t n_read;

        while ((n_read = recv(client->fd, piece, sizeof(piece), 0)) > 0)
                FUZZ_CHECK(bytes_append(&client->received, piece, (size_t)n_read) == 0);
        while (at < client->received.n &&
               ipc_frame_next(client->received.data + at, client->received.n - at, &n) > 0) {
                check_frame(client,
                            client->received.data + at + IPC_LENGTH_BYTES,
                            n - IPC_LENGTH_BYTES);
                at += n;
        }
        client->received.n -= at;
        if (at > 0)
                memmove(client->received.data, client->received.data + at, client->received.n);
        if (n_read == 0)
                client_leave(client);
}

static void step_run(Client *client) {
        run();
}

static void step_time(Client *client) {
        world.ahead += fuzz_take(&world.input) * S / 8;
        service_tick(world.service, world.ahead);
        ports_tick(world.ports, world.ahead);
        run();
}

static void play(void) {
        static void (*const steps[])(Client *) = {
                step_bind, step_call, step_enable, step_name, step_answer,
                step_read, step_run,  step_time,   step_raw,  client_leave,
        };

        for (unsigned i = 0; i < STEPS_MAX && world.input.n_left > 0; i++) {
                const uint8_t shape = fuzz_take(&world.input);
                Client *client = &world.clients[shape >> 7];

                if (client->fd < 0)
                        client_connect(client);
                if (client->fd < 0)
                        continue;
                steps[shape % 10](client);
        }
        run();
}

static void world_open(bool is_private) {
        static ServiceInfo info = { .version = "fuzz",
                                    .sysname = "Linux",
                                    .release = "6",
                                    .kernel_version = "#1",
                                    .machine = "none",
                                    .hz = 100,
                                    .page_size = 4096,
                                    .n_cpus = 1,
                                    .uid = 990,
                                    .probes_uid = 991 };
        PortsOptions options = { .info = &info, .output_ops = &output_ops };

        info.is_private = is_private;
        FUZZ_CHECK(sd_event_new(&world.event) >= 0);
        FUZZ_CHECK(sd_event_now(world.event, CLOCK_BOOTTIME, &world.ahead) >= 0);
        world.ahead *= 1000;
        FUZZ_CHECK(service_new(&world.service, &info, &service_ops, &world, world.ahead) == 0);
        options.event = world.event;
        options.service = world.service;
        FUZZ_CHECK(ports_new(&world.ports, &options) == 0);
        ports_set_access(world.ports, &(AccessHost){ .ops = &access_ops });
        for (size_t i = 0; i < CLIENTS; i++)
                world.clients[i].fd = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        world = (World){ .input = { data, n_bytes } };
        world_open(fuzz_take(&world.input) & 1);
        play();
        for (size_t i = 0; i < CLIENTS; i++)
                client_leave(&world.clients[i]);
        run();
        for (size_t i = 0; i < QUESTIONS_MAX; i++)
                FUZZ_CHECK(!world.questions[i].is_open);
        ports_free(world.ports);
        FUZZ_CHECK(service_n_sessions(world.service) == 0);
        service_free(world.service);
        sd_event_unref(world.event);
        return 0;
}
