/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The ftrace probe on the running kernel: needs root and tracefs.
 */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "kernel.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/ftrace/instance.h"
#include "shared/log.h"
#include "test.h"

#define N_ROUND_TRIPS 100000
#define SWITCHES_MAX  (1u << 20)
#define NS_PER_SECOND 1000000000u

/* A config, its instance of the probe, and what that wrote. */
typedef struct World {
        PacketList list;
        List links;
        SessionLink *link;
        void *probe;
        char *error;
} World;

static int world_setup_buffer(World *world, char **events, size_t n_events, uint32_t buffer_kb) {
        Perfetto__Protos__FtraceConfig ftrace = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config };

        *world = (World){ .list = PACKET_LIST_INIT };
        list_init(&world->links);
        ck_assert_int_eq(session_link_get(&world->link, &world->links, 1), 0);
        config.ftrace_config = &ftrace;
        ftrace.ftrace_events = events;
        ftrace.n_ftrace_events = n_events;
        ftrace.has_buffer_size_kb = true;
        ftrace.buffer_size_kb = buffer_kb;
        setup.sink = &world->list.sink;
        setup.link = world->link;
        return ftrace_probe_ops.setup(&world->probe, &setup, &world->error);
}

static int world_setup(World *world, char **events, size_t n_events) {
        return world_setup_buffer(world, events, n_events, 16384);
}

static void world_deinit(World *world) {
        ftrace_probe_ops.free(world->probe);
        session_link_unref(world->link);
        free(world->error);
        packet_list_deinit(&world->list);
}

static unsigned count_instances_of(pid_t pid) {
        char path[4096], prefix[32];
        unsigned n = 0;
        DIR *dir;

        snprintf(path, sizeof(path), "%s/instances", tracefs_tracing_dir());
        snprintf(prefix, sizeof(prefix), "desktrace-%d-", pid);
        dir = opendir(path);
        ck_assert_ptr_nonnull(dir);
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
                n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        closedir(dir);
        return n;
}

static unsigned count_instances(void) {
        return count_instances_of(getpid());
}

static void pin_to_cpu_0(void) {
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* Context switches of its own thread, as the kernel counts them. */
static uint64_t own_switches(void) {
        uint64_t total = 0, value;
        char line[256];
        FILE *status = fopen("/proc/thread-self/status", "re");

        ck_assert_ptr_nonnull(status);
        while (fgets(line, sizeof(line), status))
                if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &value) == 1 ||
                    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &value) == 1)
                        total += value;
        fclose(status);
        return total;
}

/* The other side of the ping-pong. Reports its pid's switches at the end. */
_Noreturn static void pong(int in, int out, int report) {
        uint64_t n_before, n;
        char byte;

        pin_to_cpu_0();
        n_before = own_switches();
        while (read(in, &byte, 1) == 1 && byte != 'q')
                if (write(out, &byte, 1) != 1)
                        _exit(1);
        n = own_switches() - n_before;
        _exit(write(report, &n, sizeof(n)) == sizeof(n) ? 0 : 1);
}

typedef struct Load {
        pid_t pid;
        uint64_t n_switches; /* away from the other side, as the kernel counts */
} Load;

/* Two processes on CPU 0 that wait for each other; the probe is polled meanwhile. */
static Load run_load(World *world, unsigned n_round_trips) {
        int to[2], from[2], report[2];
        Load load = {};
        char byte = 'p';

        ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(report, O_CLOEXEC), 0);
        load.pid = fork();
        ck_assert_int_ge(load.pid, 0);
        if (load.pid == 0)
                pong(to[0], from[1], report[1]);
        pin_to_cpu_0();
        for (unsigned i = 0; i < n_round_trips; i++) {
                ck_assert_int_eq(write(to[1], &byte, 1), 1);
                ck_assert_int_eq(read(from[0], &byte, 1), 1);
                if (i % 10000 == 0)
                        ftrace_probe_ops.poll(world->probe, probe_now_ns());
        }
        byte = 'q';
        ck_assert_int_eq(write(to[1], &byte, 1), 1);
        ck_assert_int_eq(read(report[0], &load.n_switches, sizeof(load.n_switches)),
                         sizeof(load.n_switches));
        ck_assert_int_eq(waitpid(load.pid, NULL, 0), load.pid);
        for (size_t i = 0; i < 2; i++) {
                close(to[i]);
                close(from[i]);
                close(report[i]);
        }
        return load;
}

/* Switches to a pid in all compact columns; and whether any bundle says that something is missing. */
static size_t count_switches_to(const PacketList *list, pid_t pid, size_t *ret_n_losses) {
        uint64_t *pids = calloc(SWITCHES_MAX, sizeof(*pids));
        size_t n_found = 0;

        ck_assert_ptr_nonnull(pids);
        *ret_n_losses = 0;
        for (size_t i = 0; i < list->n; i++) {
                WireReader bundle, compact;
                size_t n;

                if (!packet_list_payload(list, i, PACKET_FTRACE_EVENTS, &bundle))
                        continue;
                *ret_n_losses += message_count(bundle, 3) + message_count(bundle, 8);
                if (!message_submessage(bundle, 4, 0, &compact))
                        continue;
                n = message_packed(compact, 3, pids, SWITCHES_MAX);
                ck_assert_uint_eq(message_packed(compact, 1, NULL, 0), n);
                ck_assert_uint_eq(message_packed(compact, 6, NULL, 0), n);
                for (size_t k = 0; k < n; k++)
                        n_found += pids[k] == (uint64_t)pid;
        }
        free(pids);
        return n_found;
}

/* Kernels were seen (of virtual machines, whose process 1 is no init system but their agent) that record nothing while
 * a thread of process 1 runs, nor count it: when such a thread leaves the CPU to the load, there is no event. */
static size_t count_unseen(const PacketList *list) {
        DIR *threads = opendir("/proc/1/task");
        size_t n = 0, n_losses;

        ck_assert_ptr_nonnull(threads);
        for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
                if (entry->d_name[0] != '.')
                        n += count_switches_to(list, atoi(entry->d_name), &n_losses);
        closedir(threads);
        return n;
}

static uint64_t sum_stats(const PacketList *list, size_t packet, uint32_t field) {
        WireReader stats, cpu;
        uint64_t sum = 0;

        ck_assert(packet_list_find(list, PACKET_FTRACE_STATS, packet, &stats));
        for (size_t i = 0; message_submessage(stats, 2, i, &cpu); i++)
                sum += message_uint(cpu, field);
        return sum;
}

START_TEST(test_every_switch_of_a_known_load_is_in_the_trace) {
        static char *events[] = { (char *)"sched/sched_switch", (char *)"sched_waking" };
        World world;
        size_t n_found, n_unseen, n_losses;
        Load load;

        ck_assert_msg(world_setup(&world, events, 2) == 0, "%s", world.error);
        ck_assert_int_eq(ftrace_probe_ops.start(world.probe, &world.error), 0);
        load = run_load(&world, N_ROUND_TRIPS);
        ftrace_probe_ops.stop(world.probe, probe_now_ns());

        /* As often as it left the CPU it must have come there, but for its last moments. */
        n_found = count_switches_to(&world.list, load.pid, &n_losses);
        ck_assert_uint_ge(load.n_switches, N_ROUND_TRIPS / 2);
        n_unseen = count_unseen(&world.list);
        if (sum_stats(&world.list, 2, 3) > 0) { /* nobody read the rings in time: that is said */
                ck_assert_uint_gt(n_losses, 0);
                world_deinit(&world);
                return;
        }
        ck_assert_msg(n_found + n_unseen + 2 >= load.n_switches && n_found <= load.n_switches + 16,
                      "%zu switches to the load, %zu from whom none is recorded, the kernel "
                      "counted %" PRIu64 "; %zu marked losses, %" PRIu64 " overrun, %" PRIu64
                      " refused, %" PRIu64 " dropped",
                      n_found,
                      n_unseen,
                      load.n_switches,
                      n_losses,
                      sum_stats(&world.list, 2, 3),
                      sum_stats(&world.list, 2, 4),
                      sum_stats(&world.list, 2, 8));
        ck_assert_uint_eq(n_losses, 0);

        /* The last stats say so, too: nothing overrun, nothing dropped, nothing left in the rings. */
        ck_assert_uint_eq(sum_stats(&world.list, 2, 2), 0);
        for (uint32_t field = 3; field <= 4; field++)
                ck_assert_uint_eq(sum_stats(&world.list, 2, field), 0);
        ck_assert_uint_eq(sum_stats(&world.list, 2, 8), 0);
        ck_assert_uint_ge(sum_stats(&world.list, 2, 9), 2 * load.n_switches);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_ring_that_overflows_is_a_marked_loss) {
        static char *events[] = { (char *)"sched_switch" };
        World world;
        size_t n_losses;

        ck_assert_int_eq(world_setup_buffer(&world, events, 1, 64), 0);
        ck_assert_int_eq(ftrace_probe_ops.start(world.probe, &world.error), 0);
        run_load(&world, 9999);
        ftrace_probe_ops.stop(world.probe, probe_now_ns());
        count_switches_to(&world.list, 1, &n_losses);
        ck_assert_uint_ge(n_losses, 1);
        ck_assert_uint_ge(sum_stats(&world.list, 2, 3), 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_config_of_only_unknown_events_is_refused_with_the_nearest) {
        static char *events[] = { (char *)"sched/sched_swich" };
        World world;

        ck_assert_int_eq(world_setup(&world, events, 1), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(world.error, "\"sched/sched_swich\""));
        ck_assert_ptr_nonnull(strstr(world.error, "\"sched/sched_switch\""));
        ck_assert_uint_eq(count_instances(), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_the_instance_goes_with_the_recording) {
        static char *events[] = { (char *)"sched_switch" };
        World world;

        ck_assert_int_eq(world_setup(&world, events, 1), 0);
        ck_assert_uint_eq(count_instances(), 1);
        ftrace_probe_ops.free(world.probe);
        world.probe = NULL;
        ck_assert_uint_eq(count_instances(), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_a_killed_recorder_left_is_removed_and_the_living_stay) {
        static char *events[] = { (char *)"sched_switch" };
        World world, other;
        int ready[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (world_setup(&other, events, 1) == 0 && write(ready[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        ck_assert_int_eq(world_setup(&world, events, 1), 0);
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_NONE), 0);
        ck_assert_uint_eq(count_instances_of(pid), 1);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_NONE), 0);
        ck_assert_uint_eq(count_instances_of(pid), 0);
        ck_assert_uint_eq(count_instances(), 1);
        world_deinit(&world);
}
END_TEST

static const InstanceTag own = { .session_id = 5, .settings = "a" };
static const InstanceTag other_settings = { .session_id = 5, .settings = "b" };
static const InstanceTag other_session = { .session_id = 6, .settings = "a" };
static const InstanceTag no_session = { .settings = "a" };

/* Makes an instance with this tag, and dies. */
static void leave_instance(const TraceDir *dir, const InstanceTag *tag) {
        pid_t pid = fork();
        Instance *instance;
        int status;

        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                _exit(instance_new(&instance, dir, tag, NULL) == 0 &&
                                      instance_write(instance, "tracing_on", "1", NULL) == 0 &&
                                      instance_write(instance, "trace_marker", "seen", NULL) == 0
                              ? 0
                              : 1);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
}

START_TEST(test_a_recorder_comes_back_to_its_own_instance_as_it_is) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        _cleanup_(freep) char *text = NULL;
        Instance *instance, *second;

        ck_assert_int_eq(trace_dir_new(&dir, NULL), 0);
        instances_return(UINT64_MAX);
        leave_instance(dir, &own);
        ck_assert_int_eq(instance_adopt(&instance, dir, &other_settings), INSTANCE_E_NONE);
        ck_assert_int_eq(instance_adopt(&instance, dir, &other_session), INSTANCE_E_NONE);
        ck_assert_int_eq(instance_adopt(&instance, dir, &no_session), INSTANCE_E_NONE);
        ck_assert_int_ge(instances_remove_stale(INSTANCES_LEFT_TAGGED), 0);
        ck_assert_int_eq(instance_adopt(&instance, dir, &own), 0);
        ck_assert_int_eq(instance_adopt(&second, dir, &own), INSTANCE_E_NONE);
        ck_assert_int_eq(instance_read(instance, "tracing_on", &text, NULL, NULL), 0);
        ck_assert_str_eq(text, "1\n");
        free(TAKE(text));
        ck_assert_int_eq(instance_read(instance, "trace", &text, NULL, NULL), 0);
        ck_assert_ptr_nonnull(strstr(text, "seen"));
        instance_free(instance);
        ck_assert_int_eq(instance_adopt(&instance, dir, &own), INSTANCE_E_NONE);
        instances_return(0);
}
END_TEST

START_TEST(test_instances_that_nobody_comes_back_to_are_removed) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        Instance *instance;

        ck_assert_int_eq(trace_dir_new(&dir, NULL), 0);
        instances_return(UINT64_MAX);
        leave_instance(dir, &own);
        leave_instance(dir, &no_session); /* takes nothing away that has a tag */
        ck_assert_int_eq(instances_remove_stale(INSTANCES_LEFT_TAGGED), 1);
        instances_return(1); /* that time is over */
        ck_assert_int_eq(instance_new(&instance, dir, &other_session, NULL), 0);
        ck_assert_ptr_nonnull(strstr(instance->name, "-6-"));
        instances_return(UINT64_MAX);
        instance_free(instance);
        ck_assert_int_eq(instance_adopt(&instance, dir, &own), INSTANCE_E_NONE);
        instances_return(0);
        ck_assert_int_eq(instance_new(&instance, dir, &own, NULL), 0);
        ck_assert_ptr_null(strstr(instance->name, "-5-"));
        instance_free(instance);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_every_switch_of_a_known_load_is_in_the_trace,
                test_a_ring_that_overflows_is_a_marked_loss,
                test_a_config_of_only_unknown_events_is_refused_with_the_nearest,
                test_the_instance_goes_with_the_recording,
                test_what_a_killed_recorder_left_is_removed_and_the_living_stay,
                test_a_recorder_comes_back_to_its_own_instance_as_it_is,
                test_instances_that_nobody_comes_back_to_are_removed,
        };

        log_init("test-ftrace-live");
        if (kernel_why_not()) {
                printf("1..0 # SKIP %s\n", kernel_why_not());
                return EXIT_SUCCESS;
        }
        return test_run("ftrace-live", tests, ARRAY_SIZE(tests));
}
