/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Clients on the native socket who say anything: bytes of D-Bus through the gate and sd-bus up to the core. They send
 * calls of our interfaces with bodies of any kind, with descriptors or without, nearly right messages, and bytes that
 * are none, and read what they are sent only now and then.
 *
 * Whatever they say, the service goes on, and in the end nobody is left and nothing is held for them.
 */

#include <endian.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus/bus.h"
#include "fuzz-quiet-world.h"
#include "fuzz.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

#define CLIENTS       3
#define STEPS_MAX     200
#define TURNS_MAX     100
#define MESSAGE_BYTES 1024
#define SECOND        UINT64_C(1000000000)

typedef struct World {
        FuzzInput input;
        Service *service;
        sd_event *event;
        Bus *bus;
        int clients[CLIENTS];
        uint64_t now;
} World;

/* Nothing is written anywhere: what is fuzzed ends here. */
static int on_open(Output **ret,
                   void *host,
                   int fd,
                   const OutputOptions *options,
                   OutputChanged changed,
                   void *userdata,
                   const char **ret_why) {
        FUZZ_CHECK(fcntl(fd, F_GETFD) >= 0);
        *ret_why = "nothing is written here";
        return OUTPUT_E_UNUSABLE;
}

static const OutputOps output_ops = { .open = on_open };

static void serve(World *world) {
        for (unsigned i = 0; i < TURNS_MAX && sd_event_run(world->event, 0) > 0; i++)
                bus_settle(world->bus);
        bus_settle(world->bus);
        bus_tick(world->bus, world->now);
}

static void read_client(int client) {
        uint8_t bytes[4096], control[CMSG_SPACE(sizeof(int[64]))];
        struct iovec piece = { bytes, sizeof(bytes) };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        int fds[64];
        size_t n;

        do {
                message.msg_control = control;
                message.msg_controllen = sizeof(control);
                if (recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
                        return;
                n = fd_list_received(&message, fds, 64);
                while (n > 0)
                        fd_close(fds[--n]);
        } while (true);
}

static void say(int client, const void *data, size_t n, unsigned n_fds) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[4]))];
        } control = {};
        struct iovec piece = { (void *)data, n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int fds[4] = { fd, fd, fd, fd };

        if (n_fds > 0) {
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                control.header =
                        (struct cmsghdr){ CMSG_LEN(n_fds * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
                memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
        }
        if (client >= 0 && n > 0 && sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                read_client(client); /* full, or over: it makes no difference */
        fd_close(fd);
}

static int *pick_client(World *world) {
        return &world->clients[fuzz_take(&world->input) % CLIENTS];
}

static void step_connect(World *world) {
        int *client = pick_client(world);
        char hello[128] = "", uid[16];
        size_t n = 1;
        int fds[2];

        if (*client >= 0) {
                *client = fd_close(*client);
                return;
        }
        FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        *client = fds[1];
        if (bus_accept(world->bus, fds[0]) < 0 || fuzz_take(&world->input) % 8 == 7)
                return;
        snprintf(uid, sizeof(uid), "%u", (unsigned)getuid());
        n += (size_t)sprintf(hello + n, "AUTH EXTERNAL ");
        for (const char *at = uid; *at; at++)
                n += (size_t)sprintf(hello + n, "%02x", (unsigned char)*at);
        n += (size_t)sprintf(hello + n, "\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n");
        say(*client, hello, n, 0);
}

/* Of our objects, and the signature that each wants: most bodies then are nearly right. */
static const struct {
        const char *path, *interface, *member, *signature;
} calls[] = {
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "RegisterProducer", "sa(sa{sv})a{sv}" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "RegisterDataSource", "sa{sv}" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "UnregisterDataSource", "s" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "StartSession", "a{sv}" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "ActivateTriggers", "a(su)" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListSources", "" },
        { TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListCategories", "" },
        { TRACING_PATH, "org.freedesktop.DBus.Properties", "GetAll", "s" },
        { TRACING_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "" },
        { TRACING_SESSION_PATH "/1", TRACING_SESSION_INTERFACE, "ReadInto", "h" },
        { TRACING_SESSION_PATH "/1", TRACING_SESSION_INTERFACE, "Read", "u" },
        { TRACING_SESSION_PATH "/1", TRACING_SESSION_INTERFACE, "Clone", "a{sv}" },
        { TRACING_SESSION_PATH "/1", TRACING_SESSION_INTERFACE, "ChangeConfig", "a{sv}" },
        { TRACING_SESSION_PATH "/1", TRACING_SESSION_INTERFACE, "Stop", "" },
        { "/", "org.freedesktop.DBus.Peer", "Ping", "" },
};

static size_t put_u32(uint8_t *at, uint32_t value) {
        value = htole32(value);
        memcpy(at, &value, sizeof(value));
        return sizeof(value);
}

static size_t put_field(uint8_t *message, size_t n, uint8_t code, char type, const char *text) {
        const size_t n_text = strlen(text);

        n = ALIGN_UP(n, 8);
        message[n++] = code;
        message[n++] = 1;
        message[n++] = (uint8_t)type;
        message[n++] = 0;
        if (type == 'g')
                message[n++] = (uint8_t)n_text;
        else
                n += put_u32(message + n, (uint32_t)n_text);
        memcpy(message + n, text, n_text + 1);
        return n + n_text + 1;
}

static size_t put_header(uint8_t *message, size_t i, unsigned n_fds, size_t n_body) {
        size_t n = 16;

        memset(message, 0, MESSAGE_BYTES);
        memcpy(message, "l\1\0\1", 4);
        put_u32(message + 4, (uint32_t)n_body);
        put_u32(message + 8, 7);
        n = put_field(message, n, 1, 'o', calls[i].path);
        n = put_field(message, n, 2, 's', calls[i].interface);
        n = put_field(message, n, 3, 's', calls[i].member);
        if (calls[i].signature[0])
                n = put_field(message, n, 8, 'g', calls[i].signature);
        if (n_fds > 0) {
                n = ALIGN_UP(n, 8);
                memcpy(message + n, "\11\1u\0", 4);
                n += 4 + put_u32(message + n + 4, n_fds);
        }
        put_u32(message + 12, (uint32_t)(n - 16));
        return ALIGN_UP(n, 8);
}

/* A call with a body of the input; or with some of its header changed. */
static void step_call(World *world) {
        const int client = *pick_client(world);
        const size_t i = fuzz_take(&world->input) % ARRAY_SIZE(calls);
        const unsigned how = fuzz_take(&world->input), n_fds = how & 3;
        uint8_t message[MESSAGE_BYTES];
        const uint8_t *body;
        size_t n, n_body;

        n_body = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &body);
        n = put_header(message, i, n_fds, n_body);
        memcpy(message + n, body, n_body);
        if (how & 4)
                message[fuzz_take(&world->input) % n] ^= fuzz_take(&world->input);
        say(client, message, n + n_body - (how & 8 && n_body > 0), how & 16 ? 4 - n_fds : n_fds);
}

static void step_bytes(World *world) {
        const int client = *pick_client(world);
        const uint8_t *data;
        size_t n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &data);

        say(client, data, n, 0);
}

static void step_read(World *world) {
        const int client = *pick_client(world);

        if (client >= 0)
                read_client(client);
        world->now += SECOND / 10;
}

static void play(World *world) {
        static void (*const steps[])(World *) = {
                step_connect, step_call, step_call, step_bytes, step_call, step_read,
        };

        for (unsigned i = 0; i < STEPS_MAX && world->input.n_left > 0; i++) {
                steps[fuzz_take(&world->input) % ARRAY_SIZE(steps)](world);
                serve(world);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static const ServiceInfo info = { .version = "0", .page_size = 4096, .is_private = true };
        World world = { .input = { data, n_bytes }, .now = SECOND };
        BusOptions options = { .info = &info, .output_ops = &output_ops };

        log_set_level(LOG_EMERG);
        for (size_t i = 0; i < CLIENTS; i++)
                world.clients[i] = -1;
        FUZZ_CHECK(sd_event_new(&world.event) >= 0);
        FUZZ_CHECK(service_new(&world.service, &info, &fuzz_service_ops, &world.now, world.now) ==
                   0);
        options.event = world.event;
        options.service = world.service;
        FUZZ_CHECK(bus_new(&world.bus, &options) == 0);
        play(&world);
        for (size_t i = 0; i < CLIENTS; i++)
                fd_close(world.clients[i]);
        serve(&world);
        serve(&world);
        FUZZ_CHECK(world.bus->n_private_clients == 0);
        FUZZ_CHECK(gates_n_bytes(world.bus->gates, getuid()) == 0);
        bus_free(world.bus);
        service_free(world.service);
        sd_event_unref(world.event);
        return 0;
}
