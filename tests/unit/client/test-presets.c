/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The presets that are installed, and what the command line makes of them.
 */

#include <string.h>

#include "client/record-request.h"
#include "config/preset.h"
#include "test.h"

static Preset *presets;
static size_t n_presets;

static void find_presets(void) {
        setenv("DESKTRACE_PRESET_PATH", PRESET_SOURCE_DIR, 1);
        ck_assert_int_eq(presets_list(&presets, &n_presets), 0);
}

START_TEST(test_every_preset_is_described_and_parses) {
        find_presets();
        ck_assert_uint_ge(n_presets, 6);
        for (size_t i = 0; i < n_presets; i++) {
                _cleanup_(config_freep) Config *config = NULL;
                ConfigError error = { 0 };

                ck_assert_msg(preset_load(&config, presets[i].name, &error) == 0,
                              "%s:%u: %s",
                              presets[i].name,
                              error.line,
                              error.message);
                ck_assert_msg(strlen(presets[i].description) > 10, "%s", presets[i].name);
                ck_assert_uint_gt(config->pb->n_data_sources, 0);
                ck_assert_uint_gt(config->pb->n_buffers, 0);
                /* A preset must work over D-Bus without an output, too; the command line adds this itself. */
                ck_assert(!config->pb->write_into_file);
        }
        presets_free(presets, n_presets);
}
END_TEST

START_TEST(test_every_source_of_a_preset_has_a_buffer_that_exists) {
        find_presets();
        for (size_t i = 0; i < n_presets; i++) {
                _cleanup_(config_freep) Config *config = NULL;
                ConfigError error;

                ck_assert_int_eq(preset_load(&config, presets[i].name, &error), 0);
                for (size_t j = 0; j < config->pb->n_data_sources; j++) {
                        const char *wanted =
                                config->pb->data_sources[j]->config->target_buffer_name;
                        bool found = !wanted;

                        for (size_t k = 0; k < config->pb->n_buffers; k++)
                                found |= wanted && streq(wanted, config->pb->buffers[k]->name);
                        ck_assert_msg(found, "%s: no buffer %s", presets[i].name, wanted);
                }
        }
        presets_free(presets, n_presets);
}
END_TEST

START_TEST(test_apps_preset_needs_no_probes) {
        RecordRequest request;
        g_auto(GStrv) sources = NULL;

        setenv("DESKTRACE_PRESET_PATH", PRESET_SOURCE_DIR, 1);
        record_request_init(&request);
        ck_assert_int_eq(record_request_load_preset(&request, RECORD_PRESET_APPS), STATUS_OK);
        sources = record_request_probe_sources(&request);
        ck_assert_uint_eq(g_strv_length(sources), 0);
        record_request_deinit(&request);
}
END_TEST

START_TEST(test_default_preset_needs_the_probes) {
        RecordRequest request;
        g_auto(GStrv) sources = NULL;

        setenv("DESKTRACE_PRESET_PATH", PRESET_SOURCE_DIR, 1);
        record_request_init(&request);
        ck_assert_int_eq(record_request_load_preset(&request, RECORD_PRESET_DEFAULT), STATUS_OK);
        sources = record_request_probe_sources(&request);
        ck_assert(g_strv_contains((const char *const *)sources, "linux.ftrace"));
        ck_assert(g_strv_contains((const char *const *)sources, "linux.process_stats"));
        ck_assert(g_strv_contains((const char *const *)sources, "linux.sys_stats"));
        record_request_deinit(&request);
}
END_TEST

START_TEST(test_unknown_preset_is_a_usage_error) {
        RecordRequest request;

        setenv("DESKTRACE_PRESET_PATH", PRESET_SOURCE_DIR, 1);
        record_request_init(&request);
        ck_assert_int_eq(record_request_load_preset(&request, "shceduling"), STATUS_USAGE);
        ck_assert_int_eq(record_request_load_preset(&request, "../default"), STATUS_USAGE);
        ck_assert_ptr_null(request.config);
        record_request_deinit(&request);
}
END_TEST

START_TEST(test_events_go_where_their_form_says) {
        RecordRequest request;
        g_auto(GStrv) sources = NULL;

        setenv("DESKTRACE_PRESET_PATH", PRESET_SOURCE_DIR, 1);
        record_request_init(&request);
        ck_assert_int_eq(record_request_add_event(&request, "cat:render*"), STATUS_OK);
        ck_assert_int_eq(record_request_add_event(&request, "org.example.thing"), STATUS_OK);
        ck_assert_int_eq(record_request_add_event(&request, "scheduling"), STATUS_USAGE);
        ck_assert_int_eq(record_request_add_event(&request, "/x"), STATUS_USAGE);
        ck_assert_int_eq(record_request_add_event(&request, "sched/"), STATUS_USAGE);
        ck_assert_int_eq(record_request_add_event(&request, "a/b/c"), STATUS_USAGE);
        ck_assert_int_eq(record_request_add_event(&request, ""), STATUS_USAGE);
        ck_assert_int_eq(record_request_add_event(&request, "\xff"), STATUS_USAGE);
        ck_assert_str_eq(g_ptr_array_index(request.categories, 0), "render*");
        ck_assert_str_eq(g_ptr_array_index(request.sources, 0), "org.example.thing");
        ck_assert_uint_eq(request.sources->len, 1);
        sources = record_request_probe_sources(&request);
        ck_assert_uint_eq(g_strv_length(sources), 0);
        record_request_deinit(&request);
}
END_TEST

START_TEST(test_durations_and_sizes_that_are_none_are_refused) {
        static const char *const bad[] = { "", "5x", "-1s", "0", "0ms", "1e99h", "nan" };
        RecordRequest request;

        record_request_init(&request);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                ck_assert_msg(record_request_set_duration(&request, bad[i]) == STATUS_USAGE,
                              "%s",
                              bad[i]);
                ck_assert_msg(
                        record_request_set_buffer(&request, bad[i]) == STATUS_USAGE, "%s", bad[i]);
        }
        ck_assert_uint_eq(request.duration_ms, 0);
        ck_assert_int_eq(record_request_set_duration(&request, "1m30s"), STATUS_OK);
        ck_assert_uint_eq(request.duration_ms, 90000);
        ck_assert_int_eq(record_request_set_buffer(&request, "64M"), STATUS_OK);
        ck_assert_uint_eq(request.buffer_kb, 65536);
        record_request_deinit(&request);
}
END_TEST

TEST_MAIN("presets",
          test_every_preset_is_described_and_parses,
          test_every_source_of_a_preset_has_a_buffer_that_exists,
          test_apps_preset_needs_no_probes,
          test_default_preset_needs_the_probes,
          test_unknown_preset_is_a_usage_error,
          test_events_go_where_their_form_says,
          test_durations_and_sizes_that_are_none_are_refused)
