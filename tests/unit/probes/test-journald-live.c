/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A journal of its own, written by the machine's systemd-journald in namespaces of this test: needs root.
 */

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "test.h"

#include "host/packet-list.h"
#include "namespace.h"
#include "probes/system/journald-probe.h"

#define JOURNALD "/lib/systemd/systemd-journald"
#define WAIT_MS  10000

static void enter_namespaces(void) {
        static const char *const directories[] = {
                "/run/systemd", "/run/systemd/journal", "/run/log", "/run/log/journal"
        };

        /* The network's, too: otherwise it would switch on the machine's audit. */
        ck_assert_int_eq(namespace_enter(CLONE_NEWNET), 0);
        ck_assert_int_eq(mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"), 0);
        ck_assert_int_eq(mount("tmpfs", "/var/log", "tmpfs", 0, "mode=0755"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
                ck_assert_int_eq(mkdir(directories[i], 0755), 0);
}

static pid_t start_journald(void) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                execl(JOURNALD, JOURNALD, NULL);
                _exit(127);
        }
        for (int i = 0; i < WAIT_MS / 10; i++) {
                sd_journal *journal;

                if (journal_open(&journal, NULL, NULL) == 0) {
                        sd_journal_close(journal);
                        return pid;
                }
                poll(NULL, 0, 10);
        }
        ck_abort_msg("systemd-journald made no journal");
}

static void end_journald(pid_t pid) {
        ck_assert_int_eq(kill(pid, SIGTERM), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void *record(PacketList *list, const DataSourceConfig *config) {
        ProbeSetup setup = { .config = config, .sink = &list->sink };
        char *error = NULL;
        void *probe;

        ck_assert_msg(journald_probe_ops.setup(&probe, &setup, &error) == 0, "%s", error);
        ck_assert_int_eq(journald_probe_ops.start(probe, NULL), 0);
        /* What journald says of itself, and a kernel log that may be long. */
        while (journald_probe_ops.poll(probe, probe_now_ns()) != PROBE_NEVER)
                ;
        return probe;
}

static size_t count_message(const PacketList *list, const char *text) {
        WireReader event;
        size_t n = 0;

        for (size_t i = 0; i < list->n; i++)
                n += packet_list_payload(list, i, PACKET_JOURNALD_EVENT, &event) &&
                     message_has_text(event, 7, text);
        return n;
}

/* As the host does: a poll when the descriptor says so. */
static bool wait_for_message(void *probe, const PacketList *list, const char *text) {
        struct pollfd fd = { .fd = journald_probe_ops.fd(probe), .events = POLLIN };

        while (count_message(list, text) == 0) {
                if (poll(&fd, 1, WAIT_MS) <= 0)
                        return false;
                while (journald_probe_ops.poll(probe, probe_now_ns()) != PROBE_NEVER)
                        ;
        }
        return true;
}

START_TEST(test_what_is_logged_meanwhile_is_in_the_trace_and_nothing_else) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        WireReader event, packet;
        pid_t journald;
        void *probe;

        enter_namespaces();
        journald = start_journald();
        ck_assert_int_eq(sd_journal_print(LOG_ERR, "too early"), 0);
        poll(NULL, 0, 300); /* until it is in the journal, so behind the start it is not */
        probe = record(&list, &config);
        ck_assert_int_eq(sd_journal_send("MESSAGE=without a priority", NULL), 0);
        ck_assert_int_eq(sd_journal_print(LOG_DEBUG, "in time"), 0);
        ck_assert(wait_for_message(probe, &list, "in time"));
        ck_assert_uint_eq(count_message(&list, "without a priority"), 1);
        ck_assert_uint_eq(count_message(&list, "too early"), 0);
        for (size_t i = 0; i < list.n; i++) {
                ck_assert(packet_list_payload(&list, i, PACKET_JOURNALD_EVENT, &event));
                if (!message_has_text(event, 7, "in time"))
                        continue;
                ck_assert_uint_eq(message_uint(event, 1), (uint64_t)getpid());
                ck_assert_uint_eq(message_uint(event, 5), LOG_DEBUG);
                ck_assert(message_has_text(event, 12, "journal"));
                wire_reader_init(&packet, list.packets[i].data, list.packets[i].n);
                ck_assert_uint_eq(message_uint(packet, PACKET_TIMESTAMP_CLOCK_ID), 3);
        }
        journald_probe_ops.stop(probe, probe_now_ns());
        ck_assert(packet_list_payload(&list, list.n - 1, PACKET_JOURNALD_EVENT, &event));
        ck_assert_uint_ge(message_uint(event, 20), 2);
        ck_assert_uint_eq(message_uint(event, 21), 0);
        journald_probe_ops.free(probe);
        end_journald(journald);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_a_flood_is_read_in_bounded_steps_and_a_flush_sees_its_end) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        pid_t journald;
        size_t n_before;
        void *probe;

        enter_namespaces();
        journald = start_journald();
        probe = record(&list, &config);
        n_before = list.n;
        for (int i = 0; i < 2 * JOURNAL_ENTRIES_PER_POLL; i++)
                ck_assert_int_eq(sd_journal_send("MESSAGE=flood", "PRIORITY=5", NULL), 0);
        poll(NULL, 0, 1000); /* what the journal takes for it */
        ck_assert_uint_eq(list.n, n_before);
        ck_assert_uint_ne(journald_probe_ops.poll(probe, 1), PROBE_NEVER);
        ck_assert_uint_le(list.n - n_before, JOURNAL_ENTRIES_PER_POLL);
        journald_probe_ops.flush(probe, probe_now_ns());
        ck_assert_uint_eq(count_message(&list, "flood"), 2 * JOURNAL_ENTRIES_PER_POLL);
        journald_probe_ops.free(probe);
        end_journald(journald);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_without_a_journal_the_source_is_refused) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config };
        char *error = NULL;
        void *probe;

        enter_namespaces();
        ck_assert_int_eq(journald_probe_ops.setup(&probe, &setup, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "is systemd-journald running?"), "%s", error);
        free(error);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_what_is_logged_meanwhile_is_in_the_trace_and_nothing_else,
                test_a_flood_is_read_in_bounded_steps_and_a_flush_sees_its_end,
                test_without_a_journal_the_source_is_refused,
        };

        if (geteuid() != 0 || access(JOURNALD, X_OK) < 0 || access("/etc/machine-id", R_OK) < 0) {
                printf("1..0 # SKIP needs root, a machine id and %s\n", JOURNALD);
                return EXIT_SUCCESS;
        }
        if (!namespace_is_allowed(CLONE_NEWNET)) {
                printf("1..0 # SKIP needs namespaces, which are not allowed here\n");
                return EXIT_SUCCESS;
        }
        /* Each in namespaces of its own. */
        setenv("CK_FORK", "yes", 1);
        return test_run("journald-live", tests, ARRAY_SIZE(tests));
}
