/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether a machine has what a source reads, and the words for why not. */

#include <errno.h>
#include <sys/stat.h>

#include "test.h"

#include "host/denial.h"
#include "probes/ftrace/ftrace-check.h"
#include "probes/probe-registry.h"
#include "probes/proc/proc-check.h"
#include "probes/system/journald-probe.h"
#include "probes/system/system-info-probe.h"
#include "tree.h"

#define TRACING "sys/kernel/tracing/"

static Tree tree;

static void assert_refused(int (*check)(int root, char **ret_error), const char *word) {
        char *error = NULL;

        ck_assert_int_eq(check(tree.fd, &error), PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, word), "%s", error);
        free(error);
}

static void assert_available(int (*check)(int root, char **ret_error)) {
        char *error = NULL;
        int r = check(tree.fd, &error);

        ck_assert_msg(r == 0, "%s", error);
}

static void put_capabilities(const char *effective) {
        char status[128];

        snprintf(status, sizeof(status), "Name:\tx\nCapEff:\t%s\nSeccomp:\t0\n", effective);
        tree_put(&tree, "proc/self/status", status);
}

START_TEST(test_kernel_events_need_a_mounted_tracefs_with_instances) {
        tree = tree_new();
        put_capabilities("0000000000000000");
        assert_refused(ftrace_check_at, "this kernel offers no tracefs");
        tree_make_parents(&tree, TRACING);
        assert_refused(ftrace_check_at, "mount -t tracefs tracefs /sys/kernel/tracing");
        put_capabilities("0000000000200000"); /* CAP_SYS_ADMIN: it will be mounted */
        assert_available(ftrace_check_at);
        tree_put(&tree, TRACING "trace_clock", "[local]\n");
        tree_make_parents(&tree, TRACING "events/");
        assert_refused(ftrace_check_at, "has no instances");
        tree_make_parents(&tree, TRACING "instances/");
        assert_available(ftrace_check_at);
        tree_free(&tree);
}
END_TEST

START_TEST(test_kernel_events_are_also_found_below_debugfs) {
        tree = tree_new();
        put_capabilities("0000000000000000");
        tree_put(&tree, "sys/kernel/debug/tracing/trace_clock", "[local]\n");
        tree_make_parents(&tree, "sys/kernel/debug/tracing/events/");
        tree_make_parents(&tree, "sys/kernel/debug/tracing/instances/");
        assert_available(ftrace_check_at);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_proc_that_is_not_whole_is_told_from_none) {
        tree = tree_new();
        assert_refused(process_stats_check_at, "mount -t proc");
        assert_refused(sys_stats_check_at, "/proc is not mounted");
        tree_put(&tree, "proc/self/stat", "1 (x) S\n");
        assert_available(process_stats_check_at);
        assert_refused(sys_stats_check_at, "subset=pid");
        tree_put(&tree, "proc/meminfo", "MemTotal: 1 kB\n");
        assert_available(sys_stats_check_at);
        tree_free(&tree);
}
END_TEST

START_TEST(test_processors_need_sysfs) {
        tree = tree_new();
        assert_refused(system_info_check_at, "mount -t sysfs");
        tree_make_parents(&tree, "sys/devices/system/cpu/");
        assert_available(system_info_check_at);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_journal_is_a_file_that_can_be_read) {
        tree = tree_new();
        assert_refused(journald_check_at, "systemctl start systemd-journald");
        tree_put(&tree, "var/log/journal/0123/README", "");
        assert_refused(journald_check_at, "no journal on this machine");
        /* There, but not for us (a link to itself fails for root, too). */
        ck_assert_int_eq(
                symlinkat("system.journal", tree.fd, "var/log/journal/0123/system.journal"), 0);
        assert_refused(journald_check_at, "cannot read the journal");
        tree_put(&tree, "run/log/journal/0123/system.journal", "");
        assert_available(journald_check_at);
        tree_free(&tree);
}
END_TEST

/*
 * By whom it is forbidden
 */

static void assert_explained(int error, const char *word) {
        char why[DENIAL_BYTES];

        denial_explain(why, tree.fd, error, CAP_DAC_OVERRIDE);
        ck_assert_msg(strstr(why, word), "%s", why);
}

START_TEST(test_a_missing_capability_is_named) {
        tree = tree_new();
        put_capabilities("fffffffffffffffd"); /* all others */
        tree_put(&tree, "sys/kernel/security/lsm", "capability,apparmor");
        assert_explained(EACCES, "this needs CAP_DAC_OVERRIDE");
        assert_explained(EPERM, "this needs CAP_DAC_OVERRIDE");
        tree_free(&tree);
}
END_TEST

START_TEST(test_with_the_capability_it_is_a_security_module) {
        tree = tree_new();
        put_capabilities("0000000000000002");
        assert_explained(EACCES, "a security module forbids it");
        tree_put(&tree, "sys/kernel/security/lsm", "lockdown,capability,yama,apparmor,landlock");
        assert_explained(EACCES, "(apparmor, landlock)");
        tree_put(&tree, "sys/kernel/security/lsm", "capability,selinux\n");
        assert_explained(EACCES, "(selinux)");
        tree_free(&tree);
}
END_TEST

START_TEST(test_lockdown_is_told_when_it_is_so_far) {
        tree = tree_new();
        put_capabilities("ffffffffffffffff");
        tree_put(&tree, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        ck_assert(!denial_is_locked_down(tree.fd));
        assert_explained(EPERM, "a security module");
        tree_put(&tree, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
        ck_assert(denial_is_locked_down(tree.fd));
        assert_explained(EPERM, "locked down");
        assert_explained(EACCES, "a security module");
        tree_free(&tree);
}
END_TEST

START_TEST(test_other_errors_have_their_remedy) {
        tree = tree_new();
        assert_explained(EROFS, "remount");
        assert_explained(ENOENT, "this kernel does not offer it");
        assert_explained(EIO, "");
        tree_free(&tree);
}
END_TEST

START_TEST(test_each_source_of_this_machine_is_there_or_says_why_not) {
        for (size_t i = 0; i < n_probes; i++) {
                char *error = NULL;
                int r = probes[i]->check ? probes[i]->check(&error) : 0;

                ck_assert_msg(r == 0 || (r == PROBE_E_REFUSED && strlen(error) > 10),
                              "%s: %d",
                              probes[i]->name,
                              r);
                ck_assert(!error || !strchr(error, '\n'));
                free(error);
        }
}
END_TEST

TEST_MAIN("probes-availability",
          test_kernel_events_need_a_mounted_tracefs_with_instances,
          test_kernel_events_are_also_found_below_debugfs,
          test_a_proc_that_is_not_whole_is_told_from_none,
          test_processors_need_sysfs,
          test_a_journal_is_a_file_that_can_be_read,
          test_a_missing_capability_is_named,
          test_with_the_capability_it_is_a_security_module,
          test_lockdown_is_told_when_it_is_so_far,
          test_other_errors_have_their_remedy,
          test_each_source_of_this_machine_is_there_or_says_why_not)
