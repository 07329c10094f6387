/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Events of the running kernel: each can be recorded and understood.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "ftrace-world.h"
#include "probes/ftrace/event-table.h"
#include "probes/ftrace/frozen-probe.h"
#include "probes/ftrace/kernel-symbols.h"
#include "probes/ftrace/trace-dir.h"
#include "shared/log.h"

#define BUFFER_KB      1024
#define GROUPS_AT_ONCE 6 /* making an instance takes longer than to record from it */
#define GROUP_BYTES    128
#define FIELDS_MAX     32 /* readers refuse descriptors with this number or more */

static FtraceConfig config_of(char **events, size_t n_events) {
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;

        config.ftrace_events = events;
        config.n_ftrace_events = n_events;
        config.has_buffer_size_kb = true;
        config.buffer_size_kb = BUFFER_KB;
        return config;
}

/* Something of everything: a process, a file, a pause. */
static void run_load(void) {
        static const struct timespec pause = { .tv_nsec = 3000000 };
        pid_t pid = fork();
        int fd;

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                fd = open("/tmp/desktrace-load", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
                if (write(fd, "load", 4) != 4 || fsync(fd) < 0 || unlink("/tmp/desktrace-load") < 0)
                        _exit(1);
                nanosleep(&pause, NULL);
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static const EventSpec *spec_of_number(uint32_t number) {
        for (size_t i = 0; i < n_event_specs; i++)
                if (event_specs[i].number == number)
                        return &event_specs[i];
        return NULL;
}

static void check_described(WireReader descriptor, WireReader body) {
        WireField field;

        while (wire_read(&body, &field) == 1) {
                bool found = false;
                WireReader of_field;

                ck_assert_uint_lt(field.number, FIELDS_MAX);
                for (size_t i = 0; message_submessage(descriptor, 2, i, &of_field); i++) {
                        bool is_text = message_uint(of_field, 5) == 9;

                        if (message_uint(of_field, 3) != field.number)
                                continue;
                        found = true;
                        ck_assert_uint_eq(field.type, is_text ? WIRE_BYTES : WIRE_VARINT);
                }
                ck_assert(found);
        }
}

static size_t check_bundle(WireReader bundle) {
        WireReader body, descriptor;
        uint32_t number;
        size_t k;

        ck_assert_uint_eq(message_count(bundle, 8), 0); /* errors */
        for (k = 0; ftrace_event_body(bundle, k, &number, &body); k++) {
                if (number < 65536) {
                        ck_assert_msg(spec_of_number(number), "event %u", number);
                        continue;
                }
                ck_assert_msg(bundle_describes(bundle, number, &descriptor), "event %u", number);
                check_described(descriptor, body);
        }
        return k;
}

static size_t record_groups(char **patterns, size_t n_patterns) {
        FtraceConfig config = config_of(patterns, n_patterns);
        FtraceWorld world;
        WireReader bundle, stats;
        size_t n = 0;

        ftrace_world_start(&world, &config);
        run_load();
        ftrace_world_stop(&world);
        for (size_t i = 0; packet_list_find(&world.list, PACKET_FTRACE_EVENTS, i, &bundle); i++)
                n += check_bundle(bundle);
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_STATS, 0, &stats));
        ck_assert_uint_eq(message_count(stats, 6), 0);
        ck_assert_msg(message_count(stats, 7) == 0, "%s: %s", patterns[0], world.notes.texts[0]);
        ftrace_world_deinit(&world);
        return n;
}

/* Next group of the kernel's list, which has events of one group together. */
static bool next_group(char **at, char group[static GROUP_BYTES]) {
        while (**at) {
                char *line = *at, name[GROUP_BYTES];

                *at += strcspn(line, "\n");
                *at += **at == '\n';
                snprintf(name, sizeof(name), "%.*s/*", (int)strcspn(line, ":"), line);
                if (streq(name, group))
                        continue;
                memcpy(group, name, sizeof(name));
                return true;
        }
        return false;
}

START_TEST(test_every_event_of_this_kernel_can_be_recorded_and_read) {
        char *available, *at, group[GROUP_BYTES] = "", names[GROUPS_AT_ONCE][GROUP_BYTES];
        char *patterns[GROUPS_AT_ONCE];
        size_t n_groups, n_events = 0;
        TraceDir *dir;

        ck_assert_int_eq(trace_dir_new(&dir, NULL), 0);
        ck_assert_int_eq(trace_dir_read(dir, "available_events", &available, NULL, NULL), 0);
        at = available;
        do {
                for (n_groups = 0; n_groups < GROUPS_AT_ONCE && next_group(&at, group);
                     n_groups++) {
                        memcpy(names[n_groups], group, sizeof(group));
                        patterns[n_groups] = names[n_groups];
                }
                n_events += n_groups > 0 ? record_groups(patterns, n_groups) : 0;
        } while (n_groups == GROUPS_AT_ONCE);
        ck_assert_uint_gt(n_events, 0);
        trace_dir_free(dir);
        free(available);
}
END_TEST

START_TEST(test_the_others_are_recorded_beside_an_unknown_event) {
        static char *events[] = { (char *)"sched/sched_swich", (char *)"sched/sched_process_exit" };
        FtraceConfig config = config_of(events, 2);
        FtraceWorld world;
        WireReader stats;

        ftrace_world_start(&world, &config);
        run_load();
        ftrace_world_stop(&world);
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_STATS, 0, &stats));
        ck_assert(message_has_text(stats, 6, "sched/sched_swich"));
        ck_assert(notes_have(&world.notes, "did you mean \"sched/sched_switch\""));
        ck_assert_uint_ge(ftrace_world_count(&world, 238, 1, "test-ftrace-eve"), 1);
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_what_is_done_in_another_way_is_told) {
        static char *events[] = { (char *)"sched/sched_process_exit" };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        config.instance_name = (char *)"boot_mapped";
        config.has_preserve_ftrace_buffer = true;
        config.preserve_ftrace_buffer = true;
        ck_assert_int_eq(ftrace_world_setup(&world, &config), 0);
        ck_assert(notes_have(&world.notes, "linux.frozen_ftrace reads what is in \"boot_mapped\""));
        ck_assert(notes_have(&world.notes, "preserve_ftrace_buffer has no effect"));
        ftrace_world_deinit(&world);
}
END_TEST

static void write_marker(const char *text) {
        char command[256];

        snprintf(command,
                 sizeof(command),
                 "printf '%%s' '%s' >%s/trace_marker",
                 text,
                 tracefs_tracing_dir());
        ck_assert_int_eq(system(command), 0);
}

static bool kernel_copies_markers(void) {
        char path[256];

        snprintf(path, sizeof(path), "%s/options/copy_trace_marker", tracefs_tracing_dir());
        return access(path, F_OK) == 0;
}

START_TEST(test_what_a_shell_writes_to_trace_marker_is_a_print_event) {
        static char *events[] = { (char *)"ftrace/print" };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        if (!kernel_copies_markers())
                return; /* only what is written to the instance's own is there */
        ftrace_world_start(&world, &config);
        write_marker("B|42|of a shell");
        write_marker("E|42");
        ftrace_world_stop(&world);
        ck_assert_uint_eq(ftrace_world_count(&world, 3, 2, "B|42|of a shell\n"), 1);
        ck_assert_uint_eq(ftrace_world_count(&world, 3, 2, "E|42\n"), 1);
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_texts_that_the_print_filter_denies_are_left_out) {
        static char *events[] = { (char *)"ftrace/print" };
        Perfetto__Protos__FtraceConfig__PrintFilter filter =
                PERFETTO__PROTOS__FTRACE_CONFIG__PRINT_FILTER__INIT;
        Perfetto__Protos__FtraceConfig__PrintFilter__Rule rule =
                PERFETTO__PROTOS__FTRACE_CONFIG__PRINT_FILTER__RULE__INIT;
        Perfetto__Protos__FtraceConfig__PrintFilter__Rule *rules[] = { &rule };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        if (!kernel_copies_markers())
                return;
        rule.prefix = (char *)"noise";
        filter.rules = rules;
        filter.n_rules = 1;
        config.print_filter = &filter;
        ftrace_world_start(&world, &config);
        write_marker("noise");
        write_marker("I|42|signal");
        ftrace_world_stop(&world);
        ck_assert_uint_eq(ftrace_world_count(&world, 3, 2, "noise\n"), 0);
        ck_assert_uint_eq(ftrace_world_count(&world, 3, 2, "I|42|signal\n"), 1);
        ftrace_world_deinit(&world);
}
END_TEST

typedef Perfetto__Protos__FtraceConfig__EventFilter EventFilter;

START_TEST(test_the_kernel_filters_an_event_by_its_expression) {
        static char *events[] = { (char *)"sched/sched_process_exit" };
        EventFilter filter = PERFETTO__PROTOS__FTRACE_CONFIG__EVENT_FILTER__INIT;
        EventFilter *filters[] = { &filter };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        filter.event = events[0];
        filter.filter = (char *)"comm == \"of-nobody\"";
        config.event_filters = filters;
        config.n_event_filters = 1;
        ftrace_world_start(&world, &config);
        run_load();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(ftrace_world_count(&world, 238, 1, "test-ftrace-eve"), 0);
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_a_wrong_filter_is_refused_in_the_kernels_own_words) {
        static char *events[] = { (char *)"sched/sched_process_exit" };
        EventFilter filter = PERFETTO__PROTOS__FTRACE_CONFIG__EVENT_FILTER__INIT;
        EventFilter *filters[] = { &filter };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        filter.event = events[0];
        filter.filter = (char *)"pid > 1 && commm == \"x\"";
        config.event_filters = filters;
        config.n_event_filters = 1;
        ck_assert_int_eq(ftrace_world_setup(&world, &config), PROBE_E_REFUSED);
        ck_assert_msg(strstr(world.error, "Field not found, at ") != NULL, "%s", world.error);
        ck_assert_ptr_nonnull(strstr(world.error, filter.filter));
        ftrace_world_deinit(&world);
}
END_TEST

/* With the option event-fork a child is traced from its first moment on. */
START_TEST(test_only_the_threads_that_were_asked_for_are_recorded) {
        static char *events[] = { (char *)"sched/sched_process_exit" };
        uint32_t tids[] = { (uint32_t)getpid() };
        Perfetto__Protos__FtraceConfig__TracefsOption option =
                PERFETTO__PROTOS__FTRACE_CONFIG__TRACEFS_OPTION__INIT;
        Perfetto__Protos__FtraceConfig__TracefsOption *options[] = { &option };
        FtraceConfig config = config_of(events, 1);
        FtraceWorld world;

        config.tids_to_trace = tids;
        config.n_tids_to_trace = 1;
        ftrace_world_start(&world, &config);
        run_load();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(ftrace_world_count(&world, 238, 1, "test-ftrace-eve"), 0);
        ftrace_world_deinit(&world);

        option.name = (char *)"event-fork";
        option.state = PERFETTO__PROTOS__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED;
        config.tracefs_options = options;
        config.n_tracefs_options = 1;
        ftrace_world_start(&world, &config);
        run_load();
        ftrace_world_stop(&world);
        ck_assert_uint_eq(ftrace_world_count(&world, 238, 1, "test-ftrace-eve"), 1);
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_a_function_graph_that_the_kernel_lacks_is_refused_with_the_reason) {
        FtraceConfig config = config_of(NULL, 0);
        FtraceWorld world;

        config.has_enable_function_graph = true;
        config.enable_function_graph = true;
        if (ftrace_world_setup(&world, &config) != 0)
                ck_assert_msg(
                        strstr(world.error, "enable_function_graph") != NULL, "%s", world.error);
        ftrace_world_deinit(&world);
}
END_TEST

START_TEST(test_recordings_share_the_kernels_symbols_once_they_are_read) {
        KernelSymbols *first, *second;
        int r = kernel_symbols_load(&first);

        if (r == -ENODATA)
                return; /* the kernel hides them from us */
        ck_assert_int_eq(r, 0);
        ck_assert_uint_eq(kernel_symbols_use(first, 1), 1); /* no function's; but it has waited */
        ck_assert_uint_gt(kernel_symbols_count(first), 0);
        ck_assert_int_eq(kernel_symbols_load(&second), 0);
        ck_assert_ptr_eq(first->table, second->table);
        kernel_symbols_free(first);
        ck_assert_uint_gt(kernel_symbols_count(second), 0);
        kernel_symbols_free(second);

        /* One that is gone before it was read. */
        ck_assert_int_eq(kernel_symbols_load(&first), 0);
        kernel_symbols_free(first);
}
END_TEST

/* As one that the kernel's command line makes, but for outliving a boot. */
static void make_instance(const char *name) {
        char command[512];

        snprintf(command,
                 sizeof(command),
                 "cd %s/instances && mkdir %s && cd %s && echo boot >trace_clock && "
                 "echo 1 >events/sched/sched_process_exit/enable && sh -c : && echo 0 >tracing_on",
                 tracefs_tracing_dir(),
                 name,
                 name);
        ck_assert_int_eq(system(command), 0);
}

static int setup_frozen(FtraceWorld *world, const char *name) {
        Perfetto__Protos__FrozenFtraceConfig frozen = PERFETTO__PROTOS__FROZEN_FTRACE_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .notes = &world->notes };

        *world = (FtraceWorld){ .list = PACKET_LIST_INIT };
        config.frozen_ftrace_config = &frozen;
        frozen.instance_name = (char *)name;
        setup.sink = &world->list.sink;
        return frozen_probe_ops.setup(&world->probe, &setup, &world->error);
}

static void frozen_deinit(FtraceWorld *world) {
        frozen_probe_ops.free(world->probe);
        probe_notes_deinit(&world->notes);
        free(world->error);
        packet_list_deinit(&world->list);
}

START_TEST(test_a_ring_that_stands_still_is_read_once_and_stays) {
        char name[64], path[256];
        FtraceWorld world;
        WireReader stats;
        size_t n;

        snprintf(name, sizeof(name), "test-frozen-%d", getpid());
        snprintf(path, sizeof(path), "%s/instances/%s", tracefs_tracing_dir(), name);
        make_instance(name);
        n = 0;
        if (setup_frozen(&world, name) == 0) {
                ck_assert_uint_eq(frozen_probe_ops.poll(world.probe, probe_now_ns()), PROBE_NEVER);
                n = ftrace_world_count(&world, 238, 1, "sh");
                ck_assert_uint_eq(frozen_probe_ops.poll(world.probe, probe_now_ns()), PROBE_NEVER);
                ck_assert_uint_eq(ftrace_world_count(&world, 238, 1, "sh"), n);
        }
        world.probe = frozen_probe_ops.free(world.probe);
        ck_assert_int_eq(rmdir(path), 0); /* it was still there, and nobody has it open now */
        ck_assert_msg(!world.error, "%s", world.error);
        ck_assert_uint_ge(n, 1);
        ck_assert(packet_list_payload(&world.list, 0, PACKET_FTRACE_STATS, &stats));
        ck_assert_uint_eq(message_uint(stats, 1), 1);
        ck_assert_uint_eq(message_uint(stats, 8), 1); /* preserved: readers keep what is older */
        ck_assert(packet_list_find(&world.list, PACKET_FTRACE_STATS, 1, &stats));
        ck_assert_uint_eq(message_uint(stats, 1), 2);
        frozen_deinit(&world);
}
END_TEST

START_TEST(test_a_ring_that_records_again_is_not_read) {
        char name[64], path[256], command[320];
        FtraceWorld world;

        snprintf(name, sizeof(name), "test-again-%d", getpid());
        snprintf(path, sizeof(path), "%s/instances/%s", tracefs_tracing_dir(), name);
        make_instance(name);
        if (setup_frozen(&world, name) == 0) {
                snprintf(command, sizeof(command), "echo 1 >%s/tracing_on", path);
                ck_assert_int_eq(system(command), 0);
                ck_assert_uint_eq(frozen_probe_ops.poll(world.probe, probe_now_ns()), PROBE_NEVER);
        }
        world.probe = frozen_probe_ops.free(world.probe);
        ck_assert_int_eq(rmdir(path), 0);
        ck_assert_msg(!world.error, "%s", world.error);
        ck_assert_uint_eq(ftrace_world_count(&world, 238, 1, "sh"), 0);
        frozen_deinit(&world);
}
END_TEST

START_TEST(test_only_an_instance_that_is_there_and_stands_still_is_frozen) {
        static const struct {
                const char *name, *error;
        } cases[] = {
                { "", "needs an instance_name" },
                { "../instances/x", "no name of a tracefs instance" },
                { ".", "no name of a tracefs instance" },
                { "desktrace-1-1", "is another recording's" },
                { "no-such-instance", "there is no tracefs instance \"no-such-instance\"" },
        };
        char path[256], name[64];
        FtraceWorld world;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ck_assert_int_eq(setup_frozen(&world, cases[i].name), PROBE_E_REFUSED);
                ck_assert_msg(strstr(world.error, cases[i].error) != NULL, "%s", world.error);
                frozen_deinit(&world);
        }
        snprintf(name, sizeof(name), "test-running-%d", getpid());
        snprintf(path, sizeof(path), "%s/instances/%s", tracefs_tracing_dir(), name);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        ck_assert_int_eq(setup_frozen(&world, name), PROBE_E_REFUSED);
        ck_assert_int_eq(rmdir(path), 0);
        ck_assert_msg(strstr(world.error, "records at this moment") != NULL, "%s", world.error);
        frozen_deinit(&world);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_every_event_of_this_kernel_can_be_recorded_and_read,
                test_the_others_are_recorded_beside_an_unknown_event,
                test_what_is_done_in_another_way_is_told,
                test_what_a_shell_writes_to_trace_marker_is_a_print_event,
                test_texts_that_the_print_filter_denies_are_left_out,
                test_the_kernel_filters_an_event_by_its_expression,
                test_a_wrong_filter_is_refused_in_the_kernels_own_words,
                test_only_the_threads_that_were_asked_for_are_recorded,
                test_a_function_graph_that_the_kernel_lacks_is_refused_with_the_reason,
                test_recordings_share_the_kernels_symbols_once_they_are_read,
                test_a_ring_that_stands_still_is_read_once_and_stays,
                test_a_ring_that_records_again_is_not_read,
                test_only_an_instance_that_is_there_and_stands_still_is_frozen,
        };

        log_init("test-ftrace-events-live");
        if (kernel_why_not()) {
                printf("1..0 # SKIP %s\n", kernel_why_not());
                return EXIT_SUCCESS;
        }
        return test_run("ftrace-events-live", tests, ARRAY_SIZE(tests));
}
