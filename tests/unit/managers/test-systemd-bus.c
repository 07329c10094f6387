/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The data source with a message bus of its own, and a manager that is made up: it answers, lies, is silent, or goes.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "managers/manager-bus.h"
#include "managers/systemd-message.h"
#include "managers/systemd-probe.h"
#include "slice-list.h"

typedef enum Manner {
        MANNER_ANSWERS,
        MANNER_LIES,   /* with types that are none of these */
        MANNER_TIRED,  /* lists very many units, and then: */
        MANNER_SILENT, /* hears and says nothing */
} Manner;

typedef struct Fixture {
        pid_t bus, manager;
        PacketList list;
        void *probe;
} Fixture;

static Fixture fixture;

/*
 * The manager, a process of its own
 */

static const char *const units[] = { "first.service", "second.service", "idle.service" };

static int answer_units(sd_bus_message *call, size_t n_units) {
        sd_bus_message *reply;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssssssouso)");
        for (size_t i = 0; r >= 0 && i < n_units; i++) {
                char path[128];

                snprintf(path, sizeof(path), "/unit/%zu", i);
                r = sd_bus_message_append(reply,
                                          "(ssssssouso)",
                                          units[i % ARRAY_SIZE(units)],
                                          "",
                                          "loaded",
                                          "active",
                                          "running",
                                          "",
                                          path,
                                          0u,
                                          "",
                                          "/");
        }
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        sd_bus_message_unref(reply);
        return r;
}

/* The first unit is active since 2 ms, the second one since 4, which it began when the first one was; the third was
 * never. */
static int answer_get(sd_bus_message *call) {
        unsigned i = (unsigned)(sd_bus_message_get_path(call)[6] - '0');
        const char *interface, *property;

        if (sd_bus_message_read(call, "ss", &interface, &property) < 0)
                return -EBADMSG;
        if (streq(property, "After"))
                return i == 1 ? sd_bus_reply_method_return(call, "v", "as", 1, units[0])
                              : sd_bus_reply_method_return(call, "v", "as", 0);
        if (i == 2)
                return sd_bus_reply_method_return(call, "v", "t", UINT64_C(0));
        if (streq(property, "InactiveExitTimestampMonotonic"))
                return sd_bus_reply_method_return(call, "v", "t", UINT64_C(1000) + i * 1001);
        if (streq(property, "ActiveEnterTimestampMonotonic"))
                return sd_bus_reply_method_return(call, "v", "t", UINT64_C(2000) + i * 2000);
        return sd_bus_reply_method_return(call, "v", "t", UINT64_C(0));
}

static int answer(sd_bus_message *call) {
        const char *member = sd_bus_message_get_member(call);

        if (streq(member, "ListUnits"))
                return answer_units(call, ARRAY_SIZE(units));
        if (streq(member, "ListJobs"))
                return sd_bus_reply_method_return(
                        call, "a(usssoo)", 1, 7u, "job.service", "start", "waiting", "/", "/");
        if (streq(member, "Get"))
                return answer_get(call);
        if (streq(member, "GetAll"))
                return sd_bus_reply_method_return(call,
                                                  "a{sv}",
                                                  3,
                                                  "FinishTimestampMonotonic",
                                                  "s",
                                                  "never",
                                                  "UserspaceTimestampMonotonic",
                                                  "t",
                                                  UINT64_C(500),
                                                  "Version",
                                                  "s",
                                                  "252");
        return sd_bus_reply_method_return(call, NULL);
}

static int lie(sd_bus_message *call) {
        const char *member = sd_bus_message_get_member(call);

        if (streq(member, "ListUnits"))
                return answer_units(call, ARRAY_SIZE(units));
        if (streq(member, "Get"))
                return sd_bus_reply_method_return(call, "v", "a{sv}", 1, "x", "s", "y");
        if (streq(member, "GetAll"))
                return sd_bus_reply_method_return(call, "as", 1, "no properties");
        return sd_bus_reply_method_return(call, "s", "not what was asked for");
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const Manner *manner = userdata;
        uint8_t type;

        if (sd_bus_message_get_type(message, &type) < 0 || type != SD_BUS_MESSAGE_METHOD_CALL)
                return 0;
        if (*manner == MANNER_ANSWERS)
                return answer(message) < 0 ? -EIO : 1;
        if (*manner == MANNER_TIRED && streq(sd_bus_message_get_member(message), "ListUnits"))
                return answer_units(message, 1000) < 0 ? -EIO : 1;
        if (*manner == MANNER_LIES)
                return lie(message) < 0 ? -EIO : 1;
        return 1;
}

/* Byte by byte: it is there. */
static void run_manager(Manner manner, int ready) {
        sd_bus *bus = NULL;

        if (sd_bus_open_user(&bus) < 0 || sd_bus_add_filter(bus, NULL, on_message, &manner) < 0 ||
            sd_bus_request_name(bus, SYSTEMD_NAME, 0) < 0 || write(ready, "x", 1) != 1)
                _exit(1);
        while (sd_bus_process(bus, NULL) >= 0)
                (void)sd_bus_wait(bus, UINT64_MAX);
        _exit(0);
}

/*
 * The world
 */

static pid_t fork_child(void) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

static void start_bus(void) {
        char address[256];
        ssize_t n;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        fixture.bus = fork_child();
        if (fixture.bus == 0) {
                dup2(fds[1], 3);
                execlp("dbus-daemon",
                       "dbus-daemon",
                       "--session",
                       "--nofork",
                       "--nopidfile",
                       "--print-address=3",
                       NULL);
                _exit(127);
        }
        close(fds[1]);
        n = read(fds[0], address, sizeof(address) - 1);
        ck_assert_int_gt(n, 1);
        address[n - 1] = '\0';
        close(fds[0]);
        setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
}

static void start_manager(Manner manner) {
        char byte;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        fixture.manager = fork_child();
        if (fixture.manager == 0)
                run_manager(manner, fds[1]);
        close(fds[1]);
        ck_assert_int_eq(read(fds[0], &byte, 1), 1);
        close(fds[0]);
}

static void end_child(pid_t *pid) {
        if (*pid <= 0)
                return;
        kill(*pid, SIGKILL);
        waitpid(*pid, NULL, 0);
        *pid = 0;
}

static void start_probe(bool since_boot) {
        Perfetto__Protos__SystemdConfig systemd = PERFETTO__PROTOS__SYSTEMD_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        const ProbeSetup setup = { .config = &config, .sink = &fixture.list.sink };
        char *error = NULL;

        systemd.has_since_boot = true;
        systemd.since_boot = since_boot;
        config.systemd_config = &systemd;
        ck_assert_int_eq(systemd_user_probe_ops.setup(&fixture.probe, &setup, &error), 0);
        ck_assert_int_eq(systemd_user_probe_ops.start(fixture.probe, &error), 0);
        (void)systemd_user_probe_ops.poll(fixture.probe, 1);
}

/* As the host does it. */
static void wait_until_stopped(void) {
        systemd_user_probe_ops.stop(fixture.probe, 1);
        while (systemd_user_probe_ops.is_stopping(fixture.probe)) {
                struct pollfd poll_fd = { .fd = systemd_user_probe_ops.fd(fixture.probe),
                                          .events = POLLIN };

                ck_assert_int_ge(poll(&poll_fd, 1, 20000), 1);
                (void)systemd_user_probe_ops.poll(fixture.probe, 1);
        }
}

static void setup(void) {
        fixture = (Fixture){ .list = PACKET_LIST_INIT };
        start_bus();
}

static void teardown(void) {
        systemd_user_probe_ops.free(fixture.probe);
        end_child(&fixture.manager);
        end_child(&fixture.bus);
        packet_list_deinit(&fixture.list);
}

START_TEST(test_what_a_manager_remembers_is_read_until_the_stop) {
        setup();
        start_manager(MANNER_ANSWERS);
        start_probe(true);
        wait_until_stopped();
        ck_assert(slice_list_is(&fixture.list, "Boot", 0, SLICE_BEGIN, "userspace", 500));
        ck_assert(
                slice_list_is(&fixture.list, "first.service", 0, SLICE_BEGIN, "activating", 1000));
        ck_assert(slice_list_is(&fixture.list, "first.service", 2, SLICE_BEGIN, "active", 2000));
        ck_assert(slice_list_is(&fixture.list, "second.service", 2, SLICE_BEGIN, "active", 4000));
        ck_assert(slice_list_has_arrow(&fixture.list, "first.service", 2, "second.service", 0));
        ck_assert_uint_eq(slice_list_track(&fixture.list, "idle.service"), 0);
        ck_assert_uint_ne(slice_list_track(&fixture.list, "job.service"), 0);
        teardown();
}
END_TEST

START_TEST(test_only_what_happens_meanwhile_is_read_otherwise) {
        setup();
        start_manager(MANNER_ANSWERS);
        start_probe(false);
        wait_until_stopped();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "first.service"), 0);
        teardown();
}
END_TEST

START_TEST(test_a_manager_that_lies_is_endured) {
        setup();
        start_manager(MANNER_LIES);
        start_probe(true);
        wait_until_stopped();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "first.service"), 0);
        teardown();
}
END_TEST

START_TEST(test_a_silent_manager_is_not_waited_for_for_ever) {
        setup();
        start_manager(MANNER_SILENT);
        start_probe(true);
        wait_until_stopped();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "first.service"), 0);
        teardown();
}
END_TEST

START_TEST(test_one_that_falls_silent_is_asked_no_more) {
        setup();
        start_manager(MANNER_TIRED);
        start_probe(true);
        wait_until_stopped();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "first.service"), 0);
        teardown();
}
END_TEST

static sd_bus *peer_new(void) {
        sd_bus *peer = NULL;

        ck_assert_int_ge(sd_bus_open_user(&peer), 0);
        return peer;
}

/* The only connection besides the bus's own, ours and the manager's. */
static char *find_probe(sd_bus *peer) {
        const char *self = NULL;
        char **names = NULL, *found = NULL;

        ck_assert_int_ge(sd_bus_get_unique_name(peer, &self), 0);
        ck_assert_int_ge(sd_bus_list_names(peer, &names, NULL), 0);
        for (char **name = names; *name; name++) {
                sd_bus_message *reply = NULL;
                uint32_t pid = 0;

                if (**name != ':' || streq(*name, self))
                        continue;
                ck_assert_int_ge(sd_bus_call_method(peer,
                                                    "org.freedesktop.DBus",
                                                    "/org/freedesktop/DBus",
                                                    "org.freedesktop.DBus",
                                                    "GetConnectionUnixProcessID",
                                                    NULL,
                                                    &reply,
                                                    "s",
                                                    *name),
                                 0);
                ck_assert_int_gt(sd_bus_message_read(reply, "u", &pid), 0);
                sd_bus_message_unref(reply);
                if (pid == (uint32_t)getpid())
                        found = strdup(*name);
        }
        for (char **name = names; *name; name++)
                free(*name);
        free(names);
        ck_assert_ptr_nonnull(found);
        return found;
}

/* To one connection alone, as any peer of a bus may. */
static void tell(sd_bus *peer, const char *to, const char *unit) {
        sd_bus_message *signal = NULL;

        ck_assert_int_ge(
                sd_bus_message_new_signal(peer, &signal, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobNew"),
                0);
        ck_assert_int_ge(sd_bus_message_append(signal, "uos", 9u, SYSTEMD_JOB_PATH "/9", unit), 0);
        ck_assert_int_ge(sd_bus_message_set_destination(signal, to), 0);
        ck_assert_int_ge(sd_bus_send(peer, signal, NULL), 0);
        ck_assert_int_ge(sd_bus_flush(peer), 0);
        sd_bus_message_unref(signal);
}

/* Until the probe has heard of the one who now owns the manager's name. */
static void poll_for(unsigned ms) {
        struct pollfd poll_fd = { .fd = systemd_user_probe_ops.fd(fixture.probe),
                                  .events = POLLIN };

        while (poll(&poll_fd, 1, (int)ms) > 0)
                (void)systemd_user_probe_ops.poll(fixture.probe, 1);
}

START_TEST(test_only_the_manager_is_believed) {
        sd_bus *peer;
        char *probe;

        setup();
        start_manager(MANNER_ANSWERS);
        peer = peer_new();
        start_probe(false);
        poll_for(200);
        probe = find_probe(peer);
        tell(peer, probe, "forged.service");
        poll_for(200);
        end_child(&fixture.manager);
        while (sd_bus_request_name(peer, SYSTEMD_NAME, 0) < 0)
                poll_for(50);
        poll_for(200);
        tell(peer, probe, "true.service");
        poll_for(200);
        sd_bus_flush_close_unref(peer); /* which ends the questions about the job */
        wait_until_stopped();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "forged.service"), 0);
        ck_assert_uint_ne(slice_list_track(&fixture.list, "true.service"), 0);
        free(probe);
        teardown();
}
END_TEST

START_TEST(test_without_a_manager_there_is_nothing_to_wait_for) {
        setup();
        start_probe(true);
        wait_until_stopped();
        teardown();
}
END_TEST

START_TEST(test_a_bus_that_goes_ends_the_wait) {
        setup();
        start_manager(MANNER_SILENT);
        start_probe(true);
        end_child(&fixture.bus);
        wait_until_stopped();
        teardown();
}
END_TEST

START_TEST(test_freed_while_answers_are_awaited) {
        setup();
        start_manager(MANNER_SILENT);
        start_probe(true);
        teardown();
}
END_TEST

TEST_MAIN("managers-systemd-bus",
          test_what_a_manager_remembers_is_read_until_the_stop,
          test_only_what_happens_meanwhile_is_read_otherwise,
          test_a_manager_that_lies_is_endured,
          test_a_silent_manager_is_not_waited_for_for_ever,
          test_one_that_falls_silent_is_asked_no_more,
          test_only_the_manager_is_believed,
          test_without_a_manager_there_is_nothing_to_wait_for,
          test_a_bus_that_goes_ends_the_wait,
          test_freed_while_answers_are_awaited)
