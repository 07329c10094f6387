/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "config/config-check.h"
#include "config/config.h"
#include "test.h"

/* As Perfetto's recording page writes it. */
static const char usual_text[] =
        "buffers: {\n"
        "    size_kb: 63488\n"
        "    fill_policy: DISCARD\n"
        "}\n"
        "buffers: {\n"
        "    size_kb: 2048\n"
        "}\n"
        "data_sources: {\n"
        "    config {\n"
        "        name: \"linux.process_stats\"\n"
        "        target_buffer: 1\n"
        "        process_stats_config {\n"
        "            quirks: DISABLE_ON_DEMAND\n"
        "            scan_all_processes_on_start: true\n"
        "        }\n"
        "    }\n"
        "}\n"
        "data_sources: {\n"
        "    config {\n"
        "        name: \"linux.ftrace\"\n"
        "        ftrace_config {\n"
        "            ftrace_events: \"sched/sched_switch\"\n"
        "            ftrace_events: \"power/suspend_resume\"\n"
        "        }\n"
        "    }\n"
        "}\n"
        "data_sources: {\n"
        "    config {\n"
        "        name: \"linux.sys_stats\"\n"
        "        sys_stats_config {\n"
        "            meminfo_period_ms: 1000\n"
        "            meminfo_counters: [MEMINFO_MEM_TOTAL, MEMINFO_MEM_FREE]\n"
        "        }\n"
        "    }\n"
        "}\n"
        "duration_ms: 10000\n";

static Config *config_of_text(const char *text) {
        ConfigError error;
        Config *config;
        int r = config_new_from_text(&config, text, &error);

        ck_assert_msg(r == 0, "%u:%u: %s", error.line, error.column, error.message);
        return config;
}

START_TEST(test_text_becomes_a_config) {
        _cleanup_(config_freep) Config *config = config_of_text(usual_text);

        ck_assert_uint_eq(config->pb->n_buffers, 2);
        ck_assert_uint_eq(config->pb->buffers[0]->size_kb, 63488);
        ck_assert_uint_eq(config->pb->n_data_sources, 3);
        ck_assert_str_eq(config->pb->data_sources[1]->config->ftrace_config->ftrace_events[1],
                         "power/suspend_resume");
        ck_assert_uint_eq(config->pb->duration_ms, 10000);
}
END_TEST

START_TEST(test_text_and_bytes_convert_without_loss) {
        _cleanup_(config_freep) Config *first = config_of_text(usual_text), *second = NULL;
        _cleanup_(freep) char *text = NULL, *again = NULL;

        ck_assert_int_eq(config_to_text(&text, first), 0);
        second = config_of_text(text);
        ck_assert_int_eq(config_to_text(&again, second), 0);
        ck_assert_str_eq(text, again);
        ck_assert_uint_eq(first->n_bytes, second->n_bytes);
        ck_assert_int_eq(memcmp(first->bytes, second->bytes, first->n_bytes), 0);
}
END_TEST

/* Every field of the session itself, in the order of their numbers, as Perfetto's configs write them. */
static const char every_field_text[] =
        "buffers { size_kb: 64 fill_policy: RING_BUFFER transfer_on_clone: true"
        "  clear_before_clone: true name: 'a' experimental_mode: TRACE_BUFFER_V2 }"
        "data_sources { config { name: 'x' priority_boost { policy: POLICY_SCHED_FIFO priority: 1 }"
        "  prefer_suspend_clock_for_duration: true } machine_name_filter: 'host' }"
        "duration_ms: 1000 enable_extra_guardrails: true lockdown_mode: LOCKDOWN_SET "
        "producers { producer_name: 'x' shm_size_kb: 4 page_size_kb: 4 }"
        "statsd_metadata { triggering_alert_id: 1 } write_into_file: true "
        "file_write_period_ms: 100 max_file_size_bytes: 1000 "
        "guardrail_overrides { max_tracing_buffer_size_kb: 1 } deferred_start: true "
        "flush_period_ms: 1 flush_timeout_ms: 1 notify_traceur: true "
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 1"
        "  use_clone_snapshot_if_available: true triggers { name: 't' producer_name_regex: '.*'"
        "  stop_delay_ms: 1 max_per_24_h: 2 skip_probability: 0.25 } }"
        "activate_triggers: 't' allow_user_build_tracing: true "
        "builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC"
        "  prefer_suspend_clock_for_snapshot: true disable_chunk_usage_histograms: true"
        "  disable_extension_descriptors: true enable_concurrent_session_events: true }"
        "incremental_state_config { clear_period_ms: 1 } unique_session_name: 'n' "
        "data_source_stop_timeout_ms: 1 compression_type: COMPRESSION_TYPE_DEFLATE "
        "incident_report_config { privacy_level: -1 } trace_uuid_msb: -1 trace_uuid_lsb: 2 "
        "output_path: '/x' bugreport_score: 3 statsd_logging: STATSD_LOGGING_DISABLED "
        "trace_filter { bytecode_v2: '\\001\\002' string_filter_chain { rules {"
        "  policy: SFP_MATCH_BREAK regex_pattern: 'x' semantic_type: SEMANTIC_TYPE_JOB } } }"
        "android_report_config { skip_report: true }"
        "cmd_trace_start_delay { min_delay_ms: 1 max_delay_ms: 2 }"
        "prefer_suspend_clock_for_duration: true bugreport_filename: 'b' "
        "session_semaphores { name: 's' max_other_session_count: 1 }"
        "priority_boost { policy: POLICY_SCHED_OTHER priority: 20 } exclusive_prio: 7 "
        "trace_all_machines: true write_flush_mode: WRITE_FLUSH_ENABLED "
        "fflush_post_write: FFLUSH_ENABLED compression { deflate {} zstd { level: -5 } }"
        "trace_attributes { attribute { key: 'k' long_value: -1 } }";

START_TEST(test_every_field_of_a_session_can_be_written_as_text) {
        _cleanup_(config_freep) Config *config = config_of_text(every_field_text);
        const Perfetto__Protos__TraceConfig *pb = config->pb;
        const ProtobufCMessageDescriptor *message = pb->base.descriptor;
        const uint8_t *at = config->bytes, *end = at + config->n_bytes;
        ConfigField field;

        for (size_t i = 0; i < message->n_fields; i++) {
                ck_assert_int_eq(config_field_next(&at, end, &field), 1);
                ck_assert_uint_eq(field.number, message->fields[i].id);
        }
        ck_assert(at == end);
        ck_assert_double_eq(pb->trigger_config->triggers[0]->skip_probability, 0.25);
        ck_assert_mem_eq(pb->trace_filter->bytecode_v2.data, "\1\2", 2);
        ck_assert_int_eq(pb->compression->zstd->level, -5);
        ck_assert_int_eq(pb->builtin_data_sources->primary_trace_clock, 3);
}
END_TEST

START_TEST(test_sources_point_at_the_bytes_as_sent) {
        _cleanup_(config_freep) Config *config =
                config_of_text("data_sources { config { name: 'a' 999: 'kept' } }\n"
                               "data_sources { }\n"
                               "duration_ms: 5\n"
                               "data_sources { producer_name_filter: 'x' config { } 77: 1 }\n"
                               "data_sources { config { name: 'last' target_buffer: 3 } }");

        ck_assert_uint_eq(config->pb->n_data_sources, 4);
        ck_assert_uint_eq(config->sources[0].n_bytes, 3 + 3 + 4);
        ck_assert_int_eq(memcmp(config->sources[0].bytes,
                                "\x0a\x01"
                                "a\xba\x3e\x04kept",
                                10),
                         0);
        ck_assert_ptr_null(config->sources[1].bytes);
        ck_assert_uint_eq(config->sources[1].n_bytes, 0);
        ck_assert_ptr_null(config->pb->data_sources[1]->config);
        ck_assert_uint_eq(config->sources[2].n_bytes, 0);
        ck_assert_ptr_nonnull(config->sources[2].bytes);
        ck_assert_int_eq(memcmp(config->sources[3].bytes, "\x0a\x04last\x10\x03", 8), 0);
        for (size_t i = 0; i < 4; i++)
                ck_assert(!config->sources[i].bytes ||
                          (config->sources[i].bytes >= config->bytes &&
                           config->sources[i].bytes + config->sources[i].n_bytes <=
                                   config->bytes + config->n_bytes));
}
END_TEST

START_TEST(test_unknown_fields_survive_byte_for_byte) {
        static const char bytes[] = "\x18\x05" /* duration_ms */
                                    "\xc2\x3e\x03"
                                    "abc"                          /* 1000: bytes */
                                    "\x12\x05\x0a\x03\x98\x3f\x07" /* data source with 1011: 7 */
                                    "\x8d\x7d\x01\x02\x03\x04";    /* 2001: fixed32 */
        _cleanup_(config_freep) Config *config = NULL, *again = NULL;
        _cleanup_(freep) char *text = NULL;
        ConfigError error;

        ck_assert_int_eq(config_new_from_bytes(&config, bytes, sizeof(bytes) - 1, &error), 0);
        ck_assert_uint_eq(config->n_bytes, sizeof(bytes) - 1);
        ck_assert_int_eq(memcmp(config->bytes, bytes, config->n_bytes), 0);
        ck_assert_uint_eq(config->sources[0].n_bytes, 3);
        ck_assert_int_eq(memcmp(config->sources[0].bytes, "\x98\x3f\x07", 3), 0);

        ck_assert_int_eq(config_new_from_message(&again, config->pb), 0);
        ck_assert_uint_eq(again->pb->base.n_unknown_fields, 2);
        ck_assert_uint_eq(again->n_bytes, config->n_bytes);
        ck_assert_int_eq(config_to_text(&text, again), 0);
        ck_assert_str_eq(text,
                         "data_sources {\n  config {\n    1011: 7\n  }\n}\n"
                         "duration_ms: 5\n1000: \"abc\"\n2001: 0x04030201\n");
}
END_TEST

START_TEST(test_empty_config_is_a_config) {
        _cleanup_(config_freep) Config *config = NULL, *text = config_of_text("");
        ConfigError error;

        ck_assert_int_eq(config_new_from_bytes(&config, NULL, 0, &error), 0);
        ck_assert_uint_eq(config->pb->n_data_sources, 0);
        ck_assert_uint_eq(text->n_bytes, 0);
}
END_TEST

START_TEST(test_two_configs_in_one_data_source_are_refused) {
        Config *config = NULL;
        ConfigError error;

        ck_assert_int_eq(config_new_from_bytes(&config, "\x12\x04\x0a\x00\x0a\x00", 6, &error),
                         CONFIG_E_INVALID);
        ck_assert_str_eq(error.message, "DataSource.config is given more than once");
        ck_assert_ptr_null(config);
}
END_TEST

START_TEST(test_large_configs_are_refused) {
        static uint8_t bytes[CONFIG_BYTES_MAX + 1];
        static char text[CONFIG_BYTES_MAX + 2];
        Config *config = NULL;
        ConfigError error;

        memset(text, ' ', CONFIG_BYTES_MAX);
        ck_assert_int_eq(config_new_from_text(&config, text, &error), 0);
        config = config_free(config);
        text[CONFIG_BYTES_MAX] = ' ';
        ck_assert_int_eq(config_new_from_text(&config, text, &error), CONFIG_E_INVALID);
        ck_assert_str_eq(error.message,
                         "The config is larger than 1048576 bytes (CONFIG_BYTES_MAX)");
        ck_assert_int_eq(config_new_from_bytes(&config, bytes, sizeof(bytes), &error),
                         CONFIG_E_INVALID);
        ck_assert_str_eq(error.message,
                         "The config is larger than 1048576 bytes (CONFIG_BYTES_MAX)");
}
END_TEST

START_TEST(test_messages_that_could_not_be_read_back_are_refused) {
        static char name[CONFIG_BYTES_MAX + 1];
        Perfetto__Protos__TraceConfig message = PERFETTO__PROTOS__TRACE_CONFIG__INIT;
        Config *config = NULL;

        memset(name, 'x', CONFIG_BYTES_MAX);
        message.unique_session_name = name;
        ck_assert_int_eq(config_new_from_message(&config, &message), -E2BIG);
        message.unique_session_name = (char *)"\xff";
        ck_assert_int_eq(config_new_from_message(&config, &message), -EINVAL);
        message.unique_session_name = (char *)"good";
        ck_assert_int_eq(config_new_from_message(&config, &message), 0);
        config_free(config);
}
END_TEST

START_TEST(test_text_errors_have_a_position_and_bytes_have_none) {
        Config *config = NULL;
        ConfigError error;

        ck_assert_int_eq(config_new_from_text(&config, "buffers {\n  size_bk: 1\n}", &error),
                         CONFIG_E_INVALID);
        ck_assert_uint_eq(error.line, 2);
        ck_assert_uint_eq(error.column, 3);
        ck_assert_str_eq(error.message,
                         "BufferConfig has no field 'size_bk'; did you mean size_kb?");
        ck_assert_int_eq(config_new_from_bytes(&config, "\x18", 1, &error), CONFIG_E_INVALID);
        ck_assert_uint_eq(error.line, 0);
        ck_assert_uint_eq(error.column, 0);
}
END_TEST

TEST_MAIN("config",
          test_text_becomes_a_config,
          test_text_and_bytes_convert_without_loss,
          test_every_field_of_a_session_can_be_written_as_text,
          test_sources_point_at_the_bytes_as_sent,
          test_unknown_fields_survive_byte_for_byte,
          test_empty_config_is_a_config,
          test_two_configs_in_one_data_source_are_refused,
          test_large_configs_are_refused,
          test_messages_that_could_not_be_read_back_are_refused,
          test_text_errors_have_a_position_and_bytes_have_none)
