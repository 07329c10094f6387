/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "host/probe.h"
#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/event-table.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/syscall-names.h"

static int select_one(EventSelection *ret, const char *pattern, char **ret_error) {
        char *available = fixture_read("tracefs/available_events", NULL);
        char *patterns[] = { (char *)pattern };
        int r;

        *ret = (EventSelection){};
        *ret_error = NULL;
        r = event_select(ret, available, patterns, 1, true, ret_error);
        free(available);
        return r;
}

START_TEST(test_events_are_found_by_full_name_bare_name_and_group) {
        static const struct {
                const char *pattern, *first;
                size_t n_min, n_max;
        } cases[] = {
                { "sched/sched_switch", "sched/sched_switch", 1, 1 },
                { "sched_waking", "sched/sched_waking", 1, 1 },
                { "task/*", "task/task_prctl_unknown", 2, 10 },
                { "ftrace/print", "ftrace/print", 1, 1 },
                { "print", "ftrace/print", 1, 1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                EventSelection selection;
                char *error;

                ck_assert_msg(select_one(&selection, cases[i].pattern, &error) == 0, "case %zu", i);
                ck_assert_uint_ge(selection.n_events, cases[i].n_min);
                ck_assert_uint_le(selection.n_events, cases[i].n_max);
                if (cases[i].n_max == 1)
                        ck_assert_str_eq(selection.events[0].text, cases[i].first);
                event_selection_deinit(&selection);
        }
}
END_TEST

/* To look for them takes as long as all names are, for each of them, and other recordings wait meanwhile. */
START_TEST(test_near_names_are_told_for_the_first_unknown_events) {
        char *available = fixture_read("tracefs/available_events", NULL);
        char *patterns[EVENT_NEAREST_MAX + 1];
        EventSelection selection = {};
        char *error = NULL;

        for (size_t i = 0; i <= EVENT_NEAREST_MAX; i++)
                patterns[i] = (char *)"sched/sched_swich";
        ck_assert_int_eq(
                event_select(&selection, available, patterns, EVENT_NEAREST_MAX + 1, true, &error),
                0);
        ck_assert_uint_eq(selection.n_unknown, EVENT_NEAREST_MAX + 1);
        for (size_t i = 0; i <= EVENT_NEAREST_MAX; i++)
                ck_assert_int_eq(strstr(selection.unknown[i].why, "did you mean") != NULL,
                                 i < EVENT_NEAREST_MAX);
        event_selection_deinit(&selection);
        free(available);
}
END_TEST

START_TEST(test_what_other_recordings_define_is_no_event_of_the_kernel) {
        char *patterns[] = { (char *)"*/*", (char *)"desktrace_0/*", (char *)"open" };
        EventSelection selection;
        char *error = NULL;

        ck_assert_int_eq(event_select(&selection,
                                      "sched:sched_switch\ndesktrace_0:open\n",
                                      patterns,
                                      ARRAY_SIZE(patterns),
                                      true,
                                      &error),
                         0);
        ck_assert_uint_eq(selection.n_unknown, 2);
        for (size_t i = 0; i < selection.n_events; i++)
                ck_assert_str_ne(selection.events[i].text, "desktrace_0/open");
        event_selection_deinit(&selection);
}
END_TEST

START_TEST(test_whole_groups_are_known_to_be_whole) {
        static const struct {
                const char *pattern;
                size_t n_whole[5]; /* of the events found */
        } cases[] = {
                { "a/*", { 2, 0 } },
                { "a/x", { 0 } },
                { "b/*", { 1 } },
                { "*/*",
                  { 3, 0, 0, 2, 0 } }, /* of ftrace/ those that no list has; then a/ and b/ */
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *patterns[] = { (char *)cases[i].pattern }, *error = NULL;
                EventSelection selection;

                ck_assert_int_eq(
                        event_select(&selection, "a:x\na:y\nb:x\n", patterns, 1, true, &error), 0);
                for (size_t k = 0; k < MIN(selection.n_events, (size_t)5); k++)
                        ck_assert_uint_eq(selection.events[k].n_whole, cases[i].n_whole[k]);
                event_selection_deinit(&selection);
        }
}
END_TEST

START_TEST(test_a_mistyped_event_is_unknown_and_the_nearest_named) {
        static const struct {
                const char *pattern, *nearest;
        } cases[] = {
                { "sched/sched_swich", "\"sched/sched_switch\"" },
                { "sched_wakng", "\"sched_waking\"" },
                { "shced/*", "\"sched/*\"" },
                { "zzzzzzzzzzzz", "available_events" },
                { "nogroupatall/*", "no events" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                EventSelection selection;
                char *error;

                ck_assert_int_eq(select_one(&selection, cases[i].pattern, &error), 0);
                ck_assert_uint_eq(selection.n_events, 0);
                ck_assert_uint_eq(selection.n_unknown, 1);
                ck_assert_str_eq(selection.unknown[0].name, cases[i].pattern);
                ck_assert_msg(strstr(selection.unknown[0].why, cases[i].pattern) &&
                                      strstr(selection.unknown[0].why, cases[i].nearest),
                              "case %zu: %s",
                              i,
                              selection.unknown[0].why);
                ck_assert_int_eq(event_selection_refuse(&selection, &error), PROBE_E_REFUSED);
                ck_assert_ptr_nonnull(strstr(error, cases[i].nearest));
                free(error);
                event_selection_deinit(&selection);
        }
}
END_TEST

START_TEST(test_the_others_are_selected_beside_an_unknown_event) {
        static char *patterns[] = { (char *)"sched/sched_swich", (char *)"sched_waking" };
        char *available = fixture_read("tracefs/available_events", NULL);
        EventSelection selection = {};
        char *error = NULL;

        ck_assert_int_eq(event_select(&selection, available, patterns, 2, true, &error), 0);
        ck_assert_uint_eq(selection.n_events, 1);
        ck_assert_str_eq(selection.events[0].text, "sched/sched_waking");
        ck_assert_uint_eq(selection.n_unknown, 1);
        event_selection_deinit(&selection);
        free(available);
}
END_TEST

START_TEST(test_an_event_that_only_this_kernel_lacks_is_no_typing_mistake) {
        EventSelection selection;
        char *error;

        ck_assert_int_eq(select_one(&selection, "sched/sched_blocked_reason", &error), 0);
        ck_assert_uint_eq(selection.n_events, 0);
        ck_assert_uint_eq(selection.n_unknown, 1);
        ck_assert_str_eq(selection.unknown[0].name, "sched/sched_blocked_reason");
        ck_assert_ptr_null(strstr(selection.unknown[0].why, "did you mean"));
        event_selection_deinit(&selection);
}
END_TEST

START_TEST(test_generic_events_can_be_left_out) {
        static char *patterns[] = { (char *)"csd/*", (char *)"csd_queue_cpu", (char *)"irq/*" };
        char *available = fixture_read("tracefs/available_events", NULL);
        EventSelection selection = {};
        char *error = NULL;

        ck_assert_int_eq(event_select(&selection, available, patterns, 3, false, &error), 0);
        ck_assert_uint_gt(selection.n_events, 0);
        ck_assert_uint_eq(selection.n_unknown, 0);
        for (size_t i = 0; i < selection.n_events; i++)
                ck_assert_int_eq(strncmp(selection.events[i].text, "irq/", 4), 0);
        event_selection_deinit(&selection);
        free(available);
}
END_TEST

START_TEST(test_too_many_names_are_refused_with_the_limit) {
        static char *patterns[EVENT_PATTERNS_MAX + 1];
        EventSelection selection = {};
        char *error = NULL;

        ck_assert_int_eq(event_select(&selection, "", patterns, ARRAY_SIZE(patterns), true, &error),
                         PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "1024"));
        free(error);
}
END_TEST

START_TEST(test_the_event_table_has_each_event_once_and_in_order) {
        for (size_t i = 1; i < n_event_specs; i++) {
                int group = strcmp(event_specs[i - 1].group, event_specs[i].group);

                ck_assert_int_le(group, 0);
                ck_assert(group < 0 || strcmp(event_specs[i - 1].name, event_specs[i].name) < 0);
                for (size_t k = 0; k < i; k++)
                        ck_assert_msg(event_specs[k].number != event_specs[i].number,
                                      "%s and %s",
                                      event_specs[k].name,
                                      event_specs[i].name);
        }
}
END_TEST

START_TEST(test_fields_of_the_table_are_numbered_by_place) {
        const EventSpec *spec = event_spec_find("workqueue", "workqueue_queue_work");
        const char *suffix;

        ck_assert_ptr_nonnull(spec);
        ck_assert_uint_eq(event_spec_field(spec, "work", &suffix), 1);
        ck_assert_uint_eq(event_spec_field(spec, "req_cpu", &suffix), 4);
        ck_assert_str_eq(suffix, "");
        ck_assert_uint_eq(event_spec_field(spec, "workqueue", &suffix), 6);
        ck_assert_str_eq(suffix, "$");
        ck_assert_uint_eq(event_spec_field(spec, "-", &suffix), 3);
        ck_assert_uint_eq(event_spec_field(spec, "wor", &suffix), 0);
        ck_assert_uint_eq(
                event_spec_field(event_spec_find("raw_syscalls", "sys_enter"), "args", &suffix), 2);
        ck_assert_str_eq(suffix, "[]");
        ck_assert_ptr_null(event_spec_find("sched", "sched_swich"));
}
END_TEST

START_TEST(test_system_calls_become_a_filter_and_unknown_ones_are_refused) {
        static char *good[] = { (char *)"sys_openat", (char *)"read" };
        static char *bad[] = { (char *)"sys_opennat" };
        /* What it is called where words are 32 bits wide, or in the kernel. */
        static char *elsewhere[] = { (char *)"mmap2",
                                     (char *)"getuid32",
                                     (char *)"futex_time64",
                                     (char *)"_llseek",
                                     (char *)"pread",
                                     (char *)"syscalls/sys_enter_read",
                                     (char *)"__x64_sys_read",
                                     (char *)"exit_group",
                                     (char *)"syscalls/sys_exit_exit_group" };
        char *filter, *error = NULL;

        ck_assert_int_eq(syscall_filter_new(&filter, good, 2, &error), 0);
        ck_assert_ptr_nonnull(strstr(filter, " || id == "));
        ck_assert_int_eq(strncmp(filter, "id == ", 6), 0);
        free(filter);
        for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
                ck_assert_msg(syscall_filter_new(&filter, &elsewhere[i], 1, &error) == 0,
                              "%s",
                              elsewhere[i]);
                free(filter);
        }
        ck_assert_int_eq(syscall_filter_new(&filter, bad, 1, &error), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "\"openat\""));
        free(error);
}
END_TEST

START_TEST(test_settings_have_defaults_and_limits) {
        FtraceConfig config = PERFETTO__PROTOS__FTRACE_CONFIG__INIT;
        Perfetto__Protos__FtraceConfig__CompactSchedConfig compact =
                PERFETTO__PROTOS__FTRACE_CONFIG__COMPACT_SCHED_CONFIG__INIT;
        const uint64_t gib = UINT64_C(1) << 30;
        FtraceSettings settings;
        char *error = NULL;

        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 4 * gib, 4, &error), 0);
        ck_assert_uint_eq(settings.buffer_kb, 2048);
        ck_assert_uint_eq(settings.drain_period_ns, 100 * PROBE_NS_PER_MS);
        ck_assert(settings.compact_sched);
        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 16 * gib, 4, &error), 0);
        ck_assert_uint_eq(settings.buffer_kb, 8192);

        config.compact_sched = &compact;
        config.drain_period_ms = 60001;
        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 16 * gib, 4, &error), 0);
        ck_assert(settings.compact_sched); /* said, but without a value */
        ck_assert_uint_eq(settings.drain_period_ns, 100 * PROBE_NS_PER_MS);
        compact.has_enabled = true;
        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 16 * gib, 4, &error), 0);
        ck_assert(!settings.compact_sched);

        config.buffer_size_kb = 1024 * 1024;
        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 16 * gib, 4, &error), 0);
        config.buffer_size_kb++;
        ck_assert_int_eq(ftrace_settings_init(&settings, &config, 16 * gib, 4, &error),
                         PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "a quarter of the memory"));
        free(error);
}
END_TEST

START_TEST(test_counters_of_a_ring_are_read_in_full) {
        char *text = fixture_read("tracefs/cpu0-stats", NULL);
        uint8_t memory[256];
        WireReader message, stats;
        WireWriter wire;
        CpuStats parsed;

        cpu_stats_parse(&parsed, 5, text);
        free(text);
        ck_assert_uint_eq(parsed.entries, 17);
        ck_assert_uint_eq(parsed.overrun, 5123456789u);
        ck_assert_uint_eq(parsed.commit_overrun, 3);
        ck_assert_uint_eq(parsed.n_bytes, 1204);
        ck_assert_uint_eq(parsed.oldest_event_us, 3017117503u);
        ck_assert_uint_eq(parsed.now_us, 3020000042u);
        ck_assert_uint_eq(parsed.dropped_events, 2);
        ck_assert_uint_eq(parsed.read_events, 4294967299u);

        wire_writer_init(&wire, memory, sizeof(memory));
        cpu_stats_encode(&parsed, &wire);
        wire_reader_init(&message, memory, wire_writer_size(&wire));
        ck_assert(message_submessage(message, 2, 0, &stats));
        ck_assert_uint_eq(message_uint(stats, 1), 5);
        ck_assert_uint_eq(message_uint(stats, 3), 5123456789u);
        ck_assert_uint_eq(message_uint(stats, 9), 4294967299u);
}
END_TEST

TEST_MAIN("event-select",
          test_events_are_found_by_full_name_bare_name_and_group,
          test_near_names_are_told_for_the_first_unknown_events,
          test_what_other_recordings_define_is_no_event_of_the_kernel,
          test_whole_groups_are_known_to_be_whole,
          test_a_mistyped_event_is_unknown_and_the_nearest_named,
          test_the_others_are_selected_beside_an_unknown_event,
          test_an_event_that_only_this_kernel_lacks_is_no_typing_mistake,
          test_generic_events_can_be_left_out,
          test_too_many_names_are_refused_with_the_limit,
          test_the_event_table_has_each_event_once_and_in_order,
          test_fields_of_the_table_are_numbered_by_place,
          test_system_calls_become_a_filter_and_unknown_ones_are_refused,
          test_settings_have_defaults_and_limits,
          test_counters_of_a_ring_are_read_in_full)
