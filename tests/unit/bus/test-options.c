/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "bus/session/bus-options.h"

/* StartOptions owns its strings and is not const about them; these tests only lend them. */
static char *lend(const char *text) {
        return (char *)text;
}

static Config *to_config(const StartOptions *options) {
        PolicyScope scope;
        Config *config = NULL;

        ck_assert_int_eq(start_options_to_config(&config, &scope, options, NULL), 0);
        ck_assert_ptr_nonnull(config);
        return config;
}

static void refused(const StartOptions *options, const char *text) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Config *config = NULL;
        PolicyScope scope;

        ck_assert_int_lt(start_options_to_config(&config, &scope, options, &error), 0);
        ck_assert_ptr_null(config);
        ck_assert_ptr_nonnull(strstr(error.message, text));
        sd_bus_error_free(&error);
}

START_TEST(test_typed_options_make_a_config) {
        char *sources[] = { lend("a.b"), lend("c.d"), NULL };
        const StartOptions options = {
                .sources = sources,
                .buffer_size_kb = 4096,
                .fill_policy = lend("discard"),
                .duration_ms = 1500,
                .name = lend("mine"),
        };
        Config *config = to_config(&options);

        ck_assert_uint_eq(config->pb->n_data_sources, 2);
        ck_assert_str_eq(config->pb->data_sources[1]->config->name, "c.d");
        ck_assert_uint_eq(config->pb->n_buffers, 1);
        ck_assert_uint_eq(config->pb->buffers[0]->size_kb, 4096);
        ck_assert_int_eq(config->pb->buffers[0]->fill_policy,
                         PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD);
        ck_assert_uint_eq(config->pb->duration_ms, 1500);
        ck_assert_str_eq(config->pb->unique_session_name, "mine");
        config_free(config);
}
END_TEST

START_TEST(test_events_imply_ftrace_and_categories_track_events) {
        char *events[] = { lend("sched/sched_switch"), lend("irq/*"), NULL };
        char *categories[] = { lend("gfx"), lend("io*"), NULL };
        const StartOptions options = { .events = events, .categories = categories };
        Config *config = to_config(&options);
        const Perfetto__Protos__DataSourceConfig *ftrace = config->pb->data_sources[0]->config;
        const Perfetto__Protos__DataSourceConfig *track_event = config->pb->data_sources[1]->config;

        ck_assert_str_eq(ftrace->name, "linux.ftrace");
        ck_assert_uint_eq(ftrace->ftrace_config->n_ftrace_events, 2);
        ck_assert_str_eq(track_event->name, "track_event");
        ck_assert_str_eq(track_event->track_event_config->disabled_categories[0], "*");
        ck_assert_uint_eq(track_event->track_event_config->n_enabled_categories, 2);
        config_free(config);
}
END_TEST

START_TEST(test_typed_options_add_to_a_config) {
        char *sources[] = { lend("a.b"), lend("new"), NULL };
        const StartOptions options = {
                .config_text = lend("buffers { size_kb: 1024 } buffers { size_kb: 2048 }\n"
                                    "data_sources { config { name: 'a.b' target_buffer: 1 } }"),
                .sources = sources,
                .buffer_size_kb = 512,
        };
        Config *config = to_config(&options);

        ck_assert_uint_eq(config->pb->n_data_sources, 2);
        ck_assert_uint_eq(config->pb->data_sources[0]->config->target_buffer, 1);
        ck_assert_uint_eq(config->pb->buffers[0]->size_kb, 512);
        ck_assert_uint_eq(config->pb->buffers[1]->size_kb, 2048);
        config_free(config);
}
END_TEST

/* Field 999 is nobody's. */
static const uint8_t with_unknown[] = { 0xba, 0x3e, 0x03, 'a', 'b', 'c', 0x0a, 0x02, 0x08, 0x10 };

START_TEST(test_a_config_that_nothing_is_added_to_stays_byte_for_byte) {
        const StartOptions options = {
                .config = { (uint8_t *)with_unknown, sizeof(with_unknown) },
        };
        Config *config = to_config(&options);

        ck_assert_uint_eq(config->n_bytes, sizeof(with_unknown));
        ck_assert_mem_eq(config->bytes, with_unknown, sizeof(with_unknown));
        config_free(config);
}
END_TEST

START_TEST(test_unknown_fields_survive_a_change) {
        const StartOptions options = {
                .config = { (uint8_t *)with_unknown, sizeof(with_unknown) },
                .duration_ms = 7,
        };
        Config *config = to_config(&options);

        ck_assert_ptr_nonnull(memmem(config->bytes, config->n_bytes, with_unknown, 6));
        ck_assert_uint_eq(config->pb->duration_ms, 7);
        config_free(config);
}
END_TEST

START_TEST(test_nonsense_is_refused_by_name) {
        char *sources[] = { lend("a.b"), NULL };

        refused(&(StartOptions){ .sources = sources, .fill_policy = lend("round") },
                "\"fill-policy\" is \"round\"");
        refused(&(StartOptions){ .sources = sources, .scope = lend("all") },
                "\"scope\" is \"all\"");
        refused(&(StartOptions){ .preset = lend("x"), .config_text = lend("") },
                "mutually exclusive");
        refused(&(StartOptions){ .config_text = lend("\nbogus: 1") },
                "\"config-text\", line 2, column 1");
}
END_TEST

TEST_MAIN("bus-options",
          test_typed_options_make_a_config,
          test_events_imply_ftrace_and_categories_track_events,
          test_typed_options_add_to_a_config,
          test_a_config_that_nothing_is_added_to_stays_byte_for_byte,
          test_unknown_fields_survive_a_change,
          test_nonsense_is_refused_by_name)
