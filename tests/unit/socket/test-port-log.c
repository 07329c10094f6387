/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is logged about peers: everything that is refused, never more than a line each, and not many. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "log-capture.h"
#include "port-fixture.h"
#include "shared/log-user.h"

static void bind_to(int client, const char *name) {
        ipc_put_bind(begin(), 1, name);
        send_frame(client);
        run();
}

PORT_TEST(test_what_is_refused_is_logged_with_its_peer) {
        _cleanup_(freep) char *log = NULL;
        const int client = connect_client();
        char peer[64];

        log_capture_begin();
        bind_to(client, "OtherPort");
        bind_to(client, "FakePort");
        call(client, METHOD_MISSING, "");
        call(client, 1000, "");
        run();
        log = log_capture_end();
        snprintf(peer, sizeof(peer), "of pid %d, uid %u", getpid(), getuid());
        ck_assert_uint_eq(text_count(log, peer), 3);
        ck_assert_logs(log, "BindService is refused: this socket serves FakePort");
        ck_assert_logs(log, "there is no method 3");
        ck_assert_logs(log, "there is no method 1000");
        close(client);
}

PORT_TEST(test_a_peer_that_may_not_bind_is_logged) {
        _cleanup_(freep) char *log = NULL;
        const int client = connect_client();

        open_answer = PORT_E_REFUSED;
        log_capture_begin();
        bind_to(client, "FakePort");
        log = log_capture_end();
        ck_assert_logs(log, "BindService is refused");
        close(client);
}

PORT_TEST(test_why_a_peer_is_disconnected_is_logged) {
        static const struct {
                int error;
                const char *why;
        } cases[] = { { -EBADMSG, "what it sends is no frame" },
                      { -EMSGSIZE, "its frame is longer than frames may be" },
                      { -ENOMEM, "Cannot allocate memory" } };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) char *log = NULL;
                const int client = bound_client();

                break_error = cases[i].error;
                log_capture_begin();
                call(client, METHOD_BREAK, "");
                ck_assert(is_disconnected(client));
                log = log_capture_end();
                ck_assert_logs(log, cases[i].why);
                close(client);
        }
}

/* Neither on one connection, nor by coming again and again. */
PORT_TEST(test_a_peer_cannot_fill_the_log) {
        _cleanup_(freep) char *log = NULL;
        int client = bound_client();

        log_users_tick(UINT64_MAX);
        log_capture_begin();
        for (unsigned i = 0; i < 2 * LOG_USER_LINES_MAX; i++) {
                call(client, METHOD_MISSING, "");
                run();
        }
        close(client);
        for (unsigned i = 0; i < 2 * LOG_USER_LINES_MAX; i++) {
                client = connect_client();
                bind_to(client, "OtherPort");
                send_bytes(client, "\xff\xff\xff\xff", 4); /* is disconnected */
                run();
                close(client);
        }
        log = log_capture_end();
        ck_assert_uint_eq(text_count(log, "\n"), LOG_USER_LINES_MAX + 1);
        ck_assert_logs(log, "more messages of user");
}

TEST_MAIN("port-log",
          test_what_is_refused_is_logged_with_its_peer,
          test_a_peer_that_may_not_bind_is_logged,
          test_why_a_peer_is_disconnected_is_logged,
          test_a_peer_cannot_fill_the_log)
