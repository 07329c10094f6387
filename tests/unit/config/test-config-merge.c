/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Two configs as one. */

#include "config/config-merge.h"
#include "test.h"

static Config *parse(const char *text) {
        ConfigError error;
        Config *config;
        int r = config_new_from_text(&config, text, &error);

        ck_assert_msg(r == 0, "%s: %u:%u: %s", text, error.line, error.column, error.message);
        return config;
}

static void assert_merged(const char *a, const char *b, const char *wanted) {
        _cleanup_(config_freep) Config *config = parse(a);
        _cleanup_(config_freep) Config *other = parse(b);
        _cleanup_(config_freep) Config *expected = parse(wanted);
        _cleanup_(freep) char *text = NULL, *expected_text = NULL;

        ck_assert_int_eq(config_merge(&config, other), 0);
        ck_assert_int_eq(config_to_text(&text, config), 0);
        ck_assert_int_eq(config_to_text(&expected_text, expected), 0);
        ck_assert_str_eq(text, expected_text);
}

#define SOURCE(text) "data_sources { config { " text " } } "

START_TEST(test_buffers_of_one_name_have_room_for_both) {
        assert_merged("buffers { name: 'a' size_kb: 64 }",
                      "buffers { name: 'b' size_kb: 8 } buffers { name: 'a' size_kb: 32 }",
                      "buffers { name: 'a' size_kb: 96 } buffers { name: 'b' size_kb: 8 }");
}
END_TEST

START_TEST(test_sources_find_their_buffers) {
        assert_merged(
                "buffers { name: 'a' size_kb: 64 } " SOURCE("name: 'x'"),
                "buffers { size_kb: 8 } buffers { name: 'a' size_kb: 1 } " SOURCE("name: 'y'")
                        SOURCE("name: 'z' target_buffer: 1"),
                "buffers { name: 'a' size_kb: 65 } buffers { size_kb: 8 } " SOURCE("name: 'x'")
                        SOURCE("name: 'y' target_buffer: 1") SOURCE("name: 'z' target_buffer: 0"));
}
END_TEST

START_TEST(test_a_buffer_may_be_said_by_its_name) {
        assert_merged("buffers { name: 'a' } " SOURCE("name: 'x'"),
                      "buffers { name: 'b' } buffers { name: 'c' } " SOURCE(
                              "name: 'y' target_buffer_name: 'c'")
                              SOURCE("name: 'z' target_buffer: 1 target_buffer_name: 'c'"),
                      "buffers { name: 'a' } buffers { name: 'b' } buffers { name: 'c' } " SOURCE(
                              "name: 'x'") SOURCE("name: 'y' target_buffer_name: 'c'")
                              SOURCE("name: 'z' target_buffer: 2 target_buffer_name: 'c'"));
        assert_merged("buffers { name: 'a' } " SOURCE("name: 'x' target_buffer: 0"),
                      "buffers { name: 'b' } " SOURCE("name: 'x' target_buffer_name: 'b'"),
                      "buffers { name: 'a' } buffers { name: 'b' } " SOURCE(
                              "name: 'x' target_buffer: 0"));
}
END_TEST

START_TEST(test_sources_of_one_name_record_what_either_does) {
        assert_merged(SOURCE("name: 'linux.ftrace' ftrace_config { ftrace_events: 'a/b' "
                             "ftrace_events: 'a/c' drain_period_ms: 500 }"),
                      SOURCE("name: 'linux.ftrace' ftrace_config { ftrace_events: 'a/c' "
                             "ftrace_events: 'd/e' drain_period_ms: 100 buffer_size_kb: 8 }"),
                      SOURCE("name: 'linux.ftrace' ftrace_config { ftrace_events: 'a/b' "
                             "ftrace_events: 'a/c' ftrace_events: 'd/e' drain_period_ms: 100 "
                             "buffer_size_kb: 8 }"));
}
END_TEST

START_TEST(test_of_fields_that_exclude_each_other_the_first_stays) {
        assert_merged(SOURCE("name: 'p' perf_event_config { timebase { frequency: 997 } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { period: 5 } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { frequency: 997 } }"));
        assert_merged(SOURCE("name: 'p' perf_event_config { timebase { name: 'n' } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { period: 5 } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { name: 'n' period: 5 } }"));
}
END_TEST

START_TEST(test_call_stacks_at_other_events_stay_apart) {
        assert_merged(SOURCE("name: 'p' perf_event_config { timebase { frequency: 997 } }"),
                      SOURCE("name: 'p' perf_event_config { off_cpu { min_us: 50 } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { frequency: 997 } }")
                              SOURCE("name: 'p' perf_event_config { off_cpu { min_us: 50 } }"));
        assert_merged(SOURCE("name: 'p' perf_event_config { timebase { period: 1 counter: "
                             "SW_PAGE_FAULTS } }"),
                      SOURCE("name: 'p' perf_event_config { timebase { period: 1 counter: "
                             "SW_PAGE_FAULTS } ring_buffer_pages: 64 }"),
                      SOURCE("name: 'p' perf_event_config { timebase { period: 1 counter: "
                             "SW_PAGE_FAULTS } ring_buffer_pages: 64 }"));
}
END_TEST

START_TEST(test_a_list_that_one_leaves_out_restricts_nothing) {
        assert_merged(SOURCE("name: 's' sys_stats_config { meminfo_period_ms: 500 "
                             "meminfo_counters: MEMINFO_DIRTY stat_period_ms: 100 "
                             "stat_counters: STAT_CPU_TIMES }"),
                      SOURCE("name: 's' sys_stats_config { meminfo_period_ms: 250 }"),
                      SOURCE("name: 's' sys_stats_config { meminfo_period_ms: 250 "
                             "stat_period_ms: 100 stat_counters: STAT_CPU_TIMES }"));
        assert_merged(SOURCE("name: 't' track_event_config { enabled_categories: 'a' "
                             "disabled_categories: '*' }"),
                      SOURCE("name: 't'"),
                      SOURCE("name: 't'"));
        assert_merged(SOURCE("name: 't' track_event_config { enabled_categories: 'a' "
                             "disabled_categories: '*' disabled_categories: 'x' }"),
                      SOURCE("name: 't' track_event_config { enabled_categories: 'b' "
                             "disabled_categories: '*' }"),
                      SOURCE("name: 't' track_event_config { disabled_categories: '*' "
                             "enabled_categories: 'a' enabled_categories: 'b' }"));
}
END_TEST

START_TEST(test_sources_for_chosen_producers_stay_apart) {
        assert_merged("data_sources { config { name: 'x' } producer_name_filter: 'p' }",
                      SOURCE("name: 'x'"),
                      "data_sources { config { name: 'x' } producer_name_filter: 'p' } " SOURCE(
                              "name: 'x'"));
}
END_TEST

START_TEST(test_the_rest_is_what_either_wants) {
        assert_merged("flush_period_ms: 5000 duration_ms: 100",
                      "flush_period_ms: 1000 duration_ms: 200 write_into_file: true "
                      "incremental_state_config { clear_period_ms: 5000 }",
                      "flush_period_ms: 1000 duration_ms: 200 write_into_file: true "
                      "incremental_state_config { clear_period_ms: 5000 }");
}
END_TEST

TEST_MAIN("config-merge",
          test_buffers_of_one_name_have_room_for_both,
          test_sources_find_their_buffers,
          test_a_buffer_may_be_said_by_its_name,
          test_sources_of_one_name_record_what_either_does,
          test_of_fields_that_exclude_each_other_the_first_stays,
          test_call_stacks_at_other_events_stay_apart,
          test_a_list_that_one_leaves_out_restricts_nothing,
          test_sources_for_chosen_producers_stay_apart,
          test_the_rest_is_what_either_wants)
