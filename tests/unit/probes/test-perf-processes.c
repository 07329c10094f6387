/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of processes: what the kernel's records and /proc have said of them, in whichever order. */

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probes/perf/perf-processes.h"
#include "shared/fd.h"
#include "test.h"

/* A process that no /proc of this machine has. */
#define NOBODY 4194303

static void follow_exec(PerfProcesses *processes, const char *name) {
        struct {
                struct perf_event_header header;
                uint32_t pid;
                uint32_t tid;
                char name[16];
        } record = {
                .header = { .type = PERF_RECORD_COMM, .misc = PERF_RECORD_MISC_COMM_EXEC },
                .pid = NOBODY,
                .tid = NOBODY,
        };

        strcpy(record.name, name);
        perf_processes_follow(processes, &record, sizeof(record));
}

typedef struct Followed {
        PerfScope scope;
        Unwinder *unwinder;
        PerfCode code;
        PerfProcesses processes;
} Followed;

static void followed_init(Followed *followed, char **patterns) {
        *followed = (Followed){ .scope = { .patterns = patterns, .n_patterns = 1 } };
        ck_assert_int_eq(unwinder_new(&followed->unwinder, EM_X86_64), 0);
        ck_assert_int_eq(perf_code_init(&followed->code, followed->unwinder, NULL), 0);
        ck_assert_int_eq(
                perf_processes_init(&followed->processes, &followed->code, &followed->scope, false),
                0);
}

static void followed_deinit(Followed *followed) {
        perf_processes_deinit(&followed->processes);
        perf_code_deinit(&followed->code);
        unwinder_free(followed->unwinder);
}

static bool is_in_scope(Followed *followed) {
        return perf_process_is_in_scope(&followed->processes,
                                        perf_processes_get(&followed->processes, NOBODY));
}

START_TEST(test_a_program_is_in_scope_from_its_beginning) {
        char tree[] = "tree", *patterns[] = { tree };
        Followed followed;

        followed_init(&followed, patterns);
        follow_exec(&followed.processes, "sh");
        ck_assert(!is_in_scope(&followed));
        /* It may have ended before anybody could read how it was called. */
        follow_exec(&followed.processes, "tree");
        ck_assert(is_in_scope(&followed));
        followed_deinit(&followed);
}
END_TEST

/* What /proc says of the program with this number. */
static void take_command(Followed *followed, uint32_t program, const char *command) {
        Load *load = load_new(LOAD_PROCESS, NOBODY);

        ck_assert_ptr_nonnull(load);
        load->program = program;
        load->command = strdup(command);
        perf_processes_take(&followed->processes, load);
        load_free(load);
}

START_TEST(test_an_answer_of_before_an_exec_is_not_about_the_new_program) {
        char tree[] = "/usr/bin/tree", *patterns[] = { tree };
        uint32_t before;
        Followed followed;

        followed_init(&followed, patterns);
        before = perf_processes_get(&followed.processes, NOBODY)->program;
        follow_exec(&followed.processes, "sh");
        take_command(&followed, before, "/usr/bin/tree");
        ck_assert(!is_in_scope(&followed));
        take_command(&followed, before + 1, "/usr/bin/tree");
        ck_assert(is_in_scope(&followed));
        followed_deinit(&followed);
}
END_TEST

static void read_for(PerfCode *code, PerfFile *file, pid_t pid) {
        Load *load;

        perf_code_request(code, file, pid, &(Mapping){});
        while (file->is_loading) {
                loader_wait(code->loader, loader_now_ns() + 1000000);
                if ((load = loader_take(code->loader))) {
                        perf_code_take(code, load);
                        load_free(load);
                }
        }
}

/* What is in a container has its name there alone. */
START_TEST(test_a_file_that_ended_with_its_process_is_read_from_the_next) {
        char path[] = "/tmp/desktrace-test-XXXXXX";
        _cleanup_(fd_closep) int fd = mkstemp(path);
        Followed followed;
        struct stat found;
        PerfFile *file;
        char *program;
        size_t n;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fd_read_file(&program, &n, AT_FDCWD, "/proc/self/exe", 256 << 20), 0);
        ck_assert_int_eq(fd_write_all(fd, program, n), 0);
        free(program);
        ck_assert_int_eq(fstat(fd, &found), 0);
        followed_init(&followed, NULL);
        file = perf_code_file(
                &followed.code,
                &(FileIdentity){ major(found.st_dev), minor(found.st_dev), found.st_ino },
                "/no/such/file");
        ck_assert_ptr_nonnull(file);
        read_for(&followed.code, file, NOBODY);
        ck_assert_int_eq(file->code.state, CODE_UNREAD);
        perf_code_request(&followed.code, file, NOBODY, &(Mapping){});
        ck_assert(!file->is_loading); /* it is not tried again */
        free(file->path);
        file->path = strdup(path); /* here it is known */
        read_for(&followed.code, file, getpid());
        ck_assert_int_eq(file->code.state, CODE_READ);
        unlink(path);
        followed_deinit(&followed);
}
END_TEST

/* And not for ever. */
START_TEST(test_a_file_is_given_up_that_no_process_has_long_enough) {
        Followed followed;
        PerfFile *file;

        followed_init(&followed, NULL);
        file = perf_code_file(&followed.code, &(FileIdentity){ .inode = 1 }, "/no/such/file");
        ck_assert_ptr_nonnull(file);
        for (pid_t pid = NOBODY + 1; pid <= NOBODY + 16; pid++) {
                ck_assert_int_eq(file->code.state, CODE_UNREAD);
                read_for(&followed.code, file, pid);
        }
        ck_assert_int_eq(file->code.state, CODE_OPAQUE);
        followed_deinit(&followed);
}
END_TEST

static void follow_exit(PerfProcesses *processes, pid_t pid) {
        const struct {
                struct perf_event_header header;
                uint32_t pid, parent, tid, parent_tid;
        } record = { .header.type = PERF_RECORD_EXIT, .pid = (uint32_t)pid, .tid = (uint32_t)pid };

        perf_processes_follow(processes, &record, sizeof(record));
}

/* The kernel goes on for a moment after it has said that a process ends, and nobody knows that process any longer. */
START_TEST(test_a_process_that_has_ended_is_not_asked_for) {
        Followed followed;
        PerfProcess *process;

        followed_init(&followed, NULL);
        follow_exec(&followed.processes, "tree");
        follow_exit(&followed.processes, NOBODY);
        process = perf_processes_get(&followed.processes, NOBODY);
        ck_assert(perf_process_has_ended(process));
        ck_assert(perf_process_is_settled(&followed.processes, process));
        ck_assert(!process->is_asked);
        perf_processes_forget(&followed.processes, loader_now_ns());
        ck_assert_uint_eq(followed.processes.n, 1);
        perf_processes_forget(&followed.processes, loader_now_ns() + 2 * PERF_ENDED_NS);
        ck_assert_uint_eq(followed.processes.n, 0);
        followed_deinit(&followed);
}
END_TEST

START_TEST(test_threads_may_go_on_without_the_first) {
        Followed followed;
        PerfProcess *process;

        followed_init(&followed, NULL);
        follow_exit(&followed.processes, NOBODY);
        process = perf_processes_get(&followed.processes, NOBODY);
        process = perf_processes_revive(&followed.processes, process);
        ck_assert(!perf_process_has_ended(process));
        ck_assert(process->is_asked);
        followed_deinit(&followed);
}
END_TEST

START_TEST(test_a_process_that_is_nowhere_has_ended) {
        Load *load = load_new(LOAD_PROCESS, NOBODY);
        Followed followed;
        PerfProcess *process;

        followed_init(&followed, NULL);
        process = perf_processes_get(&followed.processes, NOBODY);
        ck_assert(!perf_process_has_ended(process));
        perf_processes_take(&followed.processes, load);
        ck_assert(perf_process_has_ended(process));
        follow_exec(&followed.processes, "tree"); /* another one, whose beginning was lost */
        ck_assert(!perf_process_has_ended(process));
        load_free(load);
        followed_deinit(&followed);
}
END_TEST

START_TEST(test_processes_that_have_ended_take_no_room) {
        Followed followed;

        followed_init(&followed, NULL);
        for (pid_t pid = 1; pid <= (pid_t)PERF_PROCESSES_MAX; pid++)
                follow_exit(&followed.processes, pid);
        ck_assert_uint_eq(followed.processes.n, PERF_PROCESSES_MAX);
        ck_assert_ptr_nonnull(perf_processes_get(&followed.processes, NOBODY));
        ck_assert_uint_eq(followed.processes.n_refused, 0);
        followed_deinit(&followed);
}
END_TEST

TEST_MAIN("perf-processes",
          test_a_process_that_has_ended_is_not_asked_for,
          test_threads_may_go_on_without_the_first,
          test_a_process_that_is_nowhere_has_ended,
          test_processes_that_have_ended_take_no_room,
          test_a_program_is_in_scope_from_its_beginning,
          test_an_answer_of_before_an_exec_is_not_about_the_new_program,
          test_a_file_that_ended_with_its_process_is_read_from_the_next,
          test_a_file_is_given_up_that_no_process_has_long_enough)
