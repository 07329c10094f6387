/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Each check of "desktrace doctor": facts that are wrong are named, with what to do, and facts that are right are not.
 */

#include <linux/capability.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "test.h"

#include "../probes/tree.h"
#include "build-config.h"
#include "client/doctor-machine.h"
#include "client/doctor-names.h"
#include "client/doctor-service.h"
#include "doctor-report.h"

static Tree tree;

/*
 * The machine
 */

#define MOUNTINFO "proc/self/mountinfo"
#define TRACEFS(options) \
        "30 25 0:12 / /sys/kernel/tracing " options " shared:9 - tracefs tracefs rw\n"
#define PROC(options) "24 29 0:22 / /proc rw,nosuid shared:13 - proc proc " options "\n"

static void make_machine(void) {
        tree = tree_new();
        tree_make_parents(&tree, "sys/kernel/tracing/");
        tree_put(&tree, MOUNTINFO, TRACEFS("rw,nosuid") PROC("rw"));
        tree_put(&tree, "proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
        tree_put(&tree, "proc/sys/kernel/perf_event_paranoid", "3\n");
        tree_put(&tree, "proc/sys/kernel/kptr_restrict", "1\n");
        tree_put(&tree, "proc/sys/kernel/yama/ptrace_scope", "1\n");
        tree_put(&tree, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        tree_make_parents(&tree, "run/log/journal/");
        tree_put(&tree, "usr/share/dbus-1/system-services/org.desktrace.Tracing1.service", "");
        tree_put(&tree, "usr/lib/systemd/system/desktrace-probes.socket", "");
        tree_put(&tree, "usr/share/dbus-1/system.d/org.desktrace.Tracing1.conf", "");
        tree_put(&tree, "usr/share/polkit-1/actions/org.desktrace.tracing1.policy", "");
        tree_put(&tree, PROBES_PATH[0] == '/' ? PROBES_PATH + 1 : PROBES_PATH, "");
}

static void put_socket(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        tree_make_parents(&tree, path);
        snprintf(address.sun_path, sizeof(address.sun_path), "%.60s/%.40s", tree.path, path);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        close(fd);
}

/* Looks, and forgets the tree. */
static void examine_machine(void) {
        MachineFacts *facts = machine_facts_new(tree.fd, 1000);

        begin();
        machine_check(&report, facts);
        machine_facts_free(facts);
        tree_free(&tree);
}

START_TEST(test_a_machine_that_has_everything_is_well) {
        make_machine();
        put_socket("run/desktrace/native.sock");
        put_socket("run/perfetto/traced-producer.sock");
        examine_machine();
        ck_assert_uint_eq(report.n_problems, 0);
        ck_assert_uint_eq(report.n_notes, 0);
        end();
}
END_TEST

START_TEST(test_tracefs_must_be_there_mounted_and_writable) {
        make_machine();
        tree_put(&tree, MOUNTINFO, PROC("rw"));
        examine_machine();
        assert_finding(DOCTOR_PROBLEM, "tracefs", "not mounted");
        assert_remedy("tracefs", "not mounted", "mount -t tracefs tracefs /sys/kernel/tracing");
        end();

        make_machine();
        tree_put(&tree, MOUNTINFO, TRACEFS("ro,nosuid"));
        examine_machine();
        assert_finding(DOCTOR_PROBLEM, "tracefs", "read-only");
        end();

        tree = tree_new();
        examine_machine();
        assert_finding(DOCTOR_PROBLEM, "tracefs", "there is no /sys/kernel/tracing");
        end();
}
END_TEST

START_TEST(test_lockdown_is_a_problem_for_confidentiality_only) {
        make_machine();
        tree_put(&tree, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        examine_machine();
        assert_finding(DOCTOR_OK, "lockdown", "integrity");
        end();

        make_machine();
        tree_put(&tree, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
        examine_machine();
        assert_finding(DOCTOR_PROBLEM, "lockdown", "not even by root");
        end();
}
END_TEST

START_TEST(test_levels_of_the_kernel_are_said_with_what_they_mean) {
        make_machine();
        tree_put(&tree, "proc/sys/kernel/kptr_restrict", "2\n");
        examine_machine();
        assert_finding(DOCTOR_NOTE, "kptr_restrict", "without names");
        assert_remedy("kptr_restrict", "2", "sudo sysctl -w kernel.kptr_restrict=1");
        assert_finding(DOCTOR_OK,
                       "perf_events",
                       "perf_event_paranoid is 3, which does not restrict the probes");
        assert_finding(DOCTOR_OK, "ptrace_scope", "1");
        end();
}
END_TEST

START_TEST(test_a_proc_that_is_not_whole_is_told) {
        make_machine();
        tree_put(&tree, MOUNTINFO, TRACEFS("rw") PROC("rw,hidepid=invisible"));
        examine_machine();
        assert_finding(DOCTOR_NOTE, "proc", "hidepid");
        end();

        make_machine();
        tree_put(&tree, MOUNTINFO, TRACEFS("rw") PROC("rw,subset=pid"));
        examine_machine();
        assert_finding(DOCTOR_PROBLEM, "proc", "subset=pid");
        end();
}
END_TEST

START_TEST(test_containers_and_sandboxes_are_named) {
        make_machine();
        tree_put(&tree, "run/systemd/container", "lxc\n");
        examine_machine();
        assert_finding(DOCTOR_NOTE, "sandbox", "(lxc), without the rights");
        end();

        make_machine();
        tree_put(&tree, ".dockerenv", "");
        tree_put(&tree, "proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\n");
        examine_machine();
        assert_finding(DOCTOR_NOTE, "sandbox", "(docker)");
        ck_assert_ptr_null(find(DOCTOR_NOTE, "sandbox", "without the rights"));
        end();

        make_machine();
        tree_put(&tree, ".flatpak-info", "");
        examine_machine();
        assert_remedy("sandbox", "Flatpak", "--system-talk-name=org.desktrace.Tracing1");
        end();
}
END_TEST

START_TEST(test_each_file_that_is_not_installed_is_named) {
        static const char *const files[] = {
                "usr/share/dbus-1/system-services/org.desktrace.Tracing1.service",
                "usr/lib/systemd/system/desktrace-probes.socket",
                "usr/share/dbus-1/system.d/org.desktrace.Tracing1.conf",
                "usr/share/polkit-1/actions/org.desktrace.tracing1.policy",
        };

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                make_machine();
                ck_assert_int_eq(unlinkat(tree.fd, files[i], 0), 0);
                examine_machine();
                assert_finding(DOCTOR_PROBLEM, "installation", strrchr(files[i], '/') + 1);
                end();
        }
}
END_TEST

START_TEST(test_missing_sockets_and_journal_are_notes_with_a_command) {
        make_machine();
        ck_assert_int_eq(unlinkat(tree.fd, "run/log/journal", AT_REMOVEDIR), 0);
        examine_machine();
        ck_assert_uint_eq(report.n_problems, 0);
        assert_remedy("socket", "no native socket", "enable --now desktraced.socket");
        assert_remedy("perfetto", "find no service", "desktraced-perfetto-producer.socket");
        assert_remedy("journal", "no journal", "systemd-journald");
        end();
}
END_TEST

START_TEST(test_where_recordings_go_must_be_writable_and_roomy) {
        OutputFacts facts = { .path = (char *)"/x", .error = EACCES };

        begin();
        output_check(&report, &facts);
        assert_finding(DOCTOR_PROBLEM, "output", "/x by default, where nothing can be written");
        facts = (OutputFacts){ .path = (char *)"/x", .n_bytes_free = 1 << 20 };
        output_check(&report, &facts);
        assert_finding(DOCTOR_NOTE, "output", "1.0 MiB");
        output_check(&report, NULL);
        assert_finding(DOCTOR_PROBLEM, "output", "does not answer");
        end();
}
END_TEST

/*
 * The service
 */

static ServiceFacts healthy_service(void) {
        return (ServiceFacts){
                .choice = BUS_CHOICE_SYSTEM,
                .service = NAME_RUNNING,
                .probes = NAME_ABSENT,
                .systemd = NAME_RUNNING,
                .version = (char *)DESKTRACE_VERSION,
                .service_unit = { .is_known = true,
                                  .load_state = (char *)"loaded",
                                  .active_state = (char *)"active" },
                .probes_unit = { .is_known = true,
                                 .load_state = (char *)"loaded",
                                 .active_state = (char *)"inactive",
                                 .capabilities = UINT64_C(1) << CAP_DAC_OVERRIDE },
                .polkit = { .state = NAME_RUNNING,
                            .has_answered = true,
                            .has_action = true,
                            .is_authorized = true },
        };
}

static void examine_service(const ServiceFacts *facts) {
        begin();
        service_check(&report, facts, 1000);
}

START_TEST(test_a_service_that_has_everything_is_well) {
        ServiceFacts facts = healthy_service();

        examine_service(&facts);
        ck_assert_uint_eq(report.n_problems + report.n_notes, 0);
        end();
        facts.service = NAME_ACTIVATABLE;
        facts.version = NULL;
        examine_service(&facts);
        ck_assert_uint_eq(report.n_problems + report.n_notes, 0);
        end();
}
END_TEST

START_TEST(test_a_bus_that_is_absent_or_silent_is_the_only_finding) {
        ServiceFacts facts = { .bus_error = -ENOENT };

        examine_service(&facts);
        ck_assert_uint_eq(report.findings->len, 1);
        assert_remedy("bus", "there is no system bus", "--standalone");
        end();
        examine_service(NULL);
        ck_assert_uint_eq(report.findings->len, 1);
        assert_finding(DOCTOR_PROBLEM, "bus", "did not answer within");
        end();
}
END_TEST

START_TEST(test_what_is_wrong_with_the_service_is_named) {
        ServiceFacts facts = healthy_service();

        facts.version = (char *)"0.0.1";
        examine_service(&facts);
        assert_remedy("service", "version 0.0.1", "systemctl restart desktraced");
        end();

        facts = healthy_service();
        facts.service = NAME_ABSENT;
        examine_service(&facts);
        assert_remedy("service", "knows no org.desktrace.Tracing1", "reload dbus");
        end();

        facts = healthy_service();
        facts.service = NAME_ACTIVATABLE;
        facts.service_unit.load_state = (char *)"masked";
        examine_service(&facts);
        assert_remedy("service", "masked", "systemctl unmask desktraced.service");
        end();

        facts = healthy_service();
        facts.service_unit.active_state = (char *)"failed";
        facts.service_unit.result = (char *)"watchdog";
        examine_service(&facts);
        assert_remedy("service", "failed (watchdog)", "reset-failed");
        end();
}
END_TEST

START_TEST(test_what_keeps_the_probes_from_starting_is_named) {
        char *drop_ins[] = { (char *)"/etc/systemd/system/desktrace-probes.service.d/x.conf",
                             NULL };
        ServiceFacts facts = healthy_service();

        facts.probes_socket_unit =
                (UnitFacts){ .is_known = true, .load_state = (char *)"not-found" };
        examine_service(&facts);
        assert_finding(DOCTOR_PROBLEM, "probes", "cannot load desktrace-probes.socket");
        end();

        facts = healthy_service();
        facts.probes_socket_unit = (UnitFacts){ .is_known = true,
                                                .load_state = (char *)"loaded",
                                                .active_state = (char *)"failed" };
        examine_service(&facts);
        assert_remedy("probes", "has failed", "reset-failed desktrace-probes.socket");
        end();

        facts = healthy_service();
        facts.probes_unit.load_state = (char *)"masked";
        examine_service(&facts);
        assert_remedy("probes", "masked", "unmask desktrace-probes.service");
        end();

        facts = healthy_service();
        facts.probes_unit.capabilities = 0;
        facts.probes_unit.protects_tunables = true;
        facts.probes_unit.drop_ins = drop_ins;
        examine_service(&facts);
        assert_remedy("probes", "CAP_DAC_OVERRIDE", "systemctl revert desktrace-probes.service");
        assert_finding(DOCTOR_PROBLEM, "probes", "ProtectKernelTunables=");
        assert_finding(DOCTOR_NOTE, "probes", "x.conf");
        end();
}
END_TEST

START_TEST(test_what_polkit_would_do_is_said) {
        ServiceFacts facts = healthy_service();

        facts.polkit.is_authorized = false;
        facts.polkit.is_challenge = true;
        facts.polkit.defaults[2] = 4;
        examine_service(&facts);
        assert_finding(DOCTOR_NOTE, "polkit", "an administrator's password, kept for a while");
        end();

        facts.polkit.is_challenge = false;
        examine_service(&facts);
        assert_remedy("polkit", "you may not", "desktrace-example.rules");
        end();

        facts.polkit = (PolkitFacts){ .state = NAME_ABSENT };
        examine_service(&facts);
        assert_finding(DOCTOR_PROBLEM, "polkit", "there is no polkit");
        end();

        facts.polkit = (PolkitFacts){ .state = NAME_RUNNING, .error = (char *)"not registered" };
        examine_service(&facts);
        assert_finding(DOCTOR_PROBLEM, "polkit", "not registered");
        end();

        begin();
        service_check(&report, &facts, 0);
        assert_finding(DOCTOR_OK, "polkit", "root is not asked");
        end();
}
END_TEST

/*
 * Names
 */

static NameFacts make_names(ViewSource *sources, size_t n) {
        static const char *events[] = { "irq/softirq_entry",
                                        "sched/sched_switch",
                                        "sched/sched_waking" };
        NameFacts facts = { .is_known = true,
                            .sources = g_array_new(FALSE, FALSE, sizeof(*sources)) };

        g_array_append_vals(facts.sources, sources, (guint)n);
        facts.producers = g_array_new(FALSE, FALSE, sizeof(ViewProducer));
        facts.events.names = g_ptr_array_new();
        for (size_t i = 0; i < ARRAY_SIZE(events); i++)
                g_ptr_array_add(facts.events.names, (char *)events[i]);
        return facts;
}

static void free_names(NameFacts *facts) {
        g_array_unref(facts->sources);
        g_array_unref(facts->producers);
        view_events_deinit(&facts->events);
}

static char *nobody_there[] = { NULL };
static char *one_program[] = { (char *)"/producer/1", NULL };
static char *two_categories[] = { (char *)"loading", (char *)"render", NULL };

START_TEST(test_events_are_found_or_the_nearest_is_named) {
        ViewSource sources[] = { { .name = (char *)"linux.ftrace",
                                   .producers = nobody_there,
                                   .is_activatable = true } };
        NameFacts facts = make_names(sources, 1);

        begin();
        event_check(&report, &facts, "sched/sched_switch");
        ck_assert_uint_eq(report.n_problems + report.n_notes, 0);
        event_check(&report, &facts, "sched/*");
        assert_finding(DOCTOR_OK, "event", "2 events of this kernel match");
        event_check(&report, &facts, "sched_waking");
        assert_remedy("event", "as sched/sched_waking", "desktrace record sched/sched_waking");
        event_check(&report, &facts, "sched/sched_swich");
        assert_remedy("event", "did you mean \"sched/sched_switch\"", "list events 'sched/*'");
        end();
        free_names(&facts);
}
END_TEST

START_TEST(test_events_that_nobody_knows_are_no_problem) {
        NameFacts facts = make_names(NULL, 0);

        g_ptr_array_set_size(facts.events.names, 0);
        begin();
        event_check(&report, &facts, "sched/sched_switch");
        assert_remedy("event", "are not known", "sudo desktrace list events");
        end();
        free_names(&facts);
}
END_TEST

START_TEST(test_why_a_source_does_not_record_is_said) {
        ViewSource sources[] = {
                { .name = (char *)"linux.drm",
                  .producers = one_program,
                  .unavailable = (char *)"there is no card" },
                { .name = (char *)"org.example.app", .producers = nobody_there },
                { .name = (char *)"linux.sys_stats", .producers = one_program },
        };
        NameFacts facts = make_names(sources, ARRAY_SIZE(sources));

        begin();
        source_check(&report, &facts, "linux.drm");
        assert_finding(DOCTOR_PROBLEM, "source", "there is no card");
        source_check(&report, &facts, "org.example.app");
        assert_finding(DOCTOR_PROBLEM, "source", "no program that runs offers org.example.app");
        source_check(&report, &facts, "linux.sys_stats");
        assert_finding(DOCTOR_OK, "source", "offered by 1 program");
        source_check(&report, &facts, "linux.sysstats");
        assert_finding(DOCTOR_PROBLEM, "source", "did you mean \"linux.sys_stats\"");
        facts.is_known = false;
        source_check(&report, &facts, "linux.sys_stats");
        assert_finding(DOCTOR_PROBLEM, "source", "could not be asked");
        end();
        free_names(&facts);
}
END_TEST

START_TEST(test_categories_are_those_of_programs_that_run) {
        ViewSource sources[] = { { .name = (char *)"track_event",
                                   .producers = one_program,
                                   .categories = two_categories } };
        NameFacts facts = make_names(sources, 1);

        begin();
        category_check(&report, &facts, "render");
        assert_finding(DOCTOR_OK, "category", "\"render\"");
        category_check(&report, &facts, "rendr");
        assert_finding(DOCTOR_PROBLEM, "category", "did you mean \"render\"");
        end();
        free_names(&facts);
}
END_TEST

/*
 * Deadlines
 */

static void *never(void *argument) {
        g_usleep(30 * G_USEC_PER_SEC);
        return NULL;
}

static void *at_once(void *argument) {
        return argument;
}

START_TEST(test_what_never_answers_is_not_waited_for) {
        int value;

        ck_assert_ptr_eq(doctor_within(30, at_once, &value), &value);
        ck_assert_ptr_null(doctor_within(0, never, NULL));
}
END_TEST

TEST_MAIN("doctor",
          test_a_machine_that_has_everything_is_well,
          test_tracefs_must_be_there_mounted_and_writable,
          test_lockdown_is_a_problem_for_confidentiality_only,
          test_levels_of_the_kernel_are_said_with_what_they_mean,
          test_a_proc_that_is_not_whole_is_told,
          test_containers_and_sandboxes_are_named,
          test_each_file_that_is_not_installed_is_named,
          test_missing_sockets_and_journal_are_notes_with_a_command,
          test_where_recordings_go_must_be_writable_and_roomy,
          test_a_service_that_has_everything_is_well,
          test_a_bus_that_is_absent_or_silent_is_the_only_finding,
          test_what_is_wrong_with_the_service_is_named,
          test_what_keeps_the_probes_from_starting_is_named,
          test_what_polkit_would_do_is_said,
          test_events_are_found_or_the_nearest_is_named,
          test_events_that_nobody_knows_are_no_problem,
          test_why_a_source_does_not_record_is_said,
          test_categories_are_those_of_programs_that_run,
          test_what_never_answers_is_not_waited_for)
