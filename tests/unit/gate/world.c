/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fd.h"
#include "test.h"
#include "world.h"

#define TURNS_MAX 200

static void on_passed(void *userdata) {
        ((GateWorld *)userdata)->n_passed++;
}

static bool ask(void *userdata, const GateQuestion *question, GateAnswer *ret) {
        GateWorld *world = userdata;
        uint8_t first;

        if (world->answers_later) {
                world->question = *question;
                return false;
        }
        *ret = (GateAnswer){ .user = ALICE };
        ret->is_wanted =
                !question->is_refused && world->known && streq(world->known, question->sender);
        if (!ret->is_wanted)
                ret->n_dropped = (size_t)recv(question->fd, &first, sizeof(first), MSG_DONTWAIT);
        return true;
}

static void world_new(GateWorld *world, Gates *gates, uid_t uid, bool is_bus) {
        int fds[2];
        GateOptions options = {
                .uid = uid,
                .user = ALICE,
                .is_bus = is_bus,
                .guid = GUID,
                .passed = on_passed,
                .ask = ask,
                .userdata = world,
        };

        *world = (GateWorld){ .gates = gates };
        if (!gates)
                ck_assert_int_eq(gates_new(&world->gates), 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        world->peer = fds[0];
        options.fd = fds[1];
        ck_assert_int_eq(gate_new(&world->gate, &world->service, world->gates, &options), 0);
}

void gate_world_new(GateWorld *world, Gates *gates) {
        world_new(world, gates, ALICE, false);
}

static void expect(int fd, const char *text, size_t n) {
        char said[512];

        ck_assert_uint_eq(receive(fd, said, sizeof(said), NULL, NULL), n);
        ck_assert_mem_eq(said, text, n);
}

/* `hello` is with the decimal digits of the uid, in hexadecimal ones. */
static void
world_begin(GateWorld *world, Gates *gates, uid_t uid, const char *hello, size_t n_hello) {
        static const char answer[] = "OK " GUID "\r\nAGREE_UNIX_FD\r\n";
        char said[512];
        size_t n;

        world_new(world, gates, uid, false);
        send_all(world->peer, hello, n_hello);
        gate_world_run(world);
        expect(world->peer, answer, sizeof(answer) - 1);
        n = receive(world->service, said, sizeof(said), NULL, NULL);
        ck_assert_uint_gt(n, 7);
        ck_assert_mem_eq(said + n - 7, "BEGIN\r\n", 7);
        send_all(world->service, answer, sizeof(answer) - 1);
        gate_world_run(world);
        ck_assert_uint_eq(receive(world->peer, said, sizeof(said), NULL, NULL), 0);
}

void gate_world_begin(GateWorld *world, Gates *gates) {
        static const char hello[] = "\0AUTH EXTERNAL 31303030\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";

        world_begin(world, gates, ALICE, hello, sizeof(hello) - 1);
}

void gate_world_begin_subordinate(GateWorld *world, Gates *gates) {
        static const char hello[] = "\0AUTH EXTERNAL 31303031\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";

        world_begin(world, gates, ALICE_SUBORDINATE, hello, sizeof(hello) - 1);
}

void gate_world_begin_bus(GateWorld *world) {
        static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
        static const char answer[] = "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n";

        world_new(world, NULL, 0, true);
        send_all(world->service, hello, sizeof(hello) - 1);
        gate_world_run(world);
        expect(world->peer, hello, sizeof(hello) - 1);
        send_all(world->peer, answer, sizeof(answer) - 1);
        gate_world_run(world);
        expect(world->service, answer, sizeof(answer) - 1);
}

void gate_world_leave(GateWorld *world) {
        world->gate = gate_free(world->gate);
        world->peer = fd_close(world->peer);
        world->service = fd_close(world->service);
}

void gate_world_end(GateWorld *world) {
        gate_world_leave(world);
        world->gates = gates_free(world->gates);
}

void gate_world_run(GateWorld *world) {
        for (unsigned i = 0; i < TURNS_MAX; i++)
                gates_turn(world->gates);
}

static size_t put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
        return sizeof(value);
}

/* A field of one string, or with text NULL of one number. */
static size_t
put_field(uint8_t *at, size_t offset, uint8_t code, const char *text, uint32_t value) {
        size_t n = ALIGN_UP(offset, 8) - offset;

        memset(at, 0, n);
        at[n++] = code;
        at[n++] = 1;
        at[n++] = text ? 's' : 'u';
        at[n++] = 0;
        if (!text)
                return n + put_u32(at + n, value);
        n += put_u32(at + n, (uint32_t)strlen(text));
        memcpy(at + n, text, strlen(text) + 1);
        return n + strlen(text) + 1;
}

size_t make_message(uint8_t *ret, size_t n_body, unsigned n_fds, const char *sender) {
        size_t n = 16;

        memcpy(ret, "l\1\0\1", 4);
        put_u32(ret + 4, (uint32_t)n_body);
        put_u32(ret + 8, 1);
        n += put_field(ret + n, n, 3, "Member", 0);
        if (n_fds > 0)
                n += put_field(ret + n, n, 9, NULL, n_fds);
        if (sender)
                n += put_field(ret + n, n, 7, sender, 0);
        put_u32(ret + 12, (uint32_t)(n - 16));
        memset(ret + n, 0, ALIGN_UP(n, 8) - n);
        n = ALIGN_UP(n, 8);
        for (size_t i = 0; i < n_body; i++)
                ret[n + i] = (uint8_t)(i * 7);
        return n + n_body;
}

void send_with_fds(int fd, const void *data, size_t n, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[64]))];
        } control = {};
        struct iovec piece = { .iov_base = (void *)data, .iov_len = n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        if (n_fds > 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        }
        ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), (ssize_t)n);
}

void send_all(int fd, const void *data, size_t n) {
        send_with_fds(fd, data, n, NULL, 0);
}

size_t receive(int fd, void *data, size_t n, int *fds, size_t *ret_n_fds) {
        uint8_t control[CMSG_SPACE(sizeof(int[64]))];
        struct iovec piece = { .iov_base = data, .iov_len = n };
        struct msghdr message = {
                .msg_iov = &piece,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control),
        };
        int none[64];
        ssize_t n_read = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        const size_t n_fds = n_read > 0 ? fd_list_received(&message, fds ? fds : none, 64) : 0;

        if (ret_n_fds)
                *ret_n_fds = n_fds;
        else
                ck_assert_uint_eq(n_fds, 0);
        return n_read > 0 ? (size_t)n_read : 0;
}

bool has_ended(int fd) {
        uint8_t rest[4096];
        ssize_t n;

        do
                n = recv(fd, rest, sizeof(rest), MSG_DONTWAIT);
        while (n > 0);
        return n == 0 || errno == ECONNRESET;
}

bool is_same_file(int a, int b) {
        struct stat x, y;

        return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
               x.st_dev == y.st_dev;
}

int some_file(void) {
        int fd = memfd_create("some", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}
