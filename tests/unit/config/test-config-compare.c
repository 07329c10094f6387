/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* In what two configs differ, and how that is called. */

#include "config/config-compare.h"
#include "config/config.h"
#include "test.h"

static Config *parse(const char *text) {
        ConfigError error;
        Config *config;
        int r = config_new_from_text(&config, text, &error);

        ck_assert_msg(r == 0, "%s: %u:%u: %s", text, error.line, error.column, error.message);
        return config;
}

static bool none_may(const ProtobufCMessageDescriptor *message,
                     const ProtobufCFieldDescriptor *field) {
        return false;
}

/* NULL: they say the same. */
static void assert_difference(const char *a, const char *b, const char *path) {
        _cleanup_(config_freep) Config *config_a = parse(a);
        _cleanup_(config_freep) Config *config_b = parse(b);
        char found[CONFIG_PATH_BYTES];
        bool differ =
                config_find_difference(&config_a->pb->base, &config_b->pb->base, none_may, found);

        ck_assert_msg(differ == !!path, "\"%s\" \"%s\": %s", a, b, found);
        if (path)
                ck_assert_str_eq(found, path);
}

START_TEST(test_the_first_difference_is_named) {
        static const struct {
                const char *a, *b, *path;
        } cases[] = {
                { "", "", NULL },
                { "duration_ms: 1", "duration_ms: 2", "duration_ms" },
                { "duration_ms: 1", "", "duration_ms" },
                { "write_into_file: true", "", "write_into_file" },
                { "unique_session_name: 'a'", "unique_session_name: 'b'", "unique_session_name" },
                { "unique_session_name: 'a'", "", "unique_session_name" },
                { "max_file_size_bytes: 4294967296", "", "max_file_size_bytes" },
                { "trace_uuid_msb: -1", "trace_uuid_msb: 1", "trace_uuid_msb" },
                { "buffers { size_kb: 1 }", "", "buffers" },
                { "buffers { }", "buffers { } buffers { }", "buffers" },
                { "buffers { } buffers { name: 'x' }",
                  "buffers { } buffers { name: 'y' }",
                  "buffers[1].name" },
                { "buffers { fill_policy: DISCARD }", "buffers { }", "buffers[0].fill_policy" },
                { "data_sources { config { track_event_config { enabled_categories: 'a' } } }",
                  "data_sources { config { track_event_config { enabled_categories: 'b' } } }",
                  "data_sources[0].config.track_event_config.enabled_categories[0]" },
                { "data_sources { config { name: 'a' } }",
                  "data_sources { }",
                  "data_sources[0].config" },
                { "builtin_data_sources { }", "", "builtin_data_sources" },
                { "trigger_config { triggers { skip_probability: 0.5 } }",
                  "trigger_config { triggers { skip_probability: 0.25 } }",
                  "trigger_config.triggers[0].skip_probability" },
                { "trace_filter { bytecode: 'ab' }",
                  "trace_filter { bytecode: 'ac' }",
                  "trace_filter.bytecode" },
                { "trace_filter { bytecode: 'ab' }",
                  "trace_filter { bytecode: 'abc' }",
                  "trace_filter.bytecode" },
                { "activate_triggers: 'a'",
                  "activate_triggers: 'a' activate_triggers: 'b'",
                  "activate_triggers" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_difference(cases[i].a, cases[i].b, cases[i].path);
                assert_difference(cases[i].b, cases[i].a, cases[i].path);
                assert_difference(cases[i].a, cases[i].a, NULL);
        }
}
END_TEST

START_TEST(test_order_and_defaults_make_no_difference) {
        assert_difference("duration_ms: 1 write_into_file: true",
                          "write_into_file: true duration_ms: 1",
                          NULL);
        assert_difference("duration_ms: 0 unique_session_name: '' deferred_start: false", "", NULL);
}
END_TEST

START_TEST(test_fields_that_are_not_known_are_compared) {
        /* Field 500: "a"; 500: "b"; 501: "a"; and 500: "a" inside buffers. */
        static const struct {
                const char *bytes;
                size_t n;
                const char *path;
        } cases[] = {
                { "\xa2\x1f\x01\x61", 4, NULL },
                { "\xa2\x1f\x01\x62", 4, "500" },
                { "\xaa\x1f\x01\x61", 4, "500" },
                { "", 0, "500" },
                { "\xa2\x1f\x01\x61\xa2\x1f\x01\x61", 8, "500" },
                { "\x0a\x04\xa2\x1f\x01\x61", 6, "buffers" },
        };
        ConfigError error;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(config_freep) Config *a = NULL, *b = NULL;
                char found[CONFIG_PATH_BYTES];

                ck_assert_int_eq(config_new_from_bytes(&a, cases[0].bytes, cases[0].n, &error), 0);
                ck_assert_int_eq(config_new_from_bytes(&b, cases[i].bytes, cases[i].n, &error), 0);
                ck_assert(config_find_difference(&a->pb->base, &b->pb->base, none_may, found) ==
                          !!cases[i].path);
                if (cases[i].path)
                        ck_assert_str_eq(found, cases[i].path);
        }
}
END_TEST

START_TEST(test_a_difference_deep_inside_is_named_with_its_place) {
        _cleanup_(config_freep) Config *a = NULL, *b = NULL;
        char found[CONFIG_PATH_BYTES];
        ConfigError error;

        ck_assert_int_eq(config_new_from_bytes(&a, "\x0a\x04\xa2\x1f\x01\x61", 6, &error), 0);
        ck_assert_int_eq(config_new_from_bytes(&b, "\x0a\x04\xa2\x1f\x01\x62", 6, &error), 0);
        ck_assert(config_find_difference(&a->pb->base, &b->pb->base, none_may, found));
        ck_assert_str_eq(found, "buffers[0].500");
}
END_TEST

static bool names_may(const ProtobufCMessageDescriptor *message,
                      const ProtobufCFieldDescriptor *field) {
        return message == &perfetto__protos__trace_config__buffer_config__descriptor &&
               streq(field->name, "name");
}

START_TEST(test_what_may_differ_is_not_looked_at) {
        _cleanup_(config_freep) Config *a = parse("buffers { name: 'a' }");
        _cleanup_(config_freep) Config *b = parse("buffers { name: 'b' }");
        _cleanup_(config_freep) Config *c = parse("buffers { name: 'b' size_kb: 1 }");
        char found[CONFIG_PATH_BYTES];

        ck_assert(!config_find_difference(&a->pb->base, &b->pb->base, names_may, found));
        ck_assert(config_find_difference(&a->pb->base, &c->pb->base, names_may, found));
        ck_assert_str_eq(found, "buffers[0].size_kb");
}
END_TEST

TEST_MAIN("config-compare",
          test_the_first_difference_is_named,
          test_order_and_defaults_make_no_difference,
          test_fields_that_are_not_known_are_compared,
          test_a_difference_deep_inside_is_named_with_its_place,
          test_what_may_differ_is_not_looked_at)
