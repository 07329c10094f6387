/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a program may do to itself while it is recorded.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "desktrace/source.h"
#include "desktrace/trigger.h"
#include "shared/fd.h"
#include "test.h"
#include "track-world.h"

#define FDS_MAX       64
#define N_LASTING_FDS 4

/* The service looks at nothing until it is rung for. */
static void service_sleeps(World *world) {
        atomic_store(&world->fake.area.control->sleeping, 1);
}

/*
 * Descriptors
 */

/* Those that the library has, as the service is in the same process. */
static unsigned library_fds(const World *world, int ret[static FDS_MAX]) {
        unsigned n = 0;

        for (int fd = 0; fd < 256 && n < FDS_MAX; fd++)
                if (fd_is_marked(fd) && fd != world->fake.doorbell_fd && fd != world->fake.bell_fd)
                        ret[n++] = fd;
        return n;
}

/*
 * The four that stay: to wake the thread, the connection, doorbell and bell. A slow thread may still have those of its
 * start, which it closes.
 */
static void library_lasting_fds(const World *world, int ret[static FDS_MAX]) {
        for (unsigned n_tries = 0; n_tries < 10000 && library_fds(world, ret) > N_LASTING_FDS;
             n_tries++)
                usleep(1000);
        ck_assert_uint_eq(library_fds(world, ret), N_LASTING_FDS);
}

/* A file of the program's, under each of these numbers. */
static void replace_fds(const int fds[], unsigned n_fds) {
        for (unsigned i = 0; i < n_fds; i++) {
                int fd = memfd_create("the program's", MFD_CLOEXEC);

                ck_assert_int_ge(fd, 0);
                ck_assert_int_eq(write(fd, "as it was, unread", 17), 17);
                ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
                ck_assert_int_eq(dup3(fd, fds[i], O_CLOEXEC), fds[i]);
                close(fd);
        }
}

static void close_untouched(const int fds[], unsigned n_fds) {
        for (unsigned i = 0; i < n_fds; i++) {
                char text[32] = "";

                ck_assert_int_eq(lseek(fds[i], 0, SEEK_CUR), 0);
                ck_assert_int_eq(read(fds[i], text, sizeof(text)), 17);
                ck_assert_str_eq(text, "as it was, unread");
                close(fds[i]);
        }
}

START_TEST(test_descriptors_that_the_program_has_taken_over_are_left_alone) {
        static dt_category late = { .name = "late" };
        World *world = world_new();
        const uint64_t one = 1;
        int fds[FDS_MAX];
        bool is_unnoticed;

        world_record(world, NULL, NULL);
        library_lasting_fds(world, fds);
        replace_fds(fds, N_LASTING_FDS);

        service_sleeps(world);
        for (unsigned i = 0; i < 1000; i++)
                DT_INSTANT(render, "doorbell", DT_INT("i", i));
        /* A thread that was not asleep yet begins again before there is anything to record. */
        is_unnoticed = dt_category_enabled(&render);
        dt_category_register(&late); /* wakes the thread, or would */
        dt_trigger("trigger");

        /* It still wakes up when the service wants something, and begins again. */
        ck_assert_int_eq(write(world->fake.bell_fd, &one, sizeof(one)), sizeof(one));
        while (dt_category_enabled(&render))
                usleep(1000);
        fake_drain(&world->fake);
        if (is_unnoticed)
                ck_assert_uint_gt(trace_n_events(world->trace, INSTANT, "doorbell"), 0);
        fake_disconnect(&world->fake);
        world_serve(world);
        ck_assert_ptr_nonnull(strstr(fake_source(&world->fake, "track_event")->categories, "late"));
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "again");
        world_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "again"), 1);
        dt_category_unregister(&late);
        close_untouched(fds, N_LASTING_FDS);
        world_free(world);
}
END_TEST

START_TEST(test_a_forked_child_has_no_descriptor_of_the_librarys) {
        World *world = world_new();
        int fds[FDS_MAX], status;
        pid_t pid;

        world_record(world, NULL, NULL);
        library_lasting_fds(world, fds);
        pid = fork();
        if (pid == 0) {
                int n_open = 0;

                for (unsigned i = 0; i < N_LASTING_FDS; i++)
                        n_open += fcntl(fds[i], F_GETFD) >= 0;
                _exit(n_open);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        DT_INSTANT(render, "of the parent");
        world_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "of the parent"), 1);
        world_free(world);
}
END_TEST

static const char *on_setup(dt_instance *instance, const void *config, size_t n, void *userdata) {
        return NULL;
}

static const dt_source_ops only_setup = { .setup = on_setup };

static void on_recording(dt_recording what, unsigned n_sessions, void *userdata) {
}

START_TEST(test_a_source_can_go_although_its_thread_cannot_be_woken) {
        World *world = world_new();
        const uint64_t one = 1;
        int fds[FDS_MAX];
        dt_source *source;

        ck_assert_int_eq(dt_source_register(&source, "going", NULL, &only_setup, NULL), 0);
        fake_run(&world->fake, 2, 0);
        library_lasting_fds(world, fds);
        replace_fds(fds, N_LASTING_FDS);
        dt_source_unregister(source);
        ck_assert_int_eq(write(world->fake.bell_fd, &one, sizeof(one)), sizeof(one));
        fake_disconnect(&world->fake);
        fake_accept(&world->fake);
        ck_assert_ptr_nonnull(fake_source(&world->fake, "track_event"));
        close_untouched(fds, N_LASTING_FDS);
        world_free(world);
}
END_TEST

/* The numbers of the standard streams are the program's, also while nothing is open there. */
START_TEST(test_a_program_without_standard_streams_is_recorded) {
        int saved[3], fds[FDS_MAX];
        dt_source *source;
        World *world;
        Fake fake;

        fake_init(&fake); /* only to tell the library where the service will be */
        for (int i = 0; i < 3; i++) {
                saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
                close(i);
        }
        ck_assert_int_eq(dt_source_register(&source, "early", NULL, &only_setup, NULL), 0);
        for (int i = 0; i < 3; i++) {
                ck_assert(!fd_is_marked(i));
                dup2(saved[i], i);
                close(saved[i]);
        }
        world = world_new();
        fake_run(&world->fake, 2, 0);
        library_lasting_fds(world, fds);
        dt_source_unregister(source); /* so its thread can be woken */
        fake_run(&world->fake, 0, 1);
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "recorded");
        world_read(world);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "recorded"), 1);
        world_free(world);
}
END_TEST

/*
 * What is in the middle of something
 */

static void call_with_errno(void) {
        static const dt_track_details details = { .size = sizeof(details), .description = "text" };
        static const dt_track track = DT_TRACK("a track", 7),
                              counter = DT_COUNTER_TRACK("count", "B");
        static const dt_track states = DT_TRACK("states", 0);
        static const char *const labels[] = { "label" };
        static dt_lanes lanes = DT_LANES("lanes");
        static dt_category category = { .name = "while errno is set" };
        dt_observer *observer;
        dt_track lane;

        dt_thread_set_name("name");
        dt_thread_set_rank(7);
        DT_SLICE_BEGIN(render, "slice", DT_STRING("text", "words"), DT_HERE);
        DT_INSTANT_ON(render, &track, "instant", DT_DICT("more", DT_DOUBLE("pi", 3.14)));
        DT_COUNTER_ON(render, &counter, 3);
        DT_STATE(render, &states, "on");
        DT_SLICE_END(render);
        dt_process_set_name("process");
        dt_process_set_labels(labels, 1);
        dt_process_set_rank(3);
        lane = dt_lane_take(&lanes);
        dt_lane_return(&lanes, &lane);
        dt_track_describe(&track, &details);
        dt_category_register(&category);
        dt_category_unregister(&category);
        dt_category_find_or_add("found", NULL, NULL);
        dt_trigger("trigger");
        dt_init(NULL);
        ck_assert_int_eq(dt_observer_add(&observer, on_recording, NULL), 0);
        dt_observer_remove(observer);
        dt_flow_id(1);
}

static void *call_on_thread(void *userdata) {
        errno = EDOM;
        call_with_errno();
        ck_assert_int_eq(errno, EDOM);
        return NULL;
}

/* Such as between a system call of the program and its look at what went wrong. */
START_TEST(test_errno_stays_what_it_was) {
        World *world = world_new();

        for (unsigned i = 0; i < 3; i++) {
                pthread_t thread;

                if (i == 1)
                        world_record(world, NULL, NULL);
                call_on_thread(NULL);
                ck_assert_int_eq(pthread_create(&thread, NULL, call_on_thread, NULL), 0);
                ck_assert_int_eq(pthread_join(thread, NULL), 0);
        }
        world_free(world);
}
END_TEST

/*
 * Threads that end early
 */

enum { N_CANCELLED = 200, EMITTED_MAX = 1000 };

static _Atomic unsigned n_emitted;

/* Then it only waits: on a busy machine the end comes late, and all that was emitted until then has to be read. */
static void *emit_until_cancelled(void *userdata) {
        for (unsigned i = 0; i < EMITTED_MAX; i++) {
                DT_INSTANT(render, "cancelled", DT_INT("i", 1));
                n_emitted++;
                pthread_testcancel();
        }
        for (;;)
                pause();
        return NULL;
}

START_TEST(test_threads_that_are_cancelled_lose_nothing) {
        World *world = world_new();
        pthread_t thread;
        unsigned before;

        world->trace->only_last = true;
        n_emitted = 0;
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < N_CANCELLED; i++) {
                service_sleeps(world);
                before = n_emitted;
                ck_assert_int_eq(pthread_create(&thread, NULL, emit_until_cancelled, NULL), 0);
                while (i % 2 && n_emitted == before)
                        sched_yield();
                pthread_cancel(thread);
                pthread_join(thread, NULL);
                fake_drain(&world->fake);
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_seen + smb_n_dropped(&world->fake.area), n_emitted);
        world_free(world);
}
END_TEST

static void *call_everything(void *userdata) {
        static dt_category category = { .name = "cancelled" };
        World *world = userdata;
        dt_source *source;

        pthread_cancel(pthread_self());
        service_sleeps(world);
        dt_init(NULL);
        dt_category_register(&category);
        dt_thread_set_name("cancelled");
        for (unsigned i = 0; i < 1000; i++)
                DT_INSTANT(render, "event", DT_INT("i", i));
        dt_trigger("trigger");
        if (dt_source_register(&source, "cancelled", NULL, &only_setup, NULL) < 0)
                return NULL; /* an assertion would be a cancellation point */
        dt_source_update(source, NULL);
        dt_source_unregister(source);
        dt_category_unregister(&category);
        n_emitted = 1;
        pthread_testcancel();
        return NULL;
}

START_TEST(test_no_function_is_a_cancellation_point) {
        World *world = world_new();
        pthread_t thread;
        void *result;

        world_record(world, NULL, NULL);
        n_emitted = 0;
        ck_assert_int_eq(pthread_create(&thread, NULL, call_everything, world), 0);
        pthread_join(thread, &result);
        ck_assert_uint_eq(n_emitted, 1);
        ck_assert_ptr_eq(result, PTHREAD_CANCELED);
        fake_run_on(&world->fake);
        world_free(world);
}
END_TEST

/*
 * Signals
 */

/* SigBlk of the library's thread. */
static uint64_t blocked_signals(void) {
        DIR *tasks = opendir("/proc/self/task");
        unsigned long long blocked = 0;
        struct dirent *entry;

        ck_assert_ptr_nonnull(tasks);
        while ((entry = readdir(tasks))) {
                _cleanup_(freep) char *text = NULL;
                char path[300];
                const char *at;

                snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
                if (fd_read_file(&text, NULL, AT_FDCWD, path, 1 << 16) < 0 ||
                    strncmp(text, "Name:\tdesktrace\n", 16) != 0)
                        continue;
                at = strstr(text, "SigBlk:");
                ck_assert_ptr_nonnull(at);
                ck_assert_int_eq(sscanf(at, "SigBlk: %llx", &blocked), 1);
        }
        closedir(tasks);
        return blocked;
}

START_TEST(test_the_thread_takes_no_signals_but_its_own) {
        static const int own[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
        World *world = world_new();
        uint64_t blocked = blocked_signals(),
                 expected = UINT64_C(0x7fffffff) & ~(1u << (SIGKILL - 1));

        expected &= ~(UINT64_C(1) << (SIGSTOP - 1));
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
                expected &= ~(UINT64_C(1) << (own[i] - 1));
        ck_assert_uint_eq(blocked & UINT64_C(0x7fffffff), expected);
        world_free(world);
}
END_TEST

static _Atomic unsigned n_signals;

/* With names that are new for some time, in whatever it has interrupted. */
static void emit_in_handler(int signal) {
        char name[32];

        snprintf(name, sizeof(name), "signal %u", n_signals++ % 500);
        DT_INSTANT(render, name, DT_STRING_INTERNED("again", name));
}

static void tick(unsigned usec) {
        const struct itimerval often = { { 0, (suseconds_t)usec }, { 0, (suseconds_t)usec } };
        const struct sigaction action = { .sa_handler = usec > 0 ? emit_in_handler : SIG_IGN,
                                          .sa_flags = SA_RESTART };

        ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

/* Much of the time is spent where a handler must not come: in malloc() and in an event. */
static unsigned emit_and_allocate(unsigned n_signals_wanted) {
        unsigned n = 0;

        while (n_signals < n_signals_wanted || n < 20000) {
                char *volatile memory = malloc(1 + n % 5000);

                DT_INSTANT(render, "program", DT_INT("n", n++));
                free(memory);
        }
        return n;
}

START_TEST(test_events_of_signal_handlers_are_recorded_or_counted_as_lost) {
        World *world = world_new();
        unsigned n;

        world->trace->only_last = true;
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "first"); /* only from then on there is something to count with */
        n_signals = 0;
        tick(150);
        n = 1 + emit_and_allocate(500);
        tick(0);
        world_read(world);
        ck_assert_uint_eq(world->trace->n_seen + smb_n_dropped(&world->fake.area), n + n_signals);
        world_free(world);
}
END_TEST

static void block_signal(int how) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGALRM);
        pthread_sigmask(how, &set, NULL);
}

/* A signal waits for it already. */
static void *emit_in_thread(void *userdata) {
        block_signal(SIG_UNBLOCK);
        DT_INSTANT(render, "thread");
        return NULL;
}

START_TEST(test_signal_handlers_may_come_while_threads_begin_and_sessions_change) {
        World *world = world_new();

        world->trace->only_last = true;
        n_signals = 0;
        block_signal(SIG_BLOCK); /* here: the service is not prepared for it */
        tick(150);
        for (unsigned i = 0; i < 30; i++) {
                uint64_t id = world_record(world, NULL, NULL);
                pthread_t thread;

                for (unsigned j = 0; j < 10; j++) {
                        ck_assert_int_eq(pthread_create(&thread, NULL, emit_in_thread, NULL), 0);
                        pthread_join(thread, NULL);
                }
                ck_assert_int_eq(fake_stop(&world->fake, id), 0);
                fake_drain(&world->fake);
        }
        tick(0);
        block_signal(SIG_UNBLOCK);
        ck_assert_uint_gt(n_signals, 0);
        ck_assert_uint_ge(world->trace->n_seen + smb_n_dropped(&world->fake.area), 300);
        world_free(world);
}
END_TEST

/*
 * Sandboxes
 */

/* -1: all of them. */
static void deny(const int calls[], size_t n_calls, int only) {
        struct sock_filter filter[64] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        };
        struct sock_fprog program = { .len = 1, .filter = filter };

        for (size_t i = 0; i < n_calls; i++) {
                if (only >= 0 && (size_t)only != i)
                        continue;
                filter[program.len++] = (struct sock_filter)BPF_JUMP(
                        BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
                filter[program.len++] =
                        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
        }
        filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                _exit(77);
}

/* What comes of it is the library's business; the program goes on. */
static void live_in_sandbox(void) {
        static dt_category late = { .name = "late" };

        for (unsigned i = 0; i < 2; i++) {
                dt_init(NULL);
                dt_category_register(&late);
                dt_thread_set_name("sandbox");
                DT_INSTANT(render, "event");
                dt_trigger("trigger");
                dt_category_unregister(&late);
        }
        _exit(0);
}

START_TEST(test_whatever_a_sandbox_denies_the_program_goes_on) {
        static const int calls[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
                SYS_mmap, /* which sanitizers cannot do without */
#endif
                SYS_eventfd2,
                SYS_socket,
                SYS_connect,
                SYS_membarrier,
                SYS_getrandom,
                SYS_fcntl,
                SYS_openat,
                SYS_ppoll,
                SYS_clone3,
                SYS_clone,
                SYS_prctl,
        };
        const int n_calls = sizeof(calls) / sizeof(calls[0]);
        Fake fake;

        fake_init(&fake); /* nobody listens there */
        for (int only = -1; only < n_calls; only++) {
                pid_t pid = fork();
                int status;

                ck_assert_int_ge(pid, 0);
                if (pid == 0) {
                        deny(calls, (size_t)n_calls, only);
                        live_in_sandbox();
                }
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 77))
                        ck_abort_msg("call %d: %d", only, status);
        }
}
END_TEST

TEST_MAIN("life",
          test_descriptors_that_the_program_has_taken_over_are_left_alone,
          test_a_forked_child_has_no_descriptor_of_the_librarys,
          test_a_source_can_go_although_its_thread_cannot_be_woken,
          test_a_program_without_standard_streams_is_recorded,
          test_errno_stays_what_it_was,
          test_threads_that_are_cancelled_lose_nothing,
          test_no_function_is_a_cancellation_point,
          test_the_thread_takes_no_signals_but_its_own,
          test_events_of_signal_handlers_are_recorded_or_counted_as_lost,
          test_signal_handlers_may_come_while_threads_begin_and_sessions_change,
          test_whatever_a_sandbox_denies_the_program_goes_on)
