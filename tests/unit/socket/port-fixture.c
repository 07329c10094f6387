/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port-fixture.h"
#include "shared/fd.h"
#include "socket/link/link.h"

Ports *ports;
static sd_event *event;
PortConnection *connection;
size_t n_open, n_calls, n_drained, n_works, n_slow, n_slow_before;
int taken_fd;
int open_answer, break_error;

static int echo(void *port, const PortRequest *request, const void *data, size_t n_data) {
        n_calls++;
        if (n_data > 0 && data && *(const char *)data == '?')
                n_slow_before = n_slow;
        port_reply(port, request, false, data, n_data);
        return 0;
}

/* Sends it back, too. */
static int take_fd(void *port, const PortRequest *request, const void *data, size_t n_data) {
        taken_fd = port_connection_take_fd(port);
        if (taken_fd < 0)
                return PORT_E_REFUSED;
        port_reply_with_fd(port, request, false, "x", 1, taken_fd);
        return 0;
}

/* As many replies as the request has bytes, 64 KiB each, with their number. */
static int flood(void *port, const PortRequest *request, const void *data, size_t n_data) {
        static uint8_t piece[64 << 10];

        for (size_t i = 0; i < n_data; i++) {
                piece[0] = (uint8_t)i;
                port_reply(port, request, i + 1 < n_data, piece, sizeof(piece));
        }
        port_connection_mark(port);
        return 0;
}

static int break_it(void *port, const PortRequest *request, const void *data, size_t n_data) {
        return break_error;
}

/* For longer than a turn. */
static int slow(void *port, const PortRequest *request, const void *data, size_t n_data) {
        n_slow++;
        usleep(2 * PORTS_TURN_NS / 1000);
        return echo(port, request, data, n_data);
}

/* A reply that no frame can hold. */
static int reply_long(void *port, const PortRequest *request, const void *data, size_t n_data) {
        static const uint8_t piece[IPC_FRAME_BYTES_MAX];

        port_reply(port, request, false, piece, sizeof(piece));
        return 0;
}

static const PortMethod methods[] = {
        { "Echo", echo },      { "TakeFd", take_fd }, { "Missing", NULL },    { "Flood", flood },
        { "Break", break_it }, { "Slow", slow },      { "Long", reply_long },
};

static int fake_open(void **ret, PortConnection *opened) {
        n_open += open_answer == 0;
        connection = opened;
        *ret = opened;
        return open_answer;
}

/* Still says something, as a service may that has calls to answer. */
static void fake_close(void *port) {
        port_fail(port, &(PortRequest){ .id = 99 });
        n_open--;
}

static void fake_drained(void *port) {
        n_drained++;
}

static void fake_work(void *port) {
        n_works++;
}

static const PortService fake_service = {
        .name = "FakePort",
        .methods = methods,
        .n_methods = ARRAY_SIZE(methods),
        .open = fake_open,
        .close = fake_close,
        .drained = fake_drained,
        .work = fake_work,
};

static Service *service;
static const ServiceInfo info = { .ram_bytes = UINT64_C(16) << 30 };

static void no_random(void *userdata, void *ret, size_t n_bytes) {
        memset(ret, 0, n_bytes);
}

static const ServiceOps ops = { .random = no_random };

void port_setup(void) {
        const PortsOptions options = {
                .services = { [PORT_PRODUCER] = &fake_service, [PORT_CONSUMER] = &fake_service }
        };
        PortsOptions with_event = options;

        n_open = n_calls = n_drained = n_works = n_slow = 0;
        taken_fd = -1;
        open_answer = 0;
        break_error = -EBADMSG;
        ck_assert_int_ge(sd_event_new(&event), 0);
        with_event.event = event;
        ck_assert_int_eq(service_new(&service, &info, &ops, NULL, 0), 0);
        with_event.service = service;
        ck_assert_int_eq(ports_new(&ports, &with_event), 0);
}

void port_teardown(void) {
        ports = ports_free(ports);
        ck_assert_uint_eq(n_open, 0);
        service = service_free(service);
        event = sd_event_unref(event);
}

int connect_client(void) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(ports_accept(ports, PORT_CONSUMER, fds[0]), 0);
        return fds[1];
}

/* Until there is nothing to do. */
void run(void) {
        while (sd_event_run(event, 0) > 0)
                ports_settle(ports);
        ports_settle(ports);
}

uint8_t frame_memory[IPC_FRAME_BYTES_MAX + 64];
WireWriter writer;

WireWriter *begin(void) {
        wire_writer_init(&writer, frame_memory, sizeof(frame_memory));
        return &writer;
}

void send_bytes(int client, const void *data, size_t n) {
        ck_assert_int_eq(send(client, data, n, MSG_NOSIGNAL), (ssize_t)n);
}

void send_frame(int client) {
        ck_assert(!wire_writer_failed(&writer));
        send_bytes(client, frame_memory, wire_writer_size(&writer));
}

void send_with_fds(int client, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(4 * sizeof(int))];
        } control = {};
        struct iovec piece = { frame_memory, wire_writer_size(&writer) };
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = CMSG_SPACE(n_fds * sizeof(int)) };

        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
        ck_assert_int_eq(sendmsg(client, &message, 0), (ssize_t)piece.iov_len);
}

Bytes received;

void receive_all(int client) {
        uint8_t piece[4096];
        ssize_t n;

        received.n = 0;
        for (;;) {
                run();
                n = recv(client, piece, sizeof(piece), MSG_DONTWAIT);
                if (n <= 0)
                        return;
                ck_assert_int_eq(bytes_append(&received, piece, (size_t)n), 0);
        }
}

/* Takes the first of what was received. */
bool next_frame(IpcFrame *ret) {
        static uint8_t memory[IPC_FRAME_BYTES_MAX];
        size_t n;

        if (ipc_frame_next(received.data, received.n, &n) <= 0)
                return false;
        memcpy(memory, received.data, n);
        received.n -= n;
        memmove(received.data, received.data + n, received.n);
        ck_assert_int_eq(ipc_frame_read(ret, memory + IPC_LENGTH_BYTES, n - IPC_LENGTH_BYTES), 0);
        return true;
}

/* The one reply there is. */
IpcFrame receive_frame(int client) {
        IpcFrame frame;

        receive_all(client);
        ck_assert(next_frame(&frame));
        ck_assert_uint_eq(received.n, 0);
        return frame;
}

bool is_disconnected(int client) {
        uint8_t byte;

        run();
        return recv(client, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

int bound_client(void) {
        const int client = connect_client();
        IpcFrame frame;

        ipc_put_bind(begin(), 1, "FakePort");
        send_frame(client);
        frame = receive_frame(client);
        ck_assert_int_eq(frame.kind, IPC_BIND_REPLY);
        ck_assert(frame.success);
        return client;
}

void call(int client, uint32_t method, const char *text) {
        ipc_put_invoke(begin(), 2, 1, method, false, text, strlen(text));
        send_frame(client);
}

void assert_is_served(int client) {
        IpcFrame frame;

        call(client, METHOD_ECHO, "hello");
        frame = receive_frame(client);
        ck_assert_int_eq(frame.kind, IPC_INVOKE_REPLY);
        ck_assert(frame.success);
        ck_assert_uint_eq(frame.n_data, 5);
        ck_assert_int_eq(memcmp(frame.data, "hello", 5), 0);
}
