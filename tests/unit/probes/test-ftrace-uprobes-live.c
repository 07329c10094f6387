/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Uprobes on the running kernel, in this program itself.
 */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "ftrace-world.h"
#include "marked.h"
#include "probes/ftrace/instance.h"
#include "probes/ftrace/trace-dir.h"
#include "shared/log.h"

#define N_CALLS      10
#define KPROBE_EVENT 542

typedef Perfetto__Protos__FtraceConfig__UprobeEvent UprobeConfig;

__attribute__((__noinline__, __visibility__("default"))) int called_function(int value);
int called_function(int value) {
        __asm__ volatile("" : "+r"(value));
        return value + 1;
}

static void call_often(void) {
        for (int i = 0; i < N_CALLS; i++)
                called_function(i);
}

static char own_path[PATH_MAX];

static UprobeConfig uprobe_of(const char *symbol, int type) {
        UprobeConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__UPROBE_EVENT__INIT;
        ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

        ck_assert_int_gt(n, 0);
        own_path[n] = '\0';
        config.path = own_path;
        config.symbol = (char *)symbol;
        config.has_type = true;
        config.type = (unsigned)type;
        return config;
}

static FtraceConfig config_of(UprobeConfig **uprobes, size_t n) {
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;

        config.uprobe_events = uprobes;
        config.n_uprobe_events = n;
        config.has_buffer_size_kb = true;
        config.buffer_size_kb = 256;
        return config;
}

/* Definitions of ours in the kernel's list. */
static size_t count_definitions(void) {
        size_t n = 0;
        TraceDir *dir;
        char *list;

        ck_assert_int_eq(trace_dir_new(&dir, NULL), 0);
        ck_assert_int_eq(trace_dir_read(dir, "dynamic_events", &list, NULL, NULL), 0);
        for (const char *at = list; (at = strstr(at, ":desktrace_")); at++)
                n++;
        free(list);
        trace_dir_free(dir);
        return n;
}

static size_t count_slices(const FtraceWorld *world, const char *name, uint64_t type) {
        WireReader bundle, body;
        uint32_t number;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&world->list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                for (size_t k = 0; ftrace_event_body(bundle, k, &number, &body); k++)
                        n += number == KPROBE_EVENT && message_has_text(body, 1, name) &&
                             message_uint(body, 2) == type;
        return n;
}

START_TEST(test_each_call_of_a_function_is_a_slice) {
        UprobeConfig uprobe = uprobe_of("called_function", 3), *uprobes[] = { &uprobe };
        FtraceConfig config = config_of(uprobes, 1);
        FtraceWorld world;

        ftrace_world_start(&world, &config);
        ck_assert_uint_eq(count_definitions(), 2);
        call_often();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(count_slices(&world, "called_function", 1), N_CALLS);
        ck_assert_uint_eq(count_slices(&world, "called_function", 2), N_CALLS);
        ftrace_world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

#if defined(__x86_64__)
START_TEST(test_arguments_are_fields_of_an_event) {
        static char *args[] = { (char *)"value=%di:s32" };
        UprobeConfig uprobe = uprobe_of("called_function", 1), *uprobes[] = { &uprobe };
        FtraceConfig config = config_of(uprobes, 1);
        WireReader bundle, body, descriptor;
        uint32_t number;
        uint64_t sum = 0;
        size_t n = 0;
        FtraceWorld world;

        uprobe.args = args;
        uprobe.n_args = 1;
        uprobe.name = (char *)"calls";
        ftrace_world_start(&world, &config);
        call_often();
        ftrace_world_stop(&world);
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_EVENTS, 0, &bundle));
        for (; ftrace_event_body(bundle, n, &number, &body); n++) {
                ck_assert(bundle_describes(bundle, number, &descriptor));
                ck_assert(message_has_text(descriptor, 1, "calls"));
                sum += message_uint(body, 2); /* behind __probe_ip */
        }
        ck_assert_uint_eq(n, N_CALLS);
        ck_assert_uint_eq(sum, N_CALLS * (N_CALLS - 1) / 2);
        ftrace_world_deinit(&world);
}
END_TEST
#endif

static UprobeConfig static_of(const char *usdt) {
        UprobeConfig config = uprobe_of(NULL, 1);

        config.usdt = (char *)usdt;
        return config;
}

__attribute__((__noinline__)) static void marked(void) {
        MARK("test", "plain", "0", "");
        MARK("test", "plain", "0", "");
}

START_TEST(test_each_place_of_a_static_probe_is_an_instant) {
        UprobeConfig exact = static_of("test:plain"), unknown = static_of("test:plainer"),
                     *uprobes[] = { &exact, &unknown };
        FtraceConfig config = config_of(uprobes, 2);
        FtraceWorld world;

        ftrace_world_start(&world, &config);
        for (int i = 0; i < N_CALLS; i++)
                marked();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(count_slices(&world, "test:plain", 3), 2 * N_CALLS);
        ck_assert(notes_have(&world.notes, "is \"test:plainer\""));
        ftrace_world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

#if defined(__x86_64__)
unsigned short watched_semaphore __attribute__((__used__, __section__(".probes")));
static volatile unsigned short *const semaphore = &watched_semaphore;

__attribute__((__noinline__)) static void watched(int value) {
        MARK("watched", "value", "watched_semaphore", "-4@%0", "r"(value));
        MARK("watched", "value", "watched_semaphore", "-4@%0", "i"(5));
}

START_TEST(test_a_program_sees_that_its_static_probe_is_watched) {
        UprobeConfig all = static_of("watched:*"), *uprobes[] = { &all };
        FtraceConfig config = config_of(uprobes, 1);
        WireReader bundle, body, descriptor;
        FtraceWorld world;
        uint32_t number;
        uint64_t sum = 0;
        size_t n = 0;

        ck_assert_uint_eq(*semaphore, 0);
        ftrace_world_start(&world, &config);
        ck_assert_uint_gt(*semaphore, 0);
        for (int i = 0; i < N_CALLS; i++)
                watched(i);
        ftrace_world_stop(&world);
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_EVENTS, 0, &bundle));
        for (; ftrace_event_body(bundle, n, &number, &body); n++) {
                ck_assert(bundle_describes(bundle, number, &descriptor));
                ck_assert(message_has_text(descriptor, 1, "watched_value"));
                sum += message_uint(body, 2); /* behind __probe_ip */
        }
        ck_assert_uint_eq(n, 2 * N_CALLS);
        ck_assert_uint_eq(sum, N_CALLS * (N_CALLS - 1) / 2 + 5 * N_CALLS);
        ftrace_world_deinit(&world);
        ck_assert_uint_eq(*semaphore, 0);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST
#endif

START_TEST(test_the_others_are_recorded_beside_a_probe_that_cannot_be) {
        static char *args[] = { (char *)"value=%nosuchregister" };
        UprobeConfig good = uprobe_of("called_function", 1),
                     mistyped = uprobe_of("called_functoin", 1);
        UprobeConfig bad = uprobe_of("called_function", 1),
                     inside = uprobe_of("called_function+1", 1);
        UprobeConfig *uprobes[] = { &good, &mistyped, &bad, &inside };
        FtraceConfig config = config_of(uprobes, ARRAY_SIZE(uprobes));
        WireReader stats;
        FtraceWorld world;

        bad.args = args;
        bad.n_args = 1;
        ftrace_world_start(&world, &config);
        call_often();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(count_slices(&world, "called_function", 3), N_CALLS);
        ck_assert(notes_have(&world.notes, "did you mean \"called_function\""));
        ck_assert(notes_have(&world.notes, "at \"%nosuchregister\""));
        ck_assert(notes_have(&world.notes, "in the middle of an instruction"));
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_STATS, 0, &stats));
        ck_assert(message_has_text(stats, 6, "called_functoin"));
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_a_config_of_which_nothing_is_left_is_refused_and_leaves_nothing) {
        UprobeConfig mistyped = uprobe_of("called_functoin", 1), *uprobes[] = { &mistyped };
        FtraceConfig config = config_of(uprobes, 1);
        FtraceWorld world;

        ck_assert_int_eq(ftrace_world_setup(&world, &config), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(world.error, "did you mean \"called_function\""));
        ftrace_world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

START_TEST(test_what_a_killed_recorder_defined_is_removed_and_that_of_the_living_stays) {
        UprobeConfig uprobe = uprobe_of("called_function", 3), *uprobes[] = { &uprobe };
        FtraceConfig config = config_of(uprobes, 1);
        FtraceWorld world, other;
        int ready[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                ftrace_world_start(&other, &config);
                if (write(ready[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ftrace_world_start(&world, &config);
        ck_assert_uint_eq(count_definitions(), 4);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_NONE), 0);
        ck_assert_uint_eq(count_definitions(), 4);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_NONE), 0);
        ck_assert_uint_eq(count_definitions(), 2);
        call_often();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(count_slices(&world, "called_function", 1), N_CALLS);
        ftrace_world_deinit(&world);
        ck_assert_uint_eq(count_definitions(), 0);
}
END_TEST

static const char *why_not(void) {
        char path[256];

        if (kernel_why_not())
                return kernel_why_not();
        snprintf(path, sizeof(path), "%s/uprobe_events", tracefs_tracing_dir());
        return access(path, F_OK) == 0 ? NULL : "this kernel has no uprobes";
}

int main(void) {
        const TTest *tests[] = {
                test_each_call_of_a_function_is_a_slice,
#if defined(__x86_64__)
                test_arguments_are_fields_of_an_event,
                test_a_program_sees_that_its_static_probe_is_watched,
#endif
                test_each_place_of_a_static_probe_is_an_instant,
                test_the_others_are_recorded_beside_a_probe_that_cannot_be,
                test_a_config_of_which_nothing_is_left_is_refused_and_leaves_nothing,
                test_what_a_killed_recorder_defined_is_removed_and_that_of_the_living_stays,
        };

        log_init("test-ftrace-uprobes-live");
        if (why_not()) {
                printf("1..0 # SKIP %s\n", why_not());
                return EXIT_SUCCESS;
        }
        return test_run("ftrace-uprobes-live", tests, ARRAY_SIZE(tests));
}
