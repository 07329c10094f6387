/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Producers with sockets of their own, which are asked whether a recording may be: what they say, and what if they say
 * nothing. */

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "bus/link/guard.h"
#include "config/config.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "test.h"

#define CONFIG                                                               \
        "buffers { size_kb: 64 } data_sources { config { name: \"one\" } } " \
        "data_sources { config { name: \"two\" } }"
#define TURNS_MAX 2000
#define N_GUARDS  3

typedef struct FakeGuard {
        char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
        const char *sources[2];
        int fd;
        sd_event_source *listening;
        sd_bus *connection;
        const char *error; /* what it answers; NULL: it may be */
        bool hangs_up, is_silent;
        unsigned n_asked;
        char name[64];
        uint32_t pid;
        uint64_t start_time;
        size_t n_config_bytes;
        int is_interactive;
} FakeGuard;

static struct {
        sd_event *event;
        Config *config;
        FakeGuard fakes[N_GUARDS];
        Guard guards[N_GUARDS];
        unsigned n_done;
        GuardAnswer answer;
} w;

static int on_authorize(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        FakeGuard *fake = userdata;
        const void *bytes;
        const char *name;

        if (!sd_bus_message_is_method_call(call, TRACING_PROBES_INTERFACE, "Authorize"))
                return 0;
        fake->n_asked++;
        ck_assert_int_ge(sd_bus_message_read(call, "sut", &name, &fake->pid, &fake->start_time), 0);
        snprintf(fake->name, sizeof(fake->name), "%s", name);
        ck_assert_int_ge(sd_bus_message_read_array(call, 'y', &bytes, &fake->n_config_bytes), 0);
        ck_assert_int_ge(sd_bus_message_read(call, "b", &fake->is_interactive), 0);
        if (fake->is_silent)
                return 1;
        if (fake->error)
                return sd_bus_reply_method_errorf(call, fake->error, "the test wants it so");
        return sd_bus_reply_method_return(call, "");
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        FakeGuard *fake = userdata;
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        sd_id128_t id;

        ck_assert_int_ge(peer, 0);
        if (fake->hangs_up) {
                close(peer);
                return 0;
        }
        sd_bus_close_unref(fake->connection);
        ck_assert_int_ge(sd_bus_new(&fake->connection), 0);
        ck_assert_int_ge(sd_bus_set_fd(fake->connection, peer, peer), 0);
        ck_assert_int_ge(sd_id128_randomize(&id), 0);
        ck_assert_int_ge(sd_bus_set_server(fake->connection, true, id), 0);
        ck_assert_int_ge(sd_bus_start(fake->connection), 0);
        ck_assert_int_ge(sd_bus_add_filter(fake->connection, NULL, on_authorize, fake), 0);
        ck_assert_int_ge(sd_bus_attach_event(fake->connection, w.event, 0), 0);
        return 0;
}

static void fake_init(FakeGuard *fake, unsigned number, const char *source) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(fake->path, sizeof(fake->path), "/tmp/test-guard-%d-%u", (int)getpid(), number);
        fake->sources[0] = source;
        fake->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        strcpy(address.sun_path, fake->path);
        unlink(fake->path);
        ck_assert_int_eq(bind(fake->fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fake->fd, 8), 0);
        ck_assert_int_ge(
                sd_event_add_io(w.event, &fake->listening, fake->fd, EPOLLIN, on_connection, fake),
                0);
}

static void make_world(void) {
        static const char *const sources[N_GUARDS] = { "one", "other", "two" };
        ConfigError why;

        memset(&w, 0, sizeof(w));
        ck_assert_int_ge(sd_event_new(&w.event), 0);
        ck_assert_int_eq(config_new_from_text(&w.config, CONFIG, &why), 0);
        for (unsigned i = 0; i < N_GUARDS; i++) {
                fake_init(&w.fakes[i], i, sources[i]);
                w.guards[i] = (Guard){ w.fakes[i].path, w.fakes[i].sources };
        }
}

static void end_world(void) {
        for (unsigned i = 0; i < N_GUARDS; i++) {
                sd_bus_close_unref(w.fakes[i].connection);
                sd_event_source_disable_unref(w.fakes[i].listening);
                fd_close(w.fakes[i].fd);
                unlink(w.fakes[i].path);
        }
        config_free(w.config);
        sd_event_unref(w.event);
}

static void on_done(void *userdata, GuardAnswer answer) {
        w.n_done++;
        w.answer = answer;
}

static void run(unsigned n) {
        for (unsigned i = 0; i < n && w.n_done == 0; i++)
                ck_assert_int_ge(sd_event_run(w.event, 1000), 0);
}

static GuardQuery *ask(const char *name, bool is_interactive) {
        GuardQuery *query;

        ck_assert_int_eq(guard_ask(&query,
                                   &(GuardQueryOptions){
                                           .event = w.event,
                                           .guards = w.guards,
                                           .n_guards = N_GUARDS,
                                           .name = name,
                                           .pid = 77,
                                           .start_time = 123456,
                                           .config = w.config,
                                           .is_interactive = is_interactive,
                                           .done = on_done,
                                   }),
                         0);
        ck_assert_uint_eq(w.n_done, 0);
        return query;
}

static void ck_assert_answer(GuardAnswer answer) {
        ask(":1.7", false);
        run(TURNS_MAX);
        ck_assert_uint_eq(w.n_done, 1);
        ck_assert_int_eq(w.answer, answer);
}

START_TEST(test_all_that_have_a_source_of_it_are_asked) {
        make_world();
        ask(":1.7", true);
        run(TURNS_MAX);
        ck_assert_uint_eq(w.n_done, 1);
        ck_assert_int_eq(w.answer, GUARD_GRANTED);
        ck_assert_uint_eq(w.fakes[0].n_asked, 1);
        ck_assert_uint_eq(w.fakes[1].n_asked, 0);
        ck_assert_uint_eq(w.fakes[2].n_asked, 1);
        ck_assert_str_eq(w.fakes[2].name, ":1.7");
        ck_assert_uint_eq(w.fakes[2].n_config_bytes, w.config->n_bytes);
        ck_assert(w.fakes[2].is_interactive);
        end_world();
}
END_TEST

START_TEST(test_a_requester_without_a_name_is_a_process) {
        make_world();
        ask(NULL, false);
        run(TURNS_MAX);
        ck_assert_str_eq(w.fakes[0].name, "");
        ck_assert_uint_eq(w.fakes[0].pid, 77);
        ck_assert_uint_eq(w.fakes[0].start_time, 123456);
        ck_assert(!w.fakes[0].is_interactive);
        end_world();
}
END_TEST

START_TEST(test_the_first_refusal_is_the_answer) {
        static const struct {
                const char *error;
                GuardAnswer answer;
        } cases[] = {
                { TRACING_ERROR_PREFIX "NotAuthorized", GUARD_DENIED },
                { TRACING_ERROR_PREFIX "AuthorizationNeeded", GUARD_NEEDS_INTERACTION },
                { TRACING_ERROR_PREFIX "PolkitUnavailable", GUARD_UNAVAILABLE },
                { TRACING_ERROR_ROOT_IS_SILENT, GUARD_ROOT_IS_SILENT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                make_world();
                w.fakes[0].error = cases[i].error;
                ck_assert_answer(cases[i].answer);
                ck_assert_uint_eq(w.fakes[2].n_asked, 0);
                end_world();
        }
}
END_TEST

/* A producer that was not asked sets nothing up (probes/grant.h), so the others may still record. */
START_TEST(test_guards_that_cannot_be_asked_keep_nobody_from_recording) {
        make_world();
        unlink(w.fakes[0].path);
        ck_assert_answer(GUARD_GRANTED);
        ck_assert_uint_eq(w.fakes[0].n_asked, 0);
        ck_assert_uint_eq(w.fakes[2].n_asked, 1);
        end_world();

        make_world();
        w.fakes[0].hangs_up = true;
        ck_assert_answer(GUARD_GRANTED);
        ck_assert_uint_eq(w.fakes[2].n_asked, 1);
        end_world();

        make_world();
        w.fakes[0].error = "org.example.NoSuchError";
        w.fakes[2].error = TRACING_ERROR_PREFIX "NotAuthorized";
        ck_assert_answer(GUARD_DENIED);
        end_world();
}
END_TEST

START_TEST(test_a_question_may_be_taken_back) {
        GuardQuery *query;

        make_world();
        guard_query_free(ask(":1.7", false)); /* before anybody was asked */
        w.fakes[0].is_silent = true;
        query = ask(":1.7", false);
        for (unsigned i = 0; i < TURNS_MAX && w.fakes[0].n_asked == 0; i++)
                ck_assert_int_ge(sd_event_run(w.event, 1000), 0);
        ck_assert_uint_eq(w.fakes[0].n_asked, 1);
        guard_query_free(query);
        run(20);
        ck_assert_uint_eq(w.n_done, 0);
        end_world();
}
END_TEST

/* Its own queue of connections is full: that must not make the service wait. */
START_TEST(test_to_connect_does_not_wait) {
        sd_bus *connection = NULL;
        int fds[64], r = 0;
        size_t n = 0;

        make_world();
        ck_assert_int_eq(listen(w.fakes[0].fd, 0), 0);
        while (n < ARRAY_SIZE(fds) && r == 0) {
                struct sockaddr_un address = { .sun_family = AF_UNIX };

                strcpy(address.sun_path, w.fakes[0].path);
                fds[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                r = connect(fds[n++], (struct sockaddr *)&address, sizeof(address));
        }
        ck_assert_int_lt(r, 0);
        ck_assert_int_lt(guard_connect(&connection, w.event, w.fakes[0].path), 0);
        ck_assert_ptr_null(connection);
        while (n > 0)
                close(fds[--n]);
        end_world();
}
END_TEST

TEST_MAIN("guard",
          test_all_that_have_a_source_of_it_are_asked,
          test_a_requester_without_a_name_is_a_process,
          test_the_first_refusal_is_the_answer,
          test_guards_that_cannot_be_asked_keep_nobody_from_recording,
          test_a_question_may_be_taken_back,
          test_to_connect_does_not_wait)
