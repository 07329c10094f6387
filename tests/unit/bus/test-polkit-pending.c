/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A polkit that does not answer, and users who ask again and again. */

#include <sys/socket.h>
#include <unistd.h>

#include "../test.h"
#include "bus/permission/bus-polkit.h"

#define ALICE UINT32_C(1000)
#define BOB   UINT32_C(1001)

static Bus bus;

static void done(void *userdata, AccessAnswer answer) {
}

static int ask(PolkitQuery **ret, uid_t user) {
        return polkit_ask(
                ret,
                &bus,
                &(PolkitQuestion){ .subject = { .uid = user, .user = user, .name = ":1.7" },
                                   .action = "org.desktrace.tracing1.trace-system",
                                   .done = done });
}

static int ask_guards(PolkitQuery **ret, uid_t user) {
        return polkit_ask_guards(
                ret,
                &bus,
                &(PolkitQuestion){ .subject = { .uid = user, .user = user, .name = ":1.7" },
                                   .done = done },
                NULL);
}

START_TEST(test_few_questions_of_one_user_wait_for_polkit) {
        PolkitQuery *queries[POLKIT_PENDING_PER_USER_MAX], *others;
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_ge(sd_bus_new(&bus.message_bus), 0);
        ck_assert_int_ge(sd_bus_set_fd(bus.message_bus, fds[0], fds[0]), 0);
        ck_assert_int_ge(sd_bus_start(bus.message_bus), 0);
        bus.is_shared = true;
        list_init(&bus.queries);
        for (size_t i = 0; i < POLKIT_PENDING_PER_USER_MAX; i++)
                ck_assert_int_eq(ask(&queries[i], BOB), 0);
        ck_assert_int_eq(ask(&others, BOB), POLKIT_E_LIMIT);
        ck_assert_int_eq(ask_guards(&others, BOB), POLKIT_E_LIMIT);
        ck_assert_int_eq(ask(&others, ALICE), 0);
        polkit_query_free(others);
        polkit_query_free(queries[0]);
        ck_assert_int_eq(ask(&queries[0], BOB), 0);
        for (size_t i = 0; i < POLKIT_PENDING_PER_USER_MAX; i++)
                polkit_query_free(queries[i]);
        ck_assert(list_is_empty(&bus.queries));
        bus.message_bus = sd_bus_close_unref(bus.message_bus);
        close(fds[1]);
}
END_TEST

TEST_MAIN("polkit-pending", test_few_questions_of_one_user_wait_for_polkit)
