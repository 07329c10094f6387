/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The entrance, with the questions behind it. The message bus is the other end of a pair of sockets: it knows whose
 * connections there are, and answers for polkit as the test says.
 */

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/config.h"
#include "host/probe.h"
#include "probes/entrance.h"
#include "shared/bytes.h"
#include "shared/names.h"
#include "shared/process-time.h"
#include "test.h"
#include "wire/wire-writer.h"

#define OWN "buffers { size_kb: 64 } data_sources { config { name: \"linux.ftrace\" } }"
#define PROBED                                                                    \
        "buffers { size_kb: 64 } data_sources { config { name: \"linux.ftrace\" " \
        "ftrace_config { kprobe_events { probe: \"vfs_read\" } } } }"
#define STACKS "data_sources { config { name: \"cpu.stacks\" } }"
#define OWN_STACKS \
        "buffers { size_kb: 64 } " STACKS " data_sources { config { name: \"track_event\" } }"
#define ALL_STACKS OWN STACKS
#define TURNS_MAX  2000

typedef struct World {
        sd_event *event;
        sd_bus *bus, *bus_end, *service;
        GrantBook *grants;
        Entrance *entrance;
        char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
        bool is_asking;

        /* What the bus answers. */
        uint32_t uid;
        bool is_gone, is_authorized, is_challenge, has_no_polkit, is_silent;
        unsigned n_asked;
        char actions[4][64];

        unsigned n_replies;
        char error[128]; /* of the last one; "": none */
} World;

static World w;

static int answer_polkit(sd_bus_message *call) {
        const char *action;
        World *world = &w;

        ck_assert_int_ge(sd_bus_message_skip(call, "(sa{sv})"), 0);
        ck_assert_int_ge(sd_bus_message_read(call, "s", &action), 0);
        ck_assert_uint_lt(world->n_asked, ARRAY_SIZE(world->actions));
        snprintf(world->actions[world->n_asked++], sizeof(world->actions[0]), "%s", action);
        if (world->is_silent)
                return 1;
        if (world->has_no_polkit)
                return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_SERVICE_UNKNOWN, "none");
        return sd_bus_reply_method_return(
                call, "(bba{ss})", world->is_authorized, world->is_challenge, 0);
}

static int on_bus_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        if (sd_bus_message_is_method_call(call, NULL, "GetConnectionCredentials"))
                return w.is_gone ? sd_bus_reply_method_errorf(
                                           call, "org.freedesktop.DBus.Error.NameHasNoOwner", "no")
                                 : sd_bus_reply_method_return(call,
                                                              "a{sv}",
                                                              2,
                                                              "UnixUserID",
                                                              "u",
                                                              w.uid,
                                                              "ProcessID",
                                                              "u",
                                                              (uint32_t)getpid());
        if (sd_bus_message_is_method_call(call, NULL, "GetId"))
                return sd_bus_reply_method_return(call, "s", "id");
        if (sd_bus_message_is_method_call(call, NULL, "CheckAuthorization"))
                return answer_polkit(call);
        return 1;
}

static void on_asked(void *userdata, bool is_asking) {
        w.is_asking = is_asking;
}

static void pair_bus(void) {
        sd_id128_t id =
                SD_ID128_MAKE(01, 23, 45, 67, 89, ab, cd, ef, 01, 23, 45, 67, 89, ab, cd, ef);
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_ge(sd_bus_new(&w.bus), 0);
        ck_assert_int_ge(sd_bus_set_fd(w.bus, fds[0], fds[0]), 0);
        ck_assert_int_ge(sd_bus_set_anonymous(w.bus, true), 0);
        ck_assert_int_ge(sd_bus_new(&w.bus_end), 0);
        ck_assert_int_ge(sd_bus_set_fd(w.bus_end, fds[1], fds[1]), 0);
        ck_assert_int_ge(sd_bus_set_server(w.bus_end, true, id), 0);
        ck_assert_int_ge(sd_bus_set_anonymous(w.bus_end, true), 0);
        ck_assert_int_ge(sd_bus_start(w.bus_end), 0);
        ck_assert_int_ge(sd_bus_start(w.bus), 0);
        ck_assert_int_ge(sd_bus_add_filter(w.bus_end, NULL, on_bus_call, NULL), 0);
        ck_assert_int_ge(sd_bus_attach_event(w.bus, w.event, 0), 0);
        ck_assert_int_ge(sd_bus_attach_event(w.bus_end, w.event, 0), 0);
}

static int listen_at(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        ck_assert_int_ge(fd, 0);
        strcpy(address.sun_path, path);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fd, 128), 0);
        return fd;
}

static int connect_to(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        ck_assert_int_ge(fd, 0);
        strcpy(address.sun_path, path);
        ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

static void connect_service(void) {
        int fd = connect_to(w.path);

        ck_assert_int_ge(sd_bus_new(&w.service), 0);
        ck_assert_int_ge(sd_bus_set_fd(w.service, fd, fd), 0);
        ck_assert_int_ge(sd_bus_start(w.service), 0);
        ck_assert_int_ge(sd_bus_attach_event(w.service, w.event, 0), 0);
}

static void world_init(bool trusts_service, bool has_bus) {
        EntranceOptions options = { .trusts_service = trusts_service, .asked = on_asked };

        w = (World){ .uid = 1000, .is_authorized = true };
        snprintf(w.path, sizeof(w.path), "/tmp/desktrace-entrance-%d.sock", (int)getpid());
        unlink(w.path);
        ck_assert_int_ge(sd_event_new(&w.event), 0);
        pair_bus();
        ck_assert_int_eq(grant_book_new(&w.grants, NULL, 0), 0);
        options.event = w.event;
        options.bus = has_bus ? w.bus : NULL;
        options.grants = trusts_service ? NULL : w.grants;
        options.fd = listen_at(w.path);
        ck_assert_int_eq(entrance_new(&w.entrance, &options), 0);
        connect_service();
}

static void world_deinit(void) {
        sd_bus_close_unref(w.service);
        entrance_free(w.entrance);
        sd_bus_close_unref(w.bus);
        sd_bus_close_unref(w.bus_end);
        grant_book_free(w.grants);
        sd_event_unref(w.event);
        unlink(w.path);
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *refusal = sd_bus_message_get_error(reply);

        w.n_replies++;
        snprintf(w.error, sizeof(w.error), "%s", refusal ? refusal->name : "");
        return 0;
}

static void call_authorize(const char *name, uint32_t pid, uint64_t start_time, const char *text) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError why;

        ck_assert_int_eq(config_new_from_text(&config, text, &why), 0);
        ck_assert_int_ge(sd_bus_message_new_method_call(w.service,
                                                        &call,
                                                        NULL,
                                                        TRACING_PROBES_PATH,
                                                        TRACING_PROBES_INTERFACE,
                                                        "Authorize"),
                         0);
        ck_assert_int_ge(sd_bus_message_append(call, "sut", name, pid, start_time), 0);
        ck_assert_int_ge(sd_bus_message_append_array(call, 'y', config->bytes, config->n_bytes), 0);
        ck_assert_int_ge(sd_bus_message_append(call, "b", false), 0);
        ck_assert_int_ge(sd_bus_call_async(w.service, NULL, call, on_reply, NULL, 0), 0);
}

static void run_until(unsigned n_replies) {
        for (unsigned i = 0; i < TURNS_MAX && w.n_replies < n_replies; i++)
                ck_assert_int_ge(sd_event_run(w.event, 10000), 0);
        ck_assert_uint_eq(w.n_replies, n_replies);
}

static void authorize(const char *name, uint32_t pid, uint64_t start_time, const char *text) {
        call_authorize(name, pid, start_time, text);
        run_until(w.n_replies + 1);
}

/* Whether the data source of the config can be set up once: with what the service adds. */
static bool is_granted(const char *text) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(bytes_deinit) Bytes bytes = {};
        GrantUse *use = NULL;
        uint8_t memory[64];
        WireWriter writer;
        ConfigError why;
        int r;

        ck_assert_int_eq(config_new_from_text(&config, text, &why), 0);
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_uint(&writer, 4, 42); /* tracing_session_id */
        ck_assert_int_eq(bytes_append(&bytes, config->sources[0].bytes, config->sources[0].n_bytes),
                         0);
        ck_assert_int_eq(bytes_append(&bytes, memory, wire_writer_size(&writer)), 0);
        r = grant_use_new(&use, w.grants, bytes.data, bytes.n, probe_now_ns());
        if (r == 0)
                grant_use_free(use);
        return r == 0;
}

/* The test's own process connects, so it must not be root for what root's presence would change. */
static bool runs_as_root(void) {
        return geteuid() == 0;
}

START_TEST(test_what_polkit_allows_is_granted_once) {
        world_init(false, true);
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, "");
        ck_assert_uint_eq(w.n_asked, 1);
        ck_assert_str_eq(w.actions[0], TRACING_ACTION_TRACE_SYSTEM);
        ck_assert(!w.is_asking);
        ck_assert(is_granted(OWN));
        ck_assert(!is_granted(OWN));
        world_deinit();
}
END_TEST

START_TEST(test_probes_of_ones_own_are_asked_about_as_well) {
        world_init(false, true);
        authorize(":1.7", 0, 0, PROBED);
        ck_assert_str_eq(w.error, "");
        ck_assert_uint_eq(w.n_asked, 2);
        ck_assert_str_eq(w.actions[0], TRACING_ACTION_TRACE_SYSTEM);
        ck_assert_str_eq(w.actions[1], TRACING_ACTION_TRACE_DYNAMIC);
        ck_assert(!is_granted(OWN)); /* byte for byte */
        ck_assert(is_granted(PROBED));
        world_deinit();
}
END_TEST

START_TEST(test_what_polkit_denies_is_not) {
        world_init(false, true);
        w.is_authorized = false;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "NotAuthorized");
        w.is_challenge = true;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "AuthorizationNeeded");
        w.has_no_polkit = true;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "PolkitUnavailable");
        ck_assert(!is_granted(OWN));
        world_deinit();
}
END_TEST

/* A name that can pass from one connection to another is none of a connection, and a number alone none of a process. */
START_TEST(test_nobody_is_granted_what_nobody_asks_for) {
        uint64_t start_time;

        world_init(false, true);
        w.is_gone = true;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "NotAuthorized");
        w.is_gone = false;
        authorize("org.example.Name", 0, 0, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "NotAuthorized");
        ck_assert_int_eq(process_start_time(getpid(), &start_time), 0);
        authorize("", (uint32_t)getpid(), start_time + 1, OWN);
        ck_assert_str_eq(w.error, TRACING_ERROR_PREFIX "NotAuthorized");
        ck_assert_uint_eq(w.n_asked, 0);
        ck_assert(!is_granted(OWN));
        world_deinit();
}
END_TEST

START_TEST(test_root_is_believed_while_it_is_connected) {
        world_init(false, true);
        w.uid = 0;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, runs_as_root() ? "" : TRACING_ERROR_ROOT_IS_SILENT);
        ck_assert_uint_eq(w.n_asked, 0);
        ck_assert(is_granted(OWN) == runs_as_root());
        world_deinit();
}
END_TEST

START_TEST(test_without_a_bus_nobody_but_root_is_believed) {
        world_init(false, false);
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, runs_as_root() ? "" : TRACING_ERROR_PREFIX "PolkitUnavailable");
        world_deinit();
}
END_TEST

START_TEST(test_probes_that_trust_the_service_ask_nobody) {
        world_init(true, true);
        authorize(":1.7", 0, 0, PROBED);
        ck_assert_str_eq(w.error, "");
        ck_assert_uint_eq(w.n_asked, 0);
        world_deinit();
}
END_TEST

START_TEST(test_questions_are_limited_and_end_with_their_asker) {
        world_init(false, true);
        w.is_silent = true;
        w.uid = 1000;
        for (unsigned i = 0; i < ENTRANCE_QUESTIONS_MAX; i++) {
                w.n_asked = 0;
                call_authorize(":1.7", 0, 0, OWN);
                for (unsigned j = 0; j < 20; j++)
                        ck_assert_int_ge(sd_event_run(w.event, 100), 0);
        }
        ck_assert(w.is_asking);
        w.n_asked = 0;
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, SD_BUS_ERROR_LIMITS_EXCEEDED);
        w.service = sd_bus_close_unref(w.service);
        for (unsigned i = 0; i < TURNS_MAX && w.is_asking; i++)
                ck_assert_int_ge(sd_event_run(w.event, 1000), 0);
        ck_assert(!w.is_asking);
        w.is_silent = false;
        w.n_asked = 0;
        connect_service();
        authorize(":1.7", 0, 0, OWN);
        ck_assert_str_eq(w.error, "");
        world_deinit();
}
END_TEST

START_TEST(test_connections_are_limited) {
        int fds[ENTRANCE_PEERS_MAX];
        char byte;

        world_init(false, true);
        authorize(":1.7", 0, 0, OWN);
        for (unsigned i = 0; i < ENTRANCE_PEERS_MAX; i++) {
                fds[i] = connect_to(w.path);
                for (unsigned j = 0; j < 3; j++)
                        ck_assert_int_ge(sd_event_run(w.event, 100), 0);
        }
        for (unsigned i = 0; i + 1 < ENTRANCE_PEERS_MAX; i++)
                ck_assert_int_lt(recv(fds[i], &byte, 1, MSG_DONTWAIT), 0);
        ck_assert_int_eq(recv(fds[ENTRANCE_PEERS_MAX - 1], &byte, 1, MSG_DONTWAIT), 0);
        for (unsigned i = 0; i < ENTRANCE_PEERS_MAX; i++)
                close(fds[i]);
        authorize(":1.7", 0, 0, OWN); /* the service's own is there yet */
        ck_assert_str_eq(w.error, "");
        world_deinit();
}
END_TEST

START_TEST(test_ones_own_programs_are_another_question) {
        world_init(false, true);
        w.uid = getuid() ?: 1000; /* of root nothing is asked */
        authorize(":1.7", 0, 0, OWN_STACKS);
        ck_assert_str_eq(w.error, "");
        ck_assert_uint_eq(w.n_asked, 1);
        ck_assert_str_eq(w.actions[0], TRACING_ACTION_PROFILE_OWN);
        ck_assert(is_granted(OWN_STACKS));
        ck_assert(!is_granted(OWN_STACKS));
        ck_assert(!is_granted(OWN));
        /* It is no question for who wants more. */
        authorize(":1.7", 0, 0, ALL_STACKS);
        ck_assert_str_eq(w.actions[1], TRACING_ACTION_TRACE_SYSTEM);
        world_deinit();
}
END_TEST

TEST_MAIN("entrance",
          test_what_polkit_allows_is_granted_once,
          test_probes_of_ones_own_are_asked_about_as_well,
          test_what_polkit_denies_is_not,
          test_nobody_is_granted_what_nobody_asks_for,
          test_root_is_believed_while_it_is_connected,
          test_without_a_bus_nobody_but_root_is_believed,
          test_probes_that_trust_the_service_ask_nobody,
          test_questions_are_limited_and_end_with_their_asker,
          test_connections_are_limited,
          test_ones_own_programs_are_another_question)
