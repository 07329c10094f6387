/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program that answers nothing: how many of the service's calls wait for it, until it is disconnected, and what is
 * logged then. */

#include "../core/fixture.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus/bus.h"
#include "bus/object/bus-producer.h"
#include "core/model/service.h"
#include "shared/names.h"

#define STEPS_MAX  10000
#define ROUNDS_MAX 1000

typedef struct World {
        Fixture core;
        sd_event *event;
        Bus *bus;
        sd_bus *program;
        size_t n_calls_most, n_bytes_most, n_out_most;
} World;

static World w;

static BusProducer *producer(void) {
        return list_first(&w.bus->producers, BusProducer, link);
}

static void turn(void) {
        sd_event_run(w.event, 1000);
        fixture_settle(&w.core);
        bus_settle(w.bus);
}

/* Runs until the program has registered with that many sources; from then on nobody reads for it. */
static void register_program(unsigned n_sources) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        char name[32];

        ck_assert_int_ge(sd_bus_message_new_method_call(w.program,
                                                        &call,
                                                        NULL,
                                                        TRACING_PATH,
                                                        TRACING_MANAGER_INTERFACE,
                                                        "RegisterProducer"),
                         0);
        ck_assert_int_ge(sd_bus_message_append(call, "s", "silent"), 0);
        ck_assert_int_ge(sd_bus_message_open_container(call, 'a', "(sa{sv})"), 0);
        for (unsigned i = 0; i < n_sources; i++) {
                snprintf(name, sizeof(name), "silent%u", i);
                ck_assert_int_ge(sd_bus_message_append(call, "(sa{sv})", name, 0), 0);
        }
        ck_assert_int_ge(sd_bus_message_close_container(call), 0);
        ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 0), 0);
        ck_assert_int_ge(sd_bus_send(w.program, call, NULL), 0);
        for (int i = 0; i < STEPS_MAX && !producer(); i++) {
                sd_bus_process(w.program, NULL);
                turn();
        }
        ck_assert_ptr_nonnull(producer());
}

static void start(void) {
        int fds[2];

        w = (World){};
        fixture_init(&w.core);
        w.core.info.is_private = true;
        w.core.info.uid = getuid();
        ck_assert_int_ge(sd_event_new(&w.event), 0);
        ck_assert_int_ge(bus_new(&w.bus,
                                 &(BusOptions){ .event = w.event,
                                                .service = w.core.service,
                                                .info = &w.core.info }),
                         0);
        w.core.now = bus_now(w.bus);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        ck_assert_int_ge(bus_accept(w.bus, fds[0]), 0);
        ck_assert_int_ge(sd_bus_new(&w.program), 0);
        ck_assert_int_ge(sd_bus_set_fd(w.program, fds[1], fds[1]), 0);
        ck_assert_int_ge(sd_bus_negotiate_fds(w.program, true), 0);
        ck_assert_int_ge(sd_bus_start(w.program), 0);
}

static void end(void) {
        sd_bus_close_unref(w.program);
        bus_free(w.bus);
        sd_event_unref(w.event);
        fixture_deinit(&w.core);
}

/* Sessions come and go until the program is given up. Each tells it to set its sources up. */
static void record(const char *config) {
        for (unsigned i = 0; i < ROUNDS_MAX && producer(); i++) {
                FakeConsumer *consumer = fixture_start_session(&w.core, getuid(), config);

                w.n_calls_most = MAX(w.n_calls_most, producer()->n_calls);
                w.n_bytes_most = MAX(w.n_bytes_most, producer()->n_call_bytes);
                w.n_out_most = MAX(w.n_out_most, producer()->called.n_out);
                fixture_free_session(consumer);
                free(consumer);
                w.core.n_consumers--;
                bus_settle(w.bus);
        }
        ck_assert_ptr_null(producer());
}

static const char *config_of_all_sources(void) {
        static char config[PRODUCER_SOURCES_MAX * 64];

        strcpy(config, "buffers { size_kb: 4 } ");
        for (unsigned i = 0; i < PRODUCER_SOURCES_MAX; i++)
                sprintf(config + strlen(config),
                        "data_sources { config { name: 'silent%u' } } ",
                        i);
        return config;
}

START_TEST(test_few_calls_wait_for_a_silent_program) {
        start();
        register_program(PRODUCER_SOURCES_MAX);
        record(config_of_all_sources());
        ck_assert_uint_le(w.n_calls_most, BUS_CALLS_QUEUED_MAX);
        ck_assert_uint_gt(w.n_calls_most, BUS_CALLS_QUEUED_MAX - 3 * PRODUCER_SOURCES_MAX);
        ck_assert_uint_eq(w.n_out_most, BUS_CALLS_PER_PRODUCER_MAX);
        end();
}
END_TEST

START_TEST(test_configs_that_wait_for_a_program_have_a_limit_of_their_own) {
        static char config[(256 << 10) + 256];
        size_t n;

        strcpy(config,
               "buffers { size_kb: 4 } data_sources { config { name: 'silent0' "
               "track_event_config { enabled_tags: '");
        n = strlen(config);
        memset(config + n, 'x', 256 << 10);
        strcpy(config + n + (256 << 10), "' } } }");
        start();
        register_program(1);
        record(config);
        ck_assert_uint_le(w.n_bytes_most, BUS_CALLS_QUEUED_BYTES_MAX);
        ck_assert_uint_gt(w.n_bytes_most, BUS_CALLS_QUEUED_BYTES_MAX / 2);
        ck_assert_uint_lt(w.n_calls_most, 100);
        end();
}
END_TEST

/* Everything else that the program is sent waits in the account of its user. */
START_TEST(test_calls_that_wait_for_all_programs_of_a_user_have_a_limit) {
        Charge others = {};
        uint64_t max;

        start();
        register_program(PRODUCER_SOURCES_MAX);
        max = (getuid() == 0 ? quota_total_max : quota_user_max)(&w.core.service->quota,
                                                                 QUOTA_CALL_BYTES);
        ck_assert_int_eq(service_charge_calls(w.core.service, &others, getuid()), 0);
        ck_assert_int_eq(charge_grow(&others, max - 1000 * BUS_CALL_BYTES), 0);
        record(config_of_all_sources());
        ck_assert_uint_gt(w.n_calls_most, 1000 - 3 * PRODUCER_SOURCES_MAX);
        ck_assert_uint_le(w.n_calls_most, 1000);
        ck_assert_uint_eq(w.core.service->quota.used[QUOTA_CALL_BYTES], others.n);
        charge_deinit(&others);
        end();
}
END_TEST

START_TEST(test_that_a_program_is_given_up_is_logged_once) {
        FILE *log = tmpfile();
        const int own = dup(STDERR_FILENO);
        char line[512];
        unsigned n = 0;

        start();
        register_program(PRODUCER_SOURCES_MAX);
        ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
        record(config_of_all_sources());
        dup2(own, STDERR_FILENO);
        close(own);
        rewind(log);
        while (fgets(line, sizeof(line), log))
                n += strstr(line, "does not answer (BUS_CALLS_QUEUED_MAX), disconnecting") != NULL;
        fclose(log);
        ck_assert_uint_eq(n, 1);
        end();
}
END_TEST

START_TEST(test_calls_that_are_out_at_once_depend_on_whose_bus_it_is) {
        for (int is_shared = 0; is_shared <= 1; is_shared++) {
                _cleanup_(sd_bus_close_unrefp) sd_bus *message_bus = NULL;
                int fds[2];

                start();
                ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
                ck_assert_int_ge(sd_bus_new(&message_bus), 0);
                ck_assert_int_ge(sd_bus_set_fd(message_bus, fds[0], fds[0]), 0);
                ck_assert_int_ge(sd_bus_start(message_bus), 0);
                ck_assert_int_ge(bus_set_message_bus(w.bus, message_bus, is_shared), 0);
                ck_assert_uint_eq(w.bus->bus_places.n_max,
                                  is_shared ? BUS_CALLS_MAX : BUS_CALLS_OF_ONE_USER_MAX);
                ck_assert_int_eq(w.bus->bus_places.is_shared, is_shared);
                close(fds[1]);
                end();
        }
}
END_TEST

TEST_MAIN("producer-call",
          test_few_calls_wait_for_a_silent_program,
          test_configs_that_wait_for_a_program_have_a_limit_of_their_own,
          test_calls_that_wait_for_all_programs_of_a_user_have_a_limit,
          test_that_a_program_is_given_up_is_logged_once,
          test_calls_that_are_out_at_once_depend_on_whose_bus_it_is)
