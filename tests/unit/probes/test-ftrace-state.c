/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "probes/ftrace/frozen-probe.h"
#include "probes/ftrace/ftrace-state.h"
#include "probes/ftrace/print-filter.h"
#include "tree.h"

typedef Perfetto__Protos__FtraceConfig__EventFilter EventFilter;
typedef Perfetto__Protos__FtraceConfig__TracefsOption TracefsOption;
typedef Perfetto__Protos__FtraceConfig__PrintFilter PrintFilterConfig;
typedef Perfetto__Protos__FtraceConfig__PrintFilter__Rule Rule;
typedef Perfetto__Protos__FtraceConfig__PrintFilter__Rule__AtraceMessage AtraceMessage;

/* A config of two events, one of which this kernel lacks. */
typedef struct World {
        FtraceConfig config;
        EventSelection selection;
        ProbeNotes notes;
        InstanceState state;
        char *error;
} World;

static void world_init(World *world) {
        static char *names[] = { (char *)"sched/sched_switch",
                                 (char *)"raw_syscalls/*",
                                 (char *)"sched/sched_blocked_reason" };

        *world = (World){ .config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT };
        ck_assert_int_eq(event_select(&world->selection,
                                      "sched:sched_switch\nraw_syscalls:sys_enter\n"
                                      "raw_syscalls:sys_exit\n",
                                      names,
                                      ARRAY_SIZE(names),
                                      true,
                                      NULL),
                         0);
}

static void world_deinit(World *world) {
        instance_state_deinit(&world->state);
        event_selection_deinit(&world->selection);
        probe_notes_deinit(&world->notes);
        free(world->error);
}

static int world_make(World *world) {
        instance_state_deinit(&world->state);
        free(world->error);
        world->error = NULL;
        return ftrace_state_init(
                &world->state, &world->config, &world->selection, &world->notes, &world->error);
}

static void world_expect(World *world, const char *file, const char *value) {
        InstanceWrite *write;

        ck_assert_msg(world_make(world) == 0, "%s", world->error);
        write = instance_state_find(&world->state, file);
        ck_assert_ptr_nonnull(write);
        ck_assert_str_eq(write->value, value);
}

static void world_refuses(World *world, const char *text) {
        ck_assert_int_eq(world_make(world), PROBE_E_REFUSED);
        ck_assert_msg(strstr(world->error, text) != NULL, "%s", world->error);
}

static void world_filter(World *world, const char *event, const char *expression) {
        static EventFilter filter;
        static EventFilter *filters[] = { &filter };

        perfetto__protos__ftrace_config__event_filter__init(&filter);
        filter.event = (char *)event;
        filter.filter = (char *)expression;
        world->config.event_filters = filters;
        world->config.n_event_filters = 1;
}

START_TEST(test_a_filter_is_for_an_event_that_is_recorded) {
        World world;

        world_init(&world);
        world_filter(&world, "sched/sched_switch", "next_prio < 100");
        world_expect(&world, "events/sched/sched_switch/filter", "next_prio < 100");
        world_filter(&world, "sched_switch", "next_prio < 100");
        world_expect(&world, "events/sched/sched_switch/filter", "next_prio < 100");
        world_filter(&world, "sched_swich", "next_prio < 100");
        world_refuses(&world, "did you mean \"sched_switch\"");
        world_filter(&world, "block/block_rq_issue", "dev == 0");
        world_refuses(&world, "not among the events that are recorded");
        world_filter(&world, "sched_switch", "");
        world_refuses(&world, "each needs an event and a filter");

        /* An event that only this kernel lacks is no reason to refuse. */
        world_filter(&world, "sched/sched_blocked_reason", "io_wait == 1");
        ck_assert_int_eq(world_make(&world), 0);
        ck_assert_uint_eq(world.state.n_writes, 0);
        ck_assert_uint_eq(world.notes.n, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_system_calls_and_a_filter_of_theirs_must_both_hold) {
        static char *names[] = { (char *)"sys_read" };
        World world;

        world_init(&world);
        world.config.syscall_events = names;
        world.config.n_syscall_events = 1;
        world_filter(&world, "raw_syscalls/sys_exit", "ret < 0");
        world_expect(&world, "events/raw_syscalls/sys_enter/filter", "id == 0");
        world_expect(&world, "events/raw_syscalls/sys_exit/filter", "(id == 0) && (ret < 0)");
        ck_assert_uint_eq(world.state.n_writes, 2);
        world_deinit(&world);
}
END_TEST

START_TEST(test_the_system_calls_that_probes_themselves_make_are_left_out) {
        World world;

        world_init(&world);
        world.config.n_uprobe_events = 1;
#if !defined(__x86_64__)
        ck_assert_int_eq(world_make(&world), 0);
        ck_assert_uint_eq(world.state.n_writes, 0);
        world_deinit(&world);
        return; /* they make none there */
#endif
        world_expect(&world, "events/raw_syscalls/sys_enter/filter", "id != 335 && id != 336");
        world.selection.n_events = 1; /* sched_switch only: nothing to leave out */
        ck_assert_int_eq(world_make(&world), 0);
        ck_assert_uint_eq(world.state.n_writes, 0);
        world.selection.n_events = 3;
        world_deinit(&world);
}
END_TEST

START_TEST(test_filters_are_as_long_as_the_kernel_allows) {
        char expression[FILTER_BYTES_MAX + 2];
        World world;

        world_init(&world);
        memset(expression, '1', sizeof(expression));
        expression[FILTER_BYTES_MAX] = '\0';
        world_filter(&world, "sched_switch", expression);
        ck_assert_int_eq(world_make(&world), 0);
        expression[FILTER_BYTES_MAX] = '1';
        expression[FILTER_BYTES_MAX + 1] = '\0';
        world_refuses(&world, "too long");
        world_deinit(&world);
}
END_TEST

START_TEST(test_threads_and_cpus_are_the_instances_own) {
        static uint32_t tids[] = { 1, 4000 };
        World world;

        world_init(&world);
        world.config.tids_to_trace = tids;
        world.config.n_tids_to_trace = 2;
        world_expect(&world, "set_event_pid", "1 4000");
        world.config.tracing_cpumask = (char *)"f,ff";
        world_expect(&world, "tracing_cpumask", "f,ff");
        world.config.tracing_cpumask = (char *)"0-3";
        world_refuses(&world, "tracing_cpumask");
        world_deinit(&world);
}
END_TEST

START_TEST(test_an_option_is_a_name_and_a_state) {
        static const struct {
                const char *name;
                int state;
                const char *error;
        } cases[] = {
                { "event-fork", 1, NULL },
                { "event-fork", 2, NULL },
                { "event-fork", 0, "needs a state" },
                { "../tracing_on", 1, "no name of an option" },
                { "trace_printk_dest", 1, "not of the recording alone" },
                { "copy_trace_marker", 1, "not of the recording alone" },
                { "", 1, "no name of an option" },
        };
        TracefsOption option, *options[] = { &option };
        World world;

        world_init(&world);
        world.config.tracefs_options = options;
        world.config.n_tracefs_options = 1;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                perfetto__protos__ftrace_config__tracefs_option__init(&option);
                option.name = (char *)cases[i].name;
                option.state = (unsigned)cases[i].state;
                if (cases[i].error)
                        world_refuses(&world, cases[i].error);
                else
                        world_expect(&world, "options/event-fork", cases[i].state == 1 ? "1" : "0");
        }
        world_deinit(&world);
}
END_TEST

START_TEST(test_the_function_graph_begins_when_its_functions_are_chosen) {
        static char *filters[] = { (char *)"vfs_*", (char *)"ext4_*" };
        static char *bad[] = { (char *)"vfs_read:stacktrace" };
        World world;

        world_init(&world);
        world.config.function_filters = filters;
        world.config.n_function_filters = 2;
        ck_assert_int_eq(world_make(&world), 0);
        ck_assert_uint_eq(world.state.n_writes, 0);
        world.config.enable_function_graph = true;
        world.config.function_graph_max_depth = 3;
        world_expect(&world, "set_ftrace_filter", "vfs_*\next4_*\n");
        world_expect(&world, "max_graph_depth", "3");
        ck_assert_str_eq(world.state.writes[2].file, "current_tracer");
        world.config.function_filters = bad;
        world.config.n_function_filters = 1;
        world_refuses(&world, "no name of functions");
        world_deinit(&world);
}
END_TEST

START_TEST(test_states_are_equal_when_all_that_is_written_is) {
        World world;
        char *before, *after;

        world_init(&world);
        world_filter(&world, "sched_switch", "next_prio < 100");
        ck_assert_int_eq(world_make(&world), 0);
        before = instance_state_key(&world.state);
        ck_assert_int_eq(world_make(&world), 0);
        after = instance_state_key(&world.state);
        ck_assert_str_eq(before, after);
        free(after);
        world_filter(&world, "sched_switch", "next_prio < 101");
        ck_assert_int_eq(world_make(&world), 0);
        after = instance_state_key(&world.state);
        ck_assert_str_ne(before, after);
        free(before);
        free(after);
        world_deinit(&world);
}
END_TEST

/* The key decides who shares a ring, and whose filter is used. */
START_TEST(test_no_value_makes_a_state_look_like_another) {
        InstanceState one = {}, two = {};
        char *key_of_one, *key_of_two;

        ck_assert_int_eq(instance_state_add(&one, "w", "a", "1\nb=2"), 0);
        ck_assert_int_eq(instance_state_add(&two, "w", "a", "1"), 0);
        ck_assert_int_eq(instance_state_add(&two, "w", "b", "2"), 0);
        key_of_one = instance_state_key(&one);
        key_of_two = instance_state_key(&two);
        ck_assert_str_ne(key_of_one, key_of_two);
        free(key_of_one);
        free(key_of_two);
        instance_state_deinit(&one);
        instance_state_deinit(&two);
}
END_TEST

START_TEST(test_what_the_kernel_says_of_a_filter_is_one_line) {
        static const struct {
                const char *text, *said;
        } cases[] = {
                { "prev_prioo < 100\n           ^\nparse_error: Field not found\n",
                  "Field not found, at 12: \"prev_prioo < 100\"" },
                { "^\nparse_error: x", "x: \"^\"" },
                { "none\n", NULL },
                { "", NULL },
                { "parse_error: alone", NULL },
                { "a\nparse_error: b", "b: \"a\"" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *said = filter_error(cases[i].text);

                if (cases[i].said)
                        ck_assert_str_eq(said, cases[i].said);
                else
                        ck_assert_ptr_null(said);
                free(said);
        }
}
END_TEST

static bool allows(const PrintFilter *filter, const char *text) {
        return print_filter_allows(filter, (const uint8_t *)text, strlen(text));
}

START_TEST(test_the_first_rule_that_fits_a_text_decides) {
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        PrintFilterConfig filters = PERFETTO__PROTOS__FTRACE_CONFIG__PRINT_FILTER__INIT;
        AtraceMessage message =
                PERFETTO__PROTOS__FTRACE_CONFIG__PRINT_FILTER__RULE__ATRACE_MESSAGE__INIT;
        Rule rules[3], *list[] = { &rules[0], &rules[1], &rules[2] };
        PrintFilter *filter;

        ck_assert_int_eq(print_filter_new(&filter, &config, NULL), 0);
        ck_assert_ptr_null(filter); /* no rules, no filter */
        for (size_t i = 0; i < 3; i++)
                perfetto__protos__ftrace_config__print_filter__rule__init(&rules[i]);
        message.type = (char *)"B";
        message.prefix = (char *)"draw";
        rules[0].atrace_msg = &message;
        rules[0].allow = true;
        rules[1].prefix = (char *)"keep:";
        rules[1].allow = true;
        config.print_filter = &filters;
        filters.rules = list;
        filters.n_rules = 3; /* the last one has nothing: it fits all, and does not allow it */
        ck_assert_int_eq(print_filter_new(&filter, &config, NULL), 0);
        ck_assert(allows(filter, "B|42|draw frame"));
        ck_assert(!allows(filter, "B|42|load"));
        ck_assert(!allows(filter, "E|42"));
        ck_assert(!allows(filter, "B|"));
        ck_assert(!allows(filter, "B"));
        ck_assert(!allows(filter, "B|x|draw"));
        ck_assert(!allows(filter, "BB|42|draw"));
        ck_assert(allows(filter, "keep: this"));
        ck_assert(!allows(filter, ""));
        print_filter_free(filter);

        filters.n_rules = 2; /* and without it, what fits none is recorded */
        rules[0].allow = false;
        ck_assert_int_eq(print_filter_new(&filter, &config, NULL), 0);
        ck_assert(!allows(filter, "B|42|draw frame"));
        ck_assert(allows(filter, "E|42"));
        print_filter_free(filter);
}
END_TEST

static char *filter_key(Rule *const *rules, size_t n) {
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        PrintFilterConfig filters = PERFETTO__PROTOS__FTRACE_CONFIG__PRINT_FILTER__INIT;
        PrintFilter *filter;
        char *key;

        config.print_filter = &filters;
        filters.rules = (Rule **)rules;
        filters.n_rules = n;
        ck_assert_int_eq(print_filter_new(&filter, &config, NULL), 0);
        key = print_filter_key(filter);
        print_filter_free(filter);
        return key;
}

START_TEST(test_no_text_makes_a_print_filter_look_like_another) {
        Rule rules[3], *list[] = { &rules[0], &rules[1], &rules[2] };
        char *key_of_one, *key_of_two;

        for (size_t i = 0; i < 3; i++)
                perfetto__protos__ftrace_config__print_filter__rule__init(&rules[i]);
        rules[0].prefix = (char *)"x\n1 0 |y";
        rules[1].prefix = (char *)"x";
        rules[2].prefix = (char *)"y";
        rules[2].allow = true;
        key_of_one = filter_key(list, 1);
        key_of_two = filter_key(list + 1, 2);
        ck_assert_str_ne(key_of_one, key_of_two);
        free(key_of_one);
        free(key_of_two);
}
END_TEST

START_TEST(test_an_instance_that_outlives_a_boot_is_known_by_what_it_says_of_it) {
        Tree tree = tree_new();
        char *error = NULL;

        tree_put(&tree, "instances/desktrace-1-1/tracing_on", "1\n");
        ck_assert_int_eq(frozen_check_at(tree.fd, &error), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "trace_instance=boot_mapped^traceoff@trace"));
        free(error);
        tree_put(&tree, "instances/boot_mapped/last_boot_info", "0 [kernel]\n");
        ck_assert_int_eq(frozen_check_at(tree.fd, NULL), 0);
        tree_free(&tree);
}
END_TEST

TEST_MAIN("ftrace-state",
          test_the_system_calls_that_probes_themselves_make_are_left_out,
          test_a_filter_is_for_an_event_that_is_recorded,
          test_system_calls_and_a_filter_of_theirs_must_both_hold,
          test_filters_are_as_long_as_the_kernel_allows,
          test_threads_and_cpus_are_the_instances_own,
          test_an_option_is_a_name_and_a_state,
          test_the_function_graph_begins_when_its_functions_are_chosen,
          test_states_are_equal_when_all_that_is_written_is,
          test_no_value_makes_a_state_look_like_another,
          test_what_the_kernel_says_of_a_filter_is_one_line,
          test_the_first_rule_that_fits_a_text_decides,
          test_no_text_makes_a_print_filter_look_like_another,
          test_an_instance_that_outlives_a_boot_is_known_by_what_it_says_of_it)
