/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The library in a program whose service is hostile: it passes memory of any layout and with any contents, changes it
 * at any moment, passes descriptors of any kind, calls anything in any order, answers as it likes, and sends bytes that
 * are no message.
 *
 * Whatever it does: the program goes on, and its events leave errno alone. When the service has gone, each instance has
 * ended, exactly once, and descriptors do not pile up. The library's thread does not run: the target does what it does.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "desktrace/track-event.h"
#include "desktrace/trigger.h"
#include "fuzz.h"
#include "lib/connection.h"
#include "lib/observer.h"
#include "lib/source-private.h"
#include "lib/startup.h"
#include "lib/trigger.h"
#include "lib/writer.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "smb/smb-reader.h"

#define STEPS_MAX   200
#define ROUNDS_MAX  64
#define REPLIES_MAX 16
#define IDS         8 /* of instances: the same ones come again */

/* A thread lets go of the memory of a session that is over with one of its next events; and what the fuzzer opens. */
#define DESCRIPTORS_KEPT (2 * DT_SESSIONS_MAX + 8)

typedef struct World {
        FuzzInput input;
        Connection *connection;
        int listen_fd;
        sd_bus *service; /* its end of the connection; NULL: it has gone */
        SmbArea area;    /* of the memory that it passed last */
        size_t n_memory;
        int bell_fd; /* its end */
        dt_source *source;
        dt_reply *replies[REPLIES_MAX];
        dt_instance *instances[IDS]; /* that record */
        dt_writer *writers[IDS];
        unsigned n_instances;
} World;

static World world;

DT_CATEGORY(fuzzed, "fuzzed", "What the target emits");

/*
 * The program: a source that answers some requests later
 */

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        if (n_config > 0 && ((const uint8_t *)config)[n_config - 1] == 'r')
                return "refused";
        world.n_instances++;
        return NULL;
}

static void answer_or_keep(dt_reply *reply) {
        const uint8_t how = fuzz_take(&world.input);

        if (how < 0xc0) {
                dt_reply_done(reply, how == 1 ? "no" : NULL);
                return;
        }
        if (world.replies[how % REPLIES_MAX])
                dt_reply_done(world.replies[how % REPLIES_MAX], NULL);
        world.replies[how % REPLIES_MAX] = reply;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        for (size_t i = 0; i < IDS; i++)
                if (!world.instances[i]) {
                        world.instances[i] = instance;
                        dt_writer_new(&world.writers[i], instance, DT_FULL_DROP);
                        break;
                }
        answer_or_keep(reply);
}

static void on_asked(dt_instance *instance, dt_reply *reply, void *userdata) {
        answer_or_keep(reply);
}

static void on_gone(dt_instance *instance, void *userdata) {
        FUZZ_CHECK(world.n_instances > 0);
        world.n_instances--;
        for (size_t i = 0; i < IDS; i++)
                if (world.instances[i] == instance) {
                        world.writers[i] = dt_writer_free(world.writers[i]);
                        world.instances[i] = NULL;
                }
}

static const dt_source_ops ops = {
        .setup = on_setup,
        .start = on_start,
        .flush = on_asked,
        .stop = on_asked,
        .gone = on_gone,
};

/*
 * The service's end
 */

static int put_any(sd_bus_message *message) {
        static const char *const types[] = { "s", "u", "t", "ay", "as", "a{sv}", "h", "(ts)" };
        const char *type = types[fuzz_take(&world.input) % ARRAY_SIZE(types)];
        const uint64_t number = fuzz_take_16(&world.input);

        switch (type[0]) {
        case 's':
                return sd_bus_message_append(message, "s", number & 1 ? "track_event" : "");
        case 'u':
                return sd_bus_message_append(message, "u", (uint32_t)number);
        case 't':
                return sd_bus_message_append(message, "t", number);
        case 'h':
                return sd_bus_message_append(message, "h", STDIN_FILENO);
        case '(':
                return sd_bus_message_append(message, type, number, "fuzz");
        default:
                return sd_bus_message_append(message, type, 0);
        }
}

/* What the library calls is answered as it should be, with an error, with something else, or never. */
static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const uint8_t how = fuzz_take(&world.input);
        uint8_t kind;

        if (sd_bus_message_get_type(call, &kind) < 0 || kind != SD_BUS_MESSAGE_METHOD_CALL ||
            how == 0xff)
                return 1;
        if (how == 0xfe)
                return sd_bus_reply_method_errorf(call, TRACING_ERROR_PREFIX "Fuzz", "no");
        if (sd_bus_message_new_method_return(call, &reply) < 0)
                return 1;
        if (how >= 0xf0)
                put_any(reply);
        else
                sd_bus_message_append(reply, "o", "/fuzz");
        sd_bus_send(NULL, reply, NULL);
        return 1;
}

static void service_leave(void) {
        world.service = sd_bus_close_unref(world.service);
}

static void service_join(void) {
        static const sd_id128_t id = { .bytes = { 1 } };
        int fd;

        world.connection->retry_ns = 0;
        connection_run(world.connection, library_now_ns());
        fd = accept4(world.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        FUZZ_CHECK(fd >= 0);
        FUZZ_CHECK(sd_bus_new(&world.service) >= 0);
        FUZZ_CHECK(sd_bus_set_fd(world.service, fd, fd) >= 0);
        FUZZ_CHECK(sd_bus_set_server(world.service, true, id) >= 0);
        FUZZ_CHECK(sd_bus_negotiate_fds(world.service, true) >= 0);
        FUZZ_CHECK(sd_bus_add_filter(world.service, NULL, on_call, NULL) >= 0);
        FUZZ_CHECK(sd_bus_start(world.service) >= 0);
}

static bool service_run(void) {
        int r = world.service ? sd_bus_process(world.service, NULL) : 0;

        if (r < 0)
                service_leave();
        return r > 0;
}

/* What the library's thread does in each turn. */
static void library_run(void) {
        connection_run(world.connection, library_now_ns());
        observers_greet();
        startup_run();
        sources_remove_doomed();
        triggers_send(library_now_ns());
        replies_send();
}

static void run(void) {
        bool is_busy = true;

        for (unsigned i = 0; is_busy && i < ROUNDS_MAX; i++) {
                is_busy = service_run();
                library_run();
        }
}

static void call_producer(sd_bus_message *call) {
        sd_bus_message_set_expect_reply(call, fuzz_take(&world.input) & 1);
        sd_bus_send(world.service, call, NULL);
}

static int new_call(sd_bus_message **ret, const char *member) {
        if (!world.service)
                return -ENOTCONN;
        return sd_bus_message_new_method_call(world.service,
                                              ret,
                                              NULL,
                                              TRACING_PRODUCER_OBJECT,
                                              TRACING_PRODUCER_INTERFACE,
                                              member);
}

/*
 * Steps of the service
 */

static uint64_t take_id(void) {
        return fuzz_take(&world.input) % IDS;
}

static void memory_forget(void) {
        if (world.area.memory)
                munmap(world.area.memory, world.n_memory);
        world.area = (SmbArea){};
        world.bell_fd = fd_close(world.bell_fd);
}

/* A memfd, as it should be but for what the input says. */
static int memory_make(void) {
        const uint8_t shape = fuzz_take(&world.input), lie = fuzz_take(&world.input);
        const uint32_t page_bytes = 4096u << (shape & 1);
        const size_t n_pages_bytes = (1 + (shape >> 1 & 7)) * (size_t)page_bytes;
        int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        uint32_t *geometry;

        world.n_memory = smb_native_bytes(n_pages_bytes, page_bytes);
        FUZZ_CHECK(fd >= 0 && ftruncate(fd, (off_t)world.n_memory) == 0);
        geometry = mmap(NULL, world.n_memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        FUZZ_CHECK(geometry != MAP_FAILED);
        smb_area_create(&world.area, geometry, n_pages_bytes, page_bytes);
        if (lie & 0x80)
                geometry[lie % 6] ^= 1u << (fuzz_take(&world.input) % 32);
        if (!(shape & 0x80))
                fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        return fd;
}

/* What a service may pass; the library's end. The other one is returned where it is of use. */
static int descriptor_make(uint8_t kind, int *ret_other) {
        int fds[2] = { -1, -1 };

        *ret_other = -1;
        switch (kind % 8) {
        case 0:
                return open("/dev/null", O_RDWR | O_CLOEXEC);
        case 1:
                return memfd_create("fuzz-other", MFD_CLOEXEC);
        case 2:
                return open("/proc/thread-self", O_PATH | O_NOFOLLOW | O_CLOEXEC);
        case 3: /* a pipe that nothing comes out of, and one that nobody reads */
        case 4:
                FUZZ_CHECK(pipe2(fds, O_CLOEXEC) == 0);
                *ret_other = fds[kind % 2];
                return fds[1 - kind % 2];
        case 5:
                FUZZ_CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) == 0);
                *ret_other = fds[1];
                return fds[0];
        case 6:
                return epoll_create1(EPOLL_CLOEXEC);
        default:
                return eventfd(0, EFD_CLOEXEC | (kind & 8 ? 0 : EFD_NONBLOCK));
        }
}

static void step_setup_tracing(void) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        _cleanup_(fd_closep) int memory_fd = -1, doorbell_fd = -1, bell_fd = -1, reader_fd = -1;
        const uint8_t kind = fuzz_take(&world.input);

        memory_forget();
        memory_fd = memory_make();
        doorbell_fd = kind & 1 ? descriptor_make(fuzz_take(&world.input), &reader_fd)
                               : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        bell_fd = descriptor_make(kind & 2 ? fuzz_take(&world.input) : 5, &world.bell_fd);
        FUZZ_CHECK(doorbell_fd >= 0 && bell_fd >= 0);
        if (new_call(&call, "SetupTracing") < 0)
                return;
        sd_bus_message_append(call,
                              "hha{sv}",
                              kind & 4 ? doorbell_fd : memory_fd,
                              doorbell_fd,
                              kind & 8 ? 1 : 2,
                              "bell",
                              "h",
                              bell_fd,
                              "task-link",
                              "h",
                              kind & 16 ? memory_fd : bell_fd);
        call_producer(call);
}

/* A config with a buffer and a policy that does not wait, behind whatever the input has. */
static void step_setup_source(void) {
        static const uint8_t end[] = { 0x10, 5, 0x48, 1 };
        static const char *const names[] = { "fuzz", "track_event", "other" };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const uint8_t shape = fuzz_take(&world.input);
        const uint64_t id = take_id();
        uint8_t config[512];
        const uint8_t *data;
        size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input), &data);

        memcpy(config, data, n);
        if (!(shape & 8)) {
                memcpy(config + n, end, sizeof(end));
                n += sizeof(end);
        }
        if (new_call(&call, "SetupDataSource") < 0)
                return;
        sd_bus_message_append(call, "ts", id, names[(shape >> 1 & 3) % 3]);
        sd_bus_message_append_array(call, 'y', config, n);
        sd_bus_message_append(call, "a{sv}", 1, "start", "b", shape & 1);
        call_producer(call);
}

static void step_source(void) {
        static const char *const members[] = { "StartDataSource", "StopDataSource" };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        if (new_call(&call, members[fuzz_take(&world.input) & 1]) < 0)
                return;
        sd_bus_message_append(call, "t", take_id());
        call_producer(call);
}

static void step_flush(void) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const uint8_t shape = fuzz_take(&world.input);

        if (new_call(&call, shape & 1 ? "Flush" : "ClearIncrementalState") < 0)
                return;
        sd_bus_message_append(call, "at", 3, take_id(), take_id(), take_id());
        if (shape & 1)
                sd_bus_message_append(call, "t", (uint64_t)shape);
        call_producer(call);
}

/* Arguments of any type. */
static void step_call(void) {
        static const char *const members[] = {
                "SetupTracing", "SetupDataSource",       "StartDataSource", "StopDataSource",
                "Flush",        "ClearIncrementalState", "NoSuchMethod",
        };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const uint8_t shape = fuzz_take(&world.input);

        if (new_call(&call, members[shape % ARRAY_SIZE(members)]) < 0)
                return;
        for (unsigned i = 0; i < shape >> 5; i++)
                put_any(call);
        call_producer(call);
}

static void step_request(void) {
        const uint8_t shape = fuzz_take(&world.input);
        SmbRequest *request;

        if (!world.area.control)
                return;
        request = &world.area.control->requests[shape % SMB_REQUESTS];
        atomic_store(&request->kind, fuzz_take(&world.input) % 6);
        atomic_store(&request->n_instances, shape & 0x80 ? UINT32_MAX - shape : shape >> 4);
        for (size_t i = 0; i < SMB_REQUEST_INSTANCES_MAX; i++)
                atomic_store(&request->instances[i], take_id());
        atomic_store(&request->state, SMB_REQUEST_ASKED);
        if (world.bell_fd >= 0)
                send(world.bell_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void step_scribble(void) {
        const size_t place = fuzz_take_16(&world.input);
        const uint8_t *data;
        size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input) % 64, &data);
        /* Most of it is empty slots: one half is the words at the front, the other everything. */
        size_t at = 4 * (place & 1 ? place : place % 256);

        if (!world.area.memory)
                return;
        at = MAX(at, sizeof(world.area.control->geometry)) % (world.n_memory - 64);
        memcpy(world.area.memory + at, data, n);
}

/* A page's state, or a slot's turn: what the writers look at most. */
static void step_scribble_state(void) {
        const uint8_t shape = fuzz_take(&world.input), place = fuzz_take(&world.input);
        uint32_t value = (uint32_t)fuzz_take_16(&world.input) << (shape & 16);

        if (!world.area.control)
                return;
        if (shape & 1)
                atomic_store(&smb_page(&world.area, place % world.area.n_pages)->state, value);
        else if (shape & 2)
                atomic_store(&world.area.control->slots[place % world.area.n_slots].turn, value);
        else if (shape & 4)
                atomic_store(&world.area.control->writer_buffer[place], (uint16_t)value);
        else
                atomic_store(shape & 8 ? &world.area.control->tail : &world.area.control->n_freed,
                             value);
}

/* As a service that means well. */
static void step_drain(void) {
        SmbCommit commit;
        SmbChunk chunk;

        if (!world.area.control)
                return;
        while (smb_next_commit(&world.area, &commit) == 0)
                if (!commit.is_patch &&
                    smb_take_chunk(&world.area, commit.page, commit.chunk, &chunk) == 0)
                        smb_release_chunk(&world.area, &chunk);
        smb_take_rescan(&world.area);
        smb_prepare_sleep(&world.area);
}

static void step_bytes(void) {
        const uint8_t *data;
        size_t n = fuzz_take_bytes(&world.input, fuzz_take(&world.input), &data);

        if (world.service)
                send(sd_bus_get_fd(world.service), data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void step_leave(void) {
        service_leave();
        run();
        service_join();
}

/*
 * Steps of the program
 */

static void step_emit(void) {
        static const char text[300] = { [0 ... 298] = 'x' };
        const uint8_t shape = fuzz_take(&world.input);
        const char *some = text + 298 - (shape >> 3);

        errno = 4321;
        DT_SLICE_BEGIN(fuzzed, some, DT_INT("number", shape), DT_STRING("text", text + shape));
        DT_COUNTER(fuzzed, "counter", shape);
        if (shape & 1)
                DT_INSTANT(fuzzed, "instant", DT_HERE, DT_FLOW(shape));
        DT_SLICE_END(fuzzed);
        FUZZ_CHECK(errno == 4321);
}

static void step_write(void) {
        static const uint8_t packet[9000] = { 0x40, 1 };
        const uint8_t shape = fuzz_take(&world.input);
        dt_writer *writer = world.writers[shape % IDS];
        const size_t n = shape & 0x80 ? sizeof(packet) : 2 + (shape >> 3) * 97u;

        if (!writer)
                return;
        errno = 4321;
        dt_writer_write(writer, packet, n);
        if (shape & 0x40)
                dt_writer_flush(writer);
        FUZZ_CHECK(errno == 4321);
}

static void step_answer(void) {
        const uint8_t which = fuzz_take(&world.input) % REPLIES_MAX;
        dt_reply *reply = TAKE(world.replies[which]);

        if (reply)
                dt_reply_done(reply, which & 1 ? "too late" : NULL);
}

static void step_note(void) {
        const uint8_t which = fuzz_take(&world.input);

        if (world.instances[which % IDS])
                dt_instance_add_note(world.instances[which % IDS], "A note.");
        if (which & 0x80)
                dt_trigger("fuzz");
        if (which & 0x40)
                dt_source_update(world.source, &(dt_source_options){ .no_flush = which & 1 });
}

static void play(void) {
        static void (*const steps[])(void) = {
                step_setup_tracing, step_setup_source, step_source,   step_flush,
                step_call,          step_request,      step_scribble, step_scribble_state,
                step_drain,         step_bytes,        step_leave,    step_emit,
                step_write,         step_answer,       step_note,     step_emit,
        };

        for (unsigned i = 0; i < STEPS_MAX && world.input.n_left > 0; i++) {
                steps[fuzz_take(&world.input) % ARRAY_SIZE(steps)]();
                run();
                if (!world.service)
                        service_join();
        }
}

/*
 * Once
 */

static int listen_somewhere(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char directory[] = "/tmp/desktrace-fuzz.XXXXXX";
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        FUZZ_CHECK(fd >= 0 && mkdtemp(directory));
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
        FUZZ_CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                   listen(fd, 4) == 0);
        library.socket_path = strdup(address.sun_path);
        return fd;
}

static void remove_socket(void) {
        unlink(library.socket_path);
        *strrchr(library.socket_path, '/') = 0;
        rmdir(library.socket_path);
}

/* All of library_start() but the thread. */
static void library_prepare(void) {
        world.listen_fd = listen_somewhere();
        world.bell_fd = -1;
        atexit(remove_socket);
        library.name = strdup("fuzz");
        library.started = true;
        writers_prepare();
        FUZZ_CHECK(connection_new(&library.connections[0], CONNECTION_SOCKET, 0) == 0);
        library.n_connections = 1;
        world.connection = library.connections[0];
        FUZZ_CHECK(dt_source_register(&world.source, "fuzz", NULL, &ops, NULL) == 0);
        FUZZ_CHECK(dt_init(NULL) == 0);
}

static unsigned count_descriptors(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* The service goes, and so does everything of it. */
static void end(void) {
        int fd;

        world.connection->retry_ns = UINT64_MAX;
        service_leave();
        /* What the library has begun by itself, if its time has come meanwhile. */
        while ((fd = accept4(world.listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
                close(fd);
        library_run();
        for (size_t i = 0; i < REPLIES_MAX; i++)
                if (world.replies[i])
                        dt_reply_done(TAKE(world.replies[i]), NULL);
        library_run();
        memory_forget();
        FUZZ_CHECK(world.connection->state == CONNECTION_OFF && !world.connection->memory);
        FUZZ_CHECK(list_is_empty(&world.connection->instances) && world.n_instances == 0);
        FUZZ_CHECK(!dt_source_enabled(world.source) && !dt_category_enabled(&fuzzed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static unsigned n_descriptors;

        if (!world.connection)
                library_prepare();
        if (n_descriptors == 0)
                n_descriptors = count_descriptors();
        world.input = (FuzzInput){ data, n_bytes };
        service_join();
        run();
        play();
        end();
        FUZZ_CHECK(count_descriptors() <= n_descriptors + DESCRIPTORS_KEPT);
        return 0;
}
