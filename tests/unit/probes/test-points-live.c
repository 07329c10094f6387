/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Points on the running kernel, in a library of this test.
 */

#include "test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "pointed.h"
#include "probes/ftrace/dynamic-slot.h"
#include "probes/ftrace/instance.h"
#include "probes/points/point-ring.h"
#include "probes/points/program-points-probe.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/macro.h"

#define POINTS_TEXT                                          \
        "[Points]\nGroup=toy\nLibrary=libpointed.so.1\n"     \
        "[Point outer]\nSymbol=pointed_outer\nMeans=slice\n" \
        "[Point inner]\nSymbol=pointed_inner\nMeans=slice\n" \
        "[Point slow]\nSymbol=pointed_slow\nMeans=instant\n" \
        "[Point gone]\nSymbol=pointed_gone\nMeans=instant\n"

#if defined(__x86_64__)
#define HAS_EXPENSIVE 1
#else
#define HAS_EXPENSIVE 0
#endif

typedef struct World {
        PacketList list;
        ProbeNotes notes;
        void *probe;
        char folder[64];
} World;

static const ProbeOps *const ops = &program_points_probe_ops;

static void world_put(World *world, const char *text) {
        char path[128];
        FILE *file;

        snprintf(world->folder, sizeof(world->folder), "/tmp/test-points-live-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(world->folder));
        snprintf(path, sizeof(path), "%s/toy.conf", world->folder);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(text, file);
        fclose(file);
        ck_assert_int_eq(chmod(path, 0644), 0);
        setenv("DESKTRACE_POINTS_PATH", world->folder, 1);
}

/* False where this machine cannot. */
static bool world_start(World *world, const char *text, bool expensive, const char *point) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        Perfetto__Protos__ProgramPointsConfig own = PERFETTO__PROTOS__PROGRAM_POINTS_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .notes = &world->notes };
        char *error = NULL;
        int r;

        *world = (World){ .list = PACKET_LIST_INIT };
        setup.sink = &world->list.sink;
        config.program_points_config = &own;
        own.has_expensive = true;
        own.expensive = expensive;
        own.points = (char **)&point;
        own.n_points = point != NULL;
        world_put(world, text);
        r = ops->setup(&world->probe, &setup, &error);
        if (r == 0)
                r = ops->start(world->probe, &error);
        if (r != 0) {
                ck_assert_ptr_nonnull(error);
                test_skip("%s", error);
        } else {
                ops->poll(world->probe, probe_now_ns());
        }
        free(error);
        return r == 0;
}

static void world_stop(World *world) {
        ops->stop(world->probe, probe_now_ns());
}

static void world_deinit(World *world) {
        char command[128];

        world->probe = ops->free(world->probe);
        packet_list_deinit(&world->list);
        probe_notes_deinit(&world->notes);
        snprintf(command, sizeof(command), "rm -r %s", world->folder);
        ck_assert_int_eq(system(command), 0);
}

/* Events of a type with that name; of ends, which have none, all. */
static size_t count(const World *world, unsigned type, const char *name) {
        WireReader event;
        size_t n = 0;

        for (size_t i = 0; i < world->list.n; i++)
                n += packet_list_payload(&world->list, i, PACKET_TRACK_EVENT, &event) &&
                     message_uint(event, 9) == type && (!name || message_has_text(event, 23, name));
        return n;
}

static bool has_note(const World *world, const char *text) {
        for (size_t i = 0; i < world->notes.n; i++)
                if (strstr(world->notes.texts[i], text))
                        return true;
        return false;
}

static size_t count_definitions(void) {
        size_t n = 0;
        TraceDir *dir;
        char *list;

        ck_assert_int_eq(trace_dir_new(&dir, NULL), 0);
        ck_assert_int_eq(trace_dir_read(dir, "dynamic_events", &list, NULL, NULL), 0);
        for (const char *at = list; (at = strstr(at, "/points_")); at++)
                n++;
        free(list);
        trace_dir_free(dir);
        return n;
}

START_TEST(test_functions_of_a_library_are_slices) {
        Pointed pointed = { .number = 5 };
        World world;

        if (!world_start(&world, POINTS_TEXT, false, NULL))
                return;
        ck_assert_uint_gt(count_definitions(), 0);
        for (int i = 0; i < 10; i++)
                pointed_outer(&pointed);
        pointed_slow();
        world_stop(&world);
        ck_assert_uint_eq(count(&world, 1, "outer"), 10);
        ck_assert_uint_eq(count(&world, 1, "inner"), 20);
        ck_assert_uint_eq(count(&world, 2, NULL), 30);
        ck_assert_uint_eq(count(&world, 3, "slow"), HAS_EXPENSIVE ? 0 : 1);
        ck_assert_uint_eq(count(&world, 3, "lost"), 0);
        ck_assert(has_note(&world, "toy.conf:13: "));
        ck_assert(has_note(&world, "has no function pointed_gone"));
        world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

START_TEST(test_what_is_expensive_is_recorded_when_it_is_asked_for) {
        World world;

        if (!world_start(&world, POINTS_TEXT, true, "toy/slow"))
                return;
        pointed_slow();
        world_stop(&world);
        ck_assert_uint_eq(count(&world, 3, "slow"), 1);
        world_deinit(&world);
        if (!HAS_EXPENSIVE || !world_start(&world, POINTS_TEXT, false, "toy/slow"))
                return;
        ck_assert(has_note(&world, "would take many microseconds"));
        world_deinit(&world);
}
END_TEST

START_TEST(test_arguments_are_read_and_conditions_hold) {
        Pointed five = { .number = 5 }, six = { .number = -6 };
        WireReader event, argument;
        World world;

        if (!world_start(
                    &world,
                    "[Point step]\nGroup=toy\nLibrary=libpointed.so.1\nSymbol=pointed_step\n"
                    "Means=instant\nArguments=number:s32:+8(arg1);value:u8:arg2\nWhen=value=9\n",
                    true,
                    NULL))
                return;
        pointed_step(&five, 8);
        pointed_step(&six, 9);
        world_stop(&world);
        ck_assert_uint_eq(count(&world, 3, "step"), 1);
        ck_assert(packet_list_find(&world.list, PACKET_TRACK_EVENT, 0, &event));
        ck_assert(message_submessage(event, 4, 0, &argument));
        ck_assert(message_has_text(argument, 10, "number"));
        ck_assert_int_eq((int64_t)message_uint(argument, 4), -6);
        world_deinit(&world);
}
END_TEST

/* Definitions outlive their process, and slow down everybody. */
START_TEST(test_nothing_is_left_of_probes_that_were_killed) {
        int ready[2], status;
        char byte;
        World world;
        pid_t pid;

        if (!world_start(&world, POINTS_TEXT, false, NULL))
                return;
        world_deinit(&world);
        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                (void)world_start(&world, POINTS_TEXT, false, NULL);
                (void)!write(ready[1], "x", 1);
                pause();
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ck_assert_uint_gt(count_definitions(), 0);
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_uint_gt(count_definitions(), 0);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_NONE),
                         1); /* and the definitions with them */
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

/*
 * Programs that do not return from where they are probed
 */

static void jump_out(void *userdata) {
        longjmp(*(jmp_buf *)userdata, 1);
}

static void become_another(void *userdata) {
        execl("/bin/true", "true", (char *)NULL);
}

static void die(void *userdata) {
        kill(getpid(), SIGKILL);
}

/* Allows what ends a program, and nothing else: a probe must not need more. */
static void confine(void *userdata) {
        static bool is_confined;
        struct sock_filter rules[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        const struct sock_fprog program = { ARRAY_SIZE(rules), rules };

        if (!is_confined && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                             prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0))
                syscall(SYS_exit_group, EXIT_FAILURE);
        is_confined = true;
}

/* A child that is within pointed_around() when it does this, and then goes by other points. Returns its status. */
static int around(void (*back)(void *userdata)) {
        static jmp_buf begin;
        const pid_t pid = fork();
        int status;

        if (pid == 0) {
                Pointed pointed = { .number = 5 };

                for (int i = 0; i < 3; i++) {
                        if (setjmp(begin) == 0)
                                (void)pointed_around(back, &begin);
                        (void)pointed_outer(&pointed);
                }
                syscall(SYS_exit_group, EXIT_SUCCESS);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        return status;
}

#define AROUND_TEXT POINTS_TEXT "[Point around]\nSymbol=pointed_around\nMeans=slice\n"

/* None of these is harmed by the probe, each is recorded up to where it got, and all that was begun has an end. */
START_TEST(test_programs_that_do_not_return_are_recorded) {
        World world;

        if (!world_start(&world, AROUND_TEXT, false, NULL))
                return;
        ck_assert_int_eq(around(jump_out), 0);
        ck_assert_int_eq(around(confine), 0);
        ck_assert_int_eq(around(become_another), 0);
        ck_assert_int_eq(around(die), SIGKILL);
        world_stop(&world);
        ck_assert_uint_eq(count(&world, 1, "around"), 3 + 3 + 1 + 1);
        ck_assert_uint_eq(count(&world, 1, "outer"), 3 + 3);
        ck_assert_uint_eq(count(&world, 2, NULL), count(&world, 1, NULL));
        ck_assert_uint_eq(count(&world, 3, "lost"), 0);
        world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

/*
 * Libraries that come later
 */

static void exec_app(const World *world, const char *library) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", world->folder, library);
        execl(POINTED_APP, POINTED_APP, path, "10000", (char *)NULL);
        _exit(EXIT_FAILURE);
}

/* Returns the pid of a program that comes by the points of a copy of the library, and goes on to do so. */
static pid_t start_app(const World *world, const char *library) {
        const pid_t pid = fork();

        if (pid == 0)
                exec_app(world, library);
        return pid;
}

static void end_app(pid_t pid) {
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* Until some are recorded that were not before. */
static void wait_for_hits(World *world) {
        const size_t before = count(world, 1, "outer");
        size_t n = before;

        for (int i = 0; i < 300 && n == before; i++) {
                usleep(100 * 1000);
                ops->poll(world->probe, probe_now_ns());
                n = count(world, 1, "outer");
        }
        ck_assert_uint_gt(n, before);
}

static void copy_library(const World *world, const char *name) {
        char command[400];

        snprintf(command,
                 sizeof(command),
                 "cp " POINTED " %s/new && mv %s/new %s/%s",
                 world->folder,
                 world->folder,
                 world->folder,
                 name);
        ck_assert_int_eq(system(command), 0);
}

/* The library is found by what is mapped, not by its name: a program that is started later, with a copy of it. An
 * upgrade then replaces it: the program goes on with the old one, whose name is that of the new one, which others
 * get. */
START_TEST(test_programs_that_start_later_are_followed) {
        pid_t old, new;
        World world;

        if (!world_start(&world, POINTS_TEXT, false, NULL))
                return;
        copy_library(&world, "libpointed.so.1.2");
        old = start_app(&world, "libpointed.so.1.2");
        wait_for_hits(&world);
        copy_library(&world, "libpointed.so.1.2");
        ops->poll(world.probe, probe_now_ns());
        wait_for_hits(&world);
        end_app(old);
        ops->poll(world.probe, probe_now_ns());
        new = start_app(&world, "libpointed.so.1.2");
        wait_for_hits(&world);
        end_app(new);
        world_stop(&world);
        world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

/* As a container: a file system that only the program has, with the library on it. Returns false where that is not
 * allowed. */
static bool enter_box(const World *world) {
        char box[128];

        snprintf(box, sizeof(box), "%s/box", world->folder);
        return unshare(CLONE_NEWNS) == 0 && mkdir(box, 0700) == 0 &&
               mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount("box", box, "tmpfs", 0, NULL) == 0;
}

/* The program, once it has entered; 0 if that is not allowed. */
static pid_t start_boxed_app(const World *world) {
        int ready[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                if (!enter_box(world) || write(ready[1], "x", 1) != 1)
                        _exit(EXIT_FAILURE);
                copy_library(world, "box/libpointed.so.1");
                exec_app(world, "box/libpointed.so.1");
        }
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1) {
                ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
                pid = 0;
        }
        close(ready[0]);
        return pid;
}

START_TEST(test_a_library_that_only_its_program_sees_is_followed) {
        char path[128];
        World world;
        pid_t pid;

        if (!world_start(&world, POINTS_TEXT, false, NULL))
                return;
        pid = start_boxed_app(&world);
        if (pid > 0) {
                wait_for_hits(&world);
                snprintf(path, sizeof(path), "%s/box/libpointed.so.1", world.folder);
                ck_assert_int_lt(access(path, F_OK), 0);
                end_app(pid);
        } else {
                test_skip("no file system may be mounted");
        }
        world_stop(&world);
        world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

/* One user's library that the kernel cannot probe takes nothing from the others. */
START_TEST(test_a_point_of_a_missing_library_is_no_mistake) {
        World world;

        if (!world_start(&world,
                         "[Point x]\nGroup=toy\nLibrary=libnowhere.so.7\nSymbol=x\nMeans=slice\n",
                         false,
                         NULL))
                return;
        world_stop(&world);
        ck_assert(!has_note(&world, "libnowhere"));
        ck_assert(!has_note(&world, "toy.conf"));
        ck_assert_uint_eq(count_definitions(), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_flood_is_cut_and_said) {
        Pointed pointed = { .number = 5 };
        World world;

        if (!world_start(&world,
                         "[Points]\nGroup=toy\nLibrary=libpointed.so.1\n"
                         "[Point inner]\nSymbol=pointed_inner\nMeans=instant\n",
                         true,
                         NULL))
                return;
        for (int i = 0; i < POINT_TURN_MAX * (POINT_TURNS_LATE + 1) / 2; i++)
                pointed_outer(&pointed); /* which comes by twice */
        ops->poll(world.probe, probe_now_ns());
        world_stop(&world);
        ck_assert_uint_gt(count(&world, 3, "inner"), 0);
        ck_assert_uint_le(count(&world, 3, "inner"), POINT_TURN_MAX * POINT_TURNS_LATE);
        ck_assert_uint_gt(count(&world, 3, "lost"), 0);
        world_deinit(&world);
}
END_TEST

TEST_MAIN("points-live",
          test_functions_of_a_library_are_slices,
          test_what_is_expensive_is_recorded_when_it_is_asked_for,
          test_arguments_are_read_and_conditions_hold,
          test_nothing_is_left_of_probes_that_were_killed,
          test_programs_that_do_not_return_are_recorded,
          test_programs_that_start_later_are_followed,
          test_a_library_that_only_its_program_sees_is_followed,
          test_a_point_of_a_missing_library_is_no_mistake,
          test_a_flood_is_cut_and_said)
