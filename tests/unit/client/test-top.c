/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of top: who uses the CPUs, as a /proc that the test has made says it. */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "client/top-machine.h"
#include "test.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

static char root[] = "/tmp/desktrace-test-top.XXXXXX";
static int root_fd;
static TopMachine *machine;
static Answer *answer;

static void put(const char *text, const char *format, ...) _printf_(2, 3);

static void put(const char *text, const char *format, ...) {
        g_autofree char *path = NULL, *full = NULL, *folder = NULL;
        va_list arguments;

        va_start(arguments, format);
        path = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        full = g_build_filename(root, "proc", path, NULL);
        folder = g_path_get_dirname(full);
        ck_assert_int_eq(g_mkdir_with_parents(folder, 0700), 0);
        ck_assert(g_file_set_contents(full, text, -1, NULL));
}

/* Times in ms. */
static void put_thread(int pid, int tid, const char *name, unsigned ran, unsigned waited) {
        g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " 7\n",
                                                (guint64)(ran * MS),
                                                (guint64)(waited * MS));
        g_autofree char *line = g_strconcat(name, "\n", NULL);

        put(text, "%d/task/%d/schedstat", pid, tid);
        put(line, "%d/task/%d/comm", pid, tid);
}

static void put_process(int pid, const char *name, const char *cgroup) {
        g_autofree char *line = g_strconcat(name, "\n", NULL);

        put(line, "%d/comm", pid);
        put(cgroup, "%d/cgroup", pid);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at) {
        return remove(path);
}

static void setup(void) {
        strcpy(root + sizeof(root) - 7, "XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(root));
        put("cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 50\ncpu1 50\nintr 1\n", "stat");
        root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        machine = top_machine_new(root_fd);
}

static void teardown(void) {
        answer = answer_free(answer);
        machine = top_machine_free(machine);
        close(root_fd);
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void look(uint64_t now_ns, AnswerGroup group) {
        answer = answer_free(answer);
        ck_assert_int_eq(top_machine_look(machine, now_ns, group, &answer), 0);
}

static void check_row(size_t row, const char *who, int64_t ms, int64_t waited_ms, int64_t n) {
        ck_assert_uint_gt(answer->n_rows, row);
        ck_assert_str_eq(answer_cell(answer, row, LOAD_COLUMN_WHO)->text, who);
        ck_assert_int_eq(answer_cell(answer, row, LOAD_COLUMN_NS)->number, ms * (int64_t)MS);
        ck_assert_int_eq(answer_cell(answer, row, LOAD_COLUMN_WAITED)->number,
                         waited_ms * (int64_t)MS);
        ck_assert_int_eq(answer_cell(answer, row, LOAD_COLUMN_THREADS)->number, n);
}

static int64_t fact_ms(size_t fact) {
        return answer->facts[fact].number / (int64_t)MS;
}

START_TEST(test_a_row_has_what_was_added_since_the_look_before) {
        setup();
        put_process(10, "editor", "0::/user.slice\n");
        put_thread(10, 10, "main", 5000, 70);
        put_thread(10, 11, "worker", 9, 9);
        look(0, ANSWER_BY_PROGRAM);
        ck_assert_uint_eq(answer->n_rows, 0);
        put_thread(10, 10, "main", 5300, 71);
        put_thread(10, 12, "new", 50, 0);
        look(S, ANSWER_BY_PROGRAM);
        ck_assert_uint_eq(answer->n_rows, 1);
        check_row(0, "editor", 350, 1, 2);
        put_thread(10, 12, "new", 450, 0);
        put_thread(10, 11, "worker", 10, 9);
        look(2 * S, ANSWER_BY_THREAD);
        check_row(0, "new 12", 400, 0, 1);
        check_row(1, "worker 11", 1, 0, 1);
        teardown();
}
END_TEST

START_TEST(test_a_number_that_is_used_again_is_another_thread) {
        setup();
        put_process(10, "editor", "");
        put_thread(10, 10, "old", 5000, 0);
        look(0, ANSWER_BY_THREAD);
        put_thread(10, 10, "young", 20, 3);
        look(S, ANSWER_BY_THREAD);
        check_row(0, "young 10", 20, 3, 1);
        teardown();
}
END_TEST

START_TEST(test_nothing_runs_for_longer_than_the_interval) {
        setup();
        put_process(10, "editor", "");
        look(0, ANSWER_BY_PROGRAM);
        put_thread(10, 10, "main", 99999, 99999); /* it was hidden before */
        look(S, ANSWER_BY_PROGRAM);
        check_row(0, "editor", 1000, 1000, 1);
        ck_assert_int_eq(fact_ms(LOAD_FACT_ALL), 2000);
        teardown();
}
END_TEST

START_TEST(test_units_are_those_of_recordings) {
        static const char app[] = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
                                  "app-gnome-org.example.Editor-1234.scope\n";

        setup();
        put_process(10, "editor", app);
        put_process(20, "sshd", "0::/system.slice/ssh.service\n");
        put_process(30, "init", "0::/\n");
        put_thread(10, 10, "main", 0, 0);
        put_thread(20, 20, "sshd", 0, 0);
        put_thread(30, 30, "init", 0, 0);
        look(0, ANSWER_BY_UNIT);
        put_thread(10, 10, "main", 30, 0);
        put_thread(20, 20, "sshd", 20, 0);
        put_thread(30, 30, "init", 10, 0);
        look(S, ANSWER_BY_UNIT);
        check_row(0, "org.example.Editor", 30, 0, 1);
        check_row(1, "ssh.service", 20, 0, 1);
        ck_assert_str_eq(answer_cell(answer, 2, LOAD_COLUMN_WHO)->word, "what is in no unit");
        teardown();
}
END_TEST

/* Of 100 ticks a second, as they are everywhere. */
START_TEST(test_what_is_in_no_row_is_the_rest) {
        setup();
        put("some avg10=1.00 avg60=0.00 avg300=0.00 total=5000\nfull total=1\n", "pressure/io");
        put_process(10, "editor", "");
        put_thread(10, 10, "main", 0, 0);
        look(0, ANSWER_BY_PROGRAM);
        put_thread(10, 10, "main", 100, 0);
        put("cpu  120 5 10 900 0 2 3 77 0 0\ncpu0 50\ncpu1 50\nintr 1\n", "stat");
        put("some avg10=1.00 avg60=0.00 avg300=0.00 total=25000\nfull total=1\n", "pressure/io");
        look(S, ANSWER_BY_PROGRAM);
        ck_assert_int_eq(answer->facts[LOAD_FACT_CPUS].number, 2);
        ck_assert_int_eq(fact_ms(LOAD_FACT_BUSY), 40 * 1000 / sysconf(_SC_CLK_TCK));
        ck_assert_int_eq(fact_ms(LOAD_FACT_OTHERS), fact_ms(LOAD_FACT_BUSY) - 100);
        ck_assert_int_eq(fact_ms(LOAD_FACT_STALLED_IO), 20);
        ck_assert(!answer->facts[LOAD_FACT_STALLED_CPU].is_there);
        teardown();
}
END_TEST

START_TEST(test_a_kernel_that_counts_in_ticks_is_understood) {
        static const char stat[] =
                "10 (a) b (c) S 1 10 10 0 -1 4194560 1 2 3 4 %d 3 0 0 20 0 1 0 99";
        char text[128];

        setup();
        put_process(10, "editor", "");
        snprintf(text, sizeof(text), stat, 2);
        put(text, "10/task/10/stat");
        look(0, ANSWER_BY_PROGRAM);
        snprintf(text, sizeof(text), stat, 9);
        put(text, "10/task/10/stat");
        look(S, ANSWER_BY_PROGRAM);
        check_row(0, "editor", 7 * 1000 / sysconf(_SC_CLK_TCK), 0, 1);
        teardown();
}
END_TEST

START_TEST(test_files_that_say_nothing_are_no_rows) {
        setup();
        look(0, ANSWER_BY_PROGRAM);
        put("", "10/task/10/schedstat");
        put("10 (a", "10/task/10/stat");
        put("-", "11/task/11/schedstat");
        put("\x1b[2J", "11/comm");
        look(S, ANSWER_BY_PROGRAM);
        ck_assert_uint_eq(answer->n_rows, 0);
        put("nothing", "stat");
        answer = answer_free(answer);
        ck_assert_int_eq(top_machine_look(machine, 2 * S, ANSWER_BY_PROGRAM, &answer), -EIO);
        teardown();
}
END_TEST

TEST_MAIN("client-top",
          test_a_row_has_what_was_added_since_the_look_before,
          test_a_number_that_is_used_again_is_another_thread,
          test_nothing_runs_for_longer_than_the_interval,
          test_units_are_those_of_recordings,
          test_what_is_in_no_row_is_the_rest,
          test_a_kernel_that_counts_in_ticks_is_understood,
          test_files_that_say_nothing_are_no_rows)
