/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A monitor of buses that are not as they should be. */

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridges/dbus/bus-monitor.h"
#include "dbus-message.h"
#include "shared/fd.h"
#include "test.h"

typedef struct Fixture {
        int listener, bus; /* the bus's end */
        char address[160];
        BusMonitor monitor;
} Fixture;

static void fixture_init(Fixture *fixture) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t n;
        int r;

        r = snprintf(address.sun_path + 1,
                     sizeof(address.sun_path) - 1,
                     "dbus-monitor-test-%d",
                     getpid());
        n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)r);
        snprintf(fixture->address,
                 sizeof(fixture->address),
                 "unix:abstract=%s",
                 address.sun_path + 1);
        fixture->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(fixture->listener, (struct sockaddr *)&address, n), 0);
        ck_assert_int_eq(listen(fixture->listener, 1), 0);
        ck_assert_int_eq(bus_monitor_start(&fixture->monitor, fixture->address), 0);
        fixture->bus = accept(fixture->listener, NULL, NULL);
        ck_assert_int_ge(fixture->bus, 0);
}

static void fixture_deinit(Fixture *fixture) {
        bus_monitor_deinit(&fixture->monitor);
        fd_close(fixture->bus);
        fd_close(fixture->listener);
}

static void say(Fixture *fixture, const void *data, size_t n) {
        ck_assert_int_eq(send(fixture->bus, data, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void say_line(Fixture *fixture, const char *line) {
        say(fixture, line, strlen(line));
}

/* Until the monitor has said something that ends so. */
static void hear(Fixture *fixture, const char *end) {
        char text[2048];
        size_t n = 0;

        do {
                ssize_t r = recv(fixture->bus, text + n, sizeof(text) - n, 0);

                ck_assert_int_gt(r, 0);
                n += (size_t)r;
        } while (n < strlen(end) || memcmp(text + n - strlen(end), end, strlen(end)) != 0);
}

static void answer(Fixture *fixture, uint32_t serial, const char *error, const char *text) {
        const char *const texts[] = { text, NULL };
        const FrameFields fields = {
                .type = error ? FRAME_ERROR : FRAME_METHOD_RETURN,
                .serial = serial,
                .reply_serial = serial,
                .error = error,
                .sender = "org.freedesktop.DBus",
        };
        DbusMessage message;

        dbus_message_make(&message, &fields, texts);
        say(fixture, message.data, message.n);
}

static void welcome(Fixture *fixture) {
        hear(fixture, "\r\n");
        say_line(fixture, "OK 1234\r\n");
        hear(fixture, "NEGOTIATE_UNIX_FD\r\n");
        say_line(fixture, "AGREE_UNIX_FD\r\n");
        answer(fixture, 1, NULL, ":1.1");
}

static MonitorState wait_while(Fixture *fixture, MonitorState state) {
        for (int i = 0; i < 1000 && atomic_load(&fixture->monitor.state) == (int)state; i++)
                poll(NULL, 0, 10);
        return (MonitorState)atomic_load(&fixture->monitor.state);
}

START_TEST(test_bus_that_says_nothing_can_be_left) {
        Fixture fixture;

        fixture_init(&fixture);
        bus_monitor_stop(&fixture.monitor);
        ck_assert_int_eq(atomic_load(&fixture.monitor.state), MONITOR_FAILED);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_refusals_are_told_in_the_words_of_the_bus) {
        Fixture fixture;

        fixture_init(&fixture);
        hear(&fixture, "\r\n");
        say_line(&fixture, "REJECTED EXTERNAL\r\n");
        ck_assert_int_eq(wait_while(&fixture, MONITOR_ASKS), MONITOR_FAILED);
        ck_assert_str_eq(fixture.monitor.error, "REJECTED EXTERNAL");
        fixture_deinit(&fixture);

        fixture_init(&fixture);
        welcome(&fixture);
        answer(&fixture, 2, "org.freedesktop.DBus.Error.AccessDenied", "not you");
        ck_assert_int_eq(wait_while(&fixture, MONITOR_ASKS), MONITOR_FAILED);
        ck_assert_str_eq(fixture.monitor.error, "not you");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_line_without_an_end_is_refused) {
        Fixture fixture;
        char nonsense[4096];

        memset(nonsense, 'x', sizeof(nonsense));
        fixture_init(&fixture);
        hear(&fixture, "\r\n");
        say(&fixture, nonsense, sizeof(nonsense));
        ck_assert_int_eq(wait_while(&fixture, MONITOR_ASKS), MONITOR_FAILED);
        fixture_deinit(&fixture);
}
END_TEST

/* Nobody takes anything out of the ring, and the bus gets rid of everything. */
START_TEST(test_bus_never_waits_for_who_writes) {
        const FrameFields signal = {
                .type = FRAME_SIGNAL,
                .path = "/p",
                .interface = "org.a.B",
                .member = "Changed",
                .sender = ":1.2",
        };
        DbusMessage message;
        Fixture fixture;

        fixture_init(&fixture);
        welcome(&fixture);
        answer(&fixture, 2, NULL, "");
        ck_assert_int_eq(wait_while(&fixture, MONITOR_ASKS), MONITOR_READS);
        dbus_message_make(&message, &signal, NULL);
        for (int i = 0; i < 60000; i++)
                (void)send(fixture.bus, message.data, message.n, MSG_NOSIGNAL);
        while (atomic_load(&fixture.monitor.reader.n_messages) < 60000)
                poll(NULL, 0, 10);
        ck_assert_uint_gt(atomic_load(&fixture.monitor.ring.n_dropped), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_nonsense_ends_the_monitor) {
        Fixture fixture;

        fixture_init(&fixture);
        welcome(&fixture);
        answer(&fixture, 2, NULL, "");
        ck_assert_int_eq(wait_while(&fixture, MONITOR_ASKS), MONITOR_READS);
        say_line(&fixture, "this is no message at all");
        ck_assert_int_eq(wait_while(&fixture, MONITOR_READS), MONITOR_GONE);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bridges-dbus-monitor",
          test_bus_that_says_nothing_can_be_left,
          test_refusals_are_told_in_the_words_of_the_bus,
          test_line_without_an_end_is_refused,
          test_bus_never_waits_for_who_writes,
          test_nonsense_ends_the_monitor)
