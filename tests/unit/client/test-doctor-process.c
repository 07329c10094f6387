/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What "desktrace doctor" says of a process or a program, from copies of /proc.
 */

#include <fcntl.h>
#include <unistd.h>

#include "test.h"

#include "../probes/tree.h"
#include "build-config.h"
#include "client/doctor-process.h"
#include "doctor-report.h"

static Tree tree;

#define LIBRARY "/usr/lib/libdesktrace.so." DESKTRACE_VERSION
#define MAP     "7f00-7f01 r-xp 00000000 08:01 1  "

static const ProcessOnService nobody = { .service_is_known = true };

/* Process 7, called "app", with a library's thread. */
static void make_process(const char *maps) {
        tree = tree_new();
        tree_put(&tree, "proc/7/stat", "7 (app) S 1 7 7");
        tree_put(&tree, "proc/7/maps", maps);
        tree_put(&tree, "proc/7/task/7/comm", "app\n");
        tree_put(&tree, "proc/7/task/8/comm", "desktrace\n");
        tree_put(&tree, "usr/bin/app", "\177ELF /lib64/ld-linux-x86-64.so.2");
        ck_assert_int_eq(symlinkat("../../usr/bin/app", tree.fd, "proc/7/exe"), 0);
}

static void examine_process(const ProcessOnService *service) {
        ProcessFacts *facts = process_facts_new(tree.fd, 7);

        begin();
        process_check(&report, facts, service);
        process_facts_free(facts);
        tree_free(&tree);
}

START_TEST(test_a_program_that_is_registered_is_well) {
        const ProcessOnService service = { .service_is_known = true, .sources = "track_event" };

        make_process(MAP LIBRARY "\n");
        examine_process(&service);
        ck_assert_uint_eq(report.n_problems + report.n_notes, 0);
        assert_finding(DOCTOR_OK, "service", "with track_event");
        end();
}
END_TEST

START_TEST(test_a_process_that_is_gone_is_the_only_finding) {
        tree = tree_new();
        tree_make_parents(&tree, "proc/");
        examine_process(&nobody);
        ck_assert_uint_eq(report.findings->len, 1);
        assert_finding(DOCTOR_PROBLEM, "program", "no process 7");
        end();
        begin();
        process_check(&report, NULL, &nobody);
        assert_finding(DOCTOR_PROBLEM, "program", "hangs in the kernel");
        end();
}
END_TEST

START_TEST(test_a_program_without_instrumentation_is_told_so) {
        make_process(MAP "/usr/lib/libc.so.6\n");
        examine_process(&nobody);
        assert_remedy("library", "uses neither libdesktrace nor Perfetto's SDK", "INSTRUMENT.md");
        end();

        make_process("");
        tree_put(&tree, "usr/bin/app", "\177ELF nothing");
        examine_process(&nobody);
        assert_finding(DOCTOR_PROBLEM, "library", "linked statically");
        end();

        make_process("");
        tree_put(&tree, "usr/bin/app", "\177ELF org.desktrace.Tracing1.Producer");
        examine_process(&nobody);
        assert_finding(DOCTOR_OK, "library", "has libdesktrace in it");
        end();
}
END_TEST

START_TEST(test_a_library_that_is_old_or_replaced_is_told) {
        make_process(MAP "/usr/lib/libdesktrace.so.0.0.9\n");
        examine_process(&nobody);
        assert_finding(DOCTOR_NOTE, "library", "libdesktrace.so.0.0.9, this is version");
        end();

        make_process(MAP LIBRARY " (deleted)\n");
        examine_process(&nobody);
        assert_remedy("library", "replaced", "restart the program");
        end();
}
END_TEST

START_TEST(test_a_program_that_never_calls_dt_init_is_told) {
        make_process(MAP LIBRARY "\n");
        tree_put(&tree, "proc/7/task/8/comm", "worker\n");
        examine_process(&nobody);
        assert_remedy("library", "has not called dt_init()", "call dt_init()");
        end();

        make_process(MAP LIBRARY "\n");
        examine_process(&nobody);
        assert_finding(DOCTOR_PROBLEM, "service", "does not know it, although it has libdesktrace");
        end();
}
END_TEST

START_TEST(test_perfettos_sdk_needs_its_socket) {
        ProcessOnService service = { .service_is_known = true };

        make_process("");
        tree_put(&tree, "usr/bin/app", "/ld-linux PERFETTO_PRODUCER_SOCK_NAME");
        examine_process(&service);
        assert_remedy("library", "which finds no service", "desktraced-perfetto-producer.socket");
        end();

        service.has_perfetto_socket = true;
        make_process("");
        tree_put(&tree, "usr/bin/app", "/ld-linux PERFETTO_PRODUCER_SOCK_NAME");
        examine_process(&service);
        assert_finding(DOCTOR_OK, "library", "there is a socket");
        assert_finding(DOCTOR_PROBLEM, "service", "has not connected");
        end();
}
END_TEST

START_TEST(test_variables_that_lead_elsewhere_are_told) {
        static const char environ[] =
                "HOME=/x\0DESKTRACE_SOCKET=/tmp/s\0DBUS_SYSTEM_BUS_ADDRESS=unix:x";

        make_process(MAP LIBRARY "\n");
        tree_put_bytes(&tree, "proc/7/environ", environ, sizeof(environ));
        examine_process(&nobody);
        assert_remedy("environment", "DESKTRACE_SOCKET=/tmp/s: it is recorded by that", "without");
        assert_finding(DOCTOR_NOTE, "environment", "DBUS_SYSTEM_BUS_ADDRESS=unix:x");
        ck_assert_ptr_null(find(DOCTOR_NOTE, "environment", "HOME"));
        end();
}
END_TEST

START_TEST(test_a_stopped_program_is_told) {
        make_process(MAP LIBRARY "\n");
        tree_put(&tree, "proc/7/stat", "7 (app) T 1 7 7");
        examine_process(&nobody);
        assert_remedy("program", "it is stopped", "kill -CONT 7");
        end();
}
END_TEST

START_TEST(test_what_may_not_be_looked_at_is_said) {
        make_process("");
        ck_assert_int_eq(unlinkat(tree.fd, "proc/7/maps", 0), 0);
        ck_assert_int_eq(unlinkat(tree.fd, "proc/7/exe", 0), 0);
        examine_process(&nobody);
        assert_remedy("library", "you may not look into", "sudo desktrace doctor 7");
        end();
}
END_TEST

START_TEST(test_hostile_names_are_escaped_and_cut) {
        enum { N = 100000 };
        static char environ[N + 32] = "DESKTRACE_SOCKET=";
        const DoctorFinding *finding;

        memset(environ + strlen("DESKTRACE_SOCKET="), 'x', N);
        make_process(MAP "/x/libdesktrace.so.\033]0;evil\007.\xff\n");
        tree_put(&tree, "proc/7/stat", "7 (\033[2J) (\nx) S 1");
        tree_put_bytes(&tree, "proc/7/environ", environ, N + 20);
        examine_process(&nobody);
        for (guint i = 0; i < report.findings->len; i++) {
                finding = &g_array_index(report.findings, DoctorFinding, i);
                ck_assert_uint_le(strlen(finding->text), DOCTOR_TEXT_BYTES_MAX + 3);
                ck_assert(g_utf8_validate(finding->text, -1, NULL));
                for (const char *at = finding->text; *at; at++)
                        ck_assert((unsigned char)*at >= ' ');
        }
        ck_assert_ptr_nonnull(find(DOCTOR_NOTE, "environment", "DESKTRACE_SOCKET=xxx"));
        end();
}
END_TEST

START_TEST(test_a_program_that_does_not_run_is_looked_through) {
        ProgramFacts facts;

        tree = tree_new();
        tree_put(&tree, "app", "\177ELF /ld-linux libdesktrace.so.0");
        program_facts_read(&facts, tree.fd, "app");
        begin();
        program_check(&report, "/a b", &facts);
        assert_remedy(
                "program", "uses libdesktrace, and is not running", "desktrace record -- '/a b'");
        end();
        tree_put(&tree, "app", "\177ELF /ld-linux");
        program_facts_read(&facts, tree.fd, "app");
        begin();
        program_check(&report, "/app", &facts);
        assert_finding(DOCTOR_PROBLEM, "program", "itself uses neither");
        end();
        tree_free(&tree);
}
END_TEST

START_TEST(test_processes_are_found_by_name_and_by_file) {
        GArray *found;

        make_process("");
        found = process_find(tree.fd, "app");
        ck_assert_uint_eq(found->len, 1);
        ck_assert_int_eq(g_array_index(found, pid_t, 0), 7);
        g_array_unref(found);
        found = process_find(tree.fd, "ap");
        ck_assert_uint_eq(found->len, 0);
        g_array_unref(found);
        tree_free(&tree);
}
END_TEST

typedef struct Look {
        unsigned n_pieces, n_words;
} Look;

/* The owner of the file makes it shorter while it is read. */
static void look(void *userdata, const void *data, size_t n) {
        const int fd = openat(tree.fd, "usr/bin/large", O_RDWR | O_CLOEXEC);
        Look *look = userdata;

        if (look->n_pieces++ == 1)
                ck_assert_int_eq(ftruncate(fd, 0), 0);
        close(fd);
        look->n_words += memmem(data, n, "org.example.word", 16) != NULL;
}

START_TEST(test_a_file_that_becomes_shorter_meanwhile_is_read_as_far_as_it_is_there) {
        const size_t n = 3u << 20;
        char *text = calloc(n + 1, 1);
        Look seen = {};

        memset(text, '.', n);
        memcpy(text + (1u << 20) - 8, "org.example.word", 16);
        tree = tree_new();
        tree_put(&tree, "usr/bin/large", text);
        program_file_look(tree.fd, "usr/bin/large", look, &seen);
        ck_assert_uint_eq(seen.n_pieces, 2);
        ck_assert_uint_eq(seen.n_words, 1); /* it is in two pieces */
        tree_free(&tree);
        free(text);
}
END_TEST

TEST_MAIN("doctor process",
          test_a_program_that_is_registered_is_well,
          test_a_process_that_is_gone_is_the_only_finding,
          test_a_program_without_instrumentation_is_told_so,
          test_a_library_that_is_old_or_replaced_is_told,
          test_a_program_that_never_calls_dt_init_is_told,
          test_perfettos_sdk_needs_its_socket,
          test_variables_that_lead_elsewhere_are_told,
          test_a_stopped_program_is_told,
          test_what_may_not_be_looked_at_is_said,
          test_hostile_names_are_escaped_and_cut,
          test_a_program_that_does_not_run_is_looked_through,
          test_processes_are_found_by_name_and_by_file,
          test_a_file_that_becomes_shorter_meanwhile_is_read_as_far_as_it_is_there)
