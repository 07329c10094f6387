/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "core/filter-bytecode.h"
#include "packet/trace-filter.h"
#include "test.h"
#include "wire/wire-reader.h"

#define WORDS(...) (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4

/* Trace { packet = 1 -> message 1 }, whose fields the test says. */
#define TRACE OP(1, OP_NESTED), 1, OP_END

static int program_new(FilterProgram **ret,
                       const uint32_t *words,
                       size_t n,
                       const uint32_t *overlay,
                       size_t n_overlay) {
        static uint8_t code[1 << 16], over[1 << 12];
        const char *why = NULL;
        int r;

        r = filter_program_new(ret,
                               code,
                               bytecode_put(code, sizeof(code), words, n),
                               over,
                               overlay ? bytecode_put(over, sizeof(over), overlay, n_overlay) : 0,
                               &why);
        ck_assert((r == 0) || why);
        return r;
}

static TraceFilter *filter_new(const uint32_t *words,
                               size_t n,
                               const uint32_t *overlay,
                               size_t n_overlay,
                               StringRules *rules) {
        FilterProgram *program;
        TraceFilter *filter;

        ck_assert_int_eq(program_new(&program, words, n, overlay, n_overlay), 0);
        ck_assert_int_eq(trace_filter_new(&filter, program, rules), 0);
        return filter;
}

/* A packet with a number, a string, a nested message with the two, and a far field. */
static size_t packet_put(uint8_t *packet, size_t n) {
        WireWriter writer;
        size_t nested, deeper;

        wire_writer_init(&writer, packet, n);
        wire_put_uint(&writer, 8, 300);
        wire_put_string(&writer, 9, "a string");
        nested = wire_begin(&writer, 11);
        wire_put_uint(&writer, 1, 7);
        wire_put_string(&writer, 2, "B|12|secret");
        deeper = wire_begin(&writer, 3);
        wire_put_fixed64(&writer, 1, 99);
        wire_put_double(&writer, 2, 0.5);
        wire_end(&writer, deeper);
        wire_end(&writer, nested);
        wire_put_uint(&writer, 2000, 5);
        return wire_writer_size(&writer);
}

/* Filters that packet in memory of exactly its size. */
static uint8_t *filtered(TraceFilter *filter, size_t *ret_n) {
        uint8_t memory[256];
        size_t n = packet_put(memory, sizeof(memory));
        uint8_t *packet = malloc(n);

        ck_assert_ptr_nonnull(packet);
        memcpy(packet, memory, n);
        ck_assert_int_eq(trace_filter_apply(filter, packet, &n), 0);
        ck_assert_uint_le(n, packet_put(memory, sizeof(memory)));
        *ret_n = n;
        return packet;
}

/* The first field of that number; number 0 when there is none. */
static WireField find(const uint8_t *message, size_t n, uint32_t number) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, message, n);
        while (wire_read(&reader, &field) > 0)
                if (field.number == number)
                        return field;
        ck_assert_ptr_eq(reader.at, reader.end);
        return (WireField){};
}

START_TEST(test_only_named_fields_stay) {
        TraceFilter *filter = filter_new(WORDS(TRACE, OP(8, OP_FIELD), OP_END), NULL, 0, NULL);
        size_t n;
        uint8_t *packet = filtered(filter, &n);

        ck_assert_uint_eq(n, 3);
        ck_assert_uint_eq(find(packet, n, 8).value, 300);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_messages_are_filtered_within) {
        TraceFilter *filter = filter_new(WORDS(TRACE,
                                               OP(11, OP_NESTED),
                                               2,
                                               OP_END,
                                               OP(1, OP_FIELD),
                                               OP(3, OP_NESTED),
                                               3,
                                               OP_END,
                                               OP(2, OP_FIELD),
                                               OP_END),
                                         NULL,
                                         0,
                                         NULL);
        size_t n;
        uint8_t *packet = filtered(filter, &n);
        const WireField nested = find(packet, n, 11);
        const WireField deeper = find(nested.data, nested.n_bytes, 3);

        ck_assert_uint_eq(find(packet, n, 8).number, 0);
        ck_assert_uint_eq(find(nested.data, nested.n_bytes, 1).value, 7);
        ck_assert_uint_eq(find(nested.data, nested.n_bytes, 2).number, 0);
        ck_assert_uint_eq(find(deeper.data, deeper.n_bytes, 2).number, 2);
        ck_assert_uint_eq(find(deeper.data, deeper.n_bytes, 1).number, 0);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_a_message_of_which_nothing_is_left_is_empty) {
        TraceFilter *filter =
                filter_new(WORDS(TRACE, OP(11, OP_NESTED), 2, OP_END, OP_END), NULL, 0, NULL);
        size_t n;
        uint8_t *packet = filtered(filter, &n);

        ck_assert_uint_eq(find(packet, n, 11).number, 11);
        ck_assert_uint_eq(find(packet, n, 11).n_bytes, 0);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_ranges_reach_past_the_table) {
        TraceFilter *filter = filter_new(
                WORDS(TRACE, OP(9, OP_RANGE), 1, OP(1000, OP_RANGE), 1001, OP_END), NULL, 0, NULL);
        size_t n;
        uint8_t *packet = filtered(filter, &n);

        ck_assert_uint_eq(find(packet, n, 2000).value, 5);
        ck_assert_uint_eq(find(packet, n, 9).number, 9);
        ck_assert_uint_eq(find(packet, n, 8).number, 0);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

static StringRules *rules_new(const StringRule *rules, size_t n) {
        char why[PATTERN_WHY_BYTES];
        StringRules *made;

        ck_assert_int_eq(string_rules_new(&made), 0);
        for (size_t i = 0; i < n; i++)
                ck_assert_int_eq(string_rules_add(made, &rules[i], why), 0);
        return made;
}

START_TEST(test_strings_are_redacted_in_place) {
        static const StringRule rule = { .policy = STRING_ATRACE_MATCH_REDACT,
                                         .pattern = "B\\|\\d+\\|(.*)",
                                         .atrace_start = "sec" };
        TraceFilter *filter =
                filter_new(WORDS(TRACE, OP(11, OP_NESTED), 2, OP_END, OP(2, OP_STRING), OP_END),
                           NULL,
                           0,
                           rules_new(&rule, 1));
        size_t n;
        uint8_t *packet = filtered(filter, &n);
        const WireField nested = find(packet, n, 11);
        const WireField text = find(nested.data, nested.n_bytes, 2);

        ck_assert_uint_eq(text.n_bytes, strlen("B|12|secret"));
        ck_assert_int_eq(memcmp(text.data, "B|12|P60RED", text.n_bytes), 0);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

static const uint32_t other_type[] = { 3 };

static const struct {
        const char *what;
        StringRule rules[2];
        const char *text, *expected;
        uint32_t type;
} string_cases[] = {
        { "groups only",
          { { STRING_MATCH_REDACT, "user=(.*);", 0, 0, 0, 0 } },
          "user=ann;",
          "user=P60;",
          0 },
        { "padding",
          { { STRING_MATCH_REDACT, "(.*)", 0, 0, 0, 0 } },
          "fifteen letters",
          "P60REDACTED----",
          0 },
        { "the whole text has to fit",
          { { STRING_MATCH_REDACT, "(ann)", 0, 0, 0, 0 } },
          "joann",
          "joann",
          0 },
        { "break keeps later rules off",
          { { STRING_MATCH_BREAK, "keep.*", 0, 0, 0, 0 },
            { STRING_MATCH_REDACT, "(.*)", 0, 0, 0, 0 } },
          "keep me",
          "keep me",
          0 },
        { "break that does not fit",
          { { STRING_MATCH_BREAK, "keep.*", 0, 0, 0, 0 },
            { STRING_MATCH_REDACT, "(.*)", 0, 0, 0, 0 } },
          "hide me",
          "P60REDA",
          0 },
        { "atrace break",
          { { STRING_ATRACE_MATCH_BREAK, ".*", "x", 0, 0, 0 },
            { STRING_MATCH_REDACT, "(.*)", 0, 0, 0, 0 } },
          "B|1|xyz",
          "B|1|xyz",
          0 },
        { "no atrace string",
          { { STRING_ATRACE_MATCH_REDACT, "(.*)", "", 0, 0, 0 } },
          "E|12",
          "E|12",
          0 },
        { "every piece that fits",
          { { STRING_ATRACE_SEARCH_REDACT, "foo=(\\d+)", "foo", 0, 0, 0 } },
          "B|1|foo=123,b=4,foo=5",
          "B|1|foo=P60,b=4,foo=P",
          0 },
        { "empty fits end",
          { { STRING_ATRACE_SEARCH_REDACT, "(z*)", "", 0, 0, 0 } },
          "B|1|abz",
          "B|1|abP",
          0 },
        { "a type of its own",
          { { STRING_MATCH_REDACT, "(.*)", 0, 0, other_type, 1 } },
          "text",
          "P60R",
          3 },
        { "not of other types",
          { { STRING_MATCH_REDACT, "(.*)", 0, 0, other_type, 1 } },
          "text",
          "text",
          0 },
        { "unknown types get all rules",
          { { STRING_MATCH_REDACT, "(.*)", 0, 0, 0, 0 } },
          "text",
          "P60R",
          5000 },
        { "the later one of a name",
          { { STRING_MATCH_REDACT, "(.*)", 0, "rule", 0, 0 },
            { STRING_MATCH_BREAK, ".*", 0, "rule", 0, 0 } },
          "text",
          "text",
          0 },
};

/* Thousands of short strings, each of which hundreds of rules take as long for as they may. */
START_TEST(test_a_packet_of_hostile_strings_takes_bounded_time) {
        static const StringRule hostile[] = {
                { STRING_MATCH_REDACT, ".{4}(?:a|aa)+[bc]", .n_types = 0 },
                { STRING_ATRACE_SEARCH_REDACT, "(?=(?:[^z]|a[^z])*z)", .n_types = 0 },
        };
        static char text[STRING_SEARCH_BYTES_MAX];
        char why[PATTERN_WHY_BYTES];
        StringRules *rules;

        ck_assert_int_eq(string_rules_new(&rules), 0);
        for (size_t i = 0; i < STRING_RULES_MAX; i++)
                ck_assert_int_eq(string_rules_add(rules, &hostile[i % 2], why), 0);
        string_rules_begin(rules);
        for (size_t i = 0; i < 20000; i++) {
                memset(text, 'a', sizeof(text));
                memcpy(text, "B|1|", 4);
                string_rules_apply(rules, text, i % 10 ? 60 : sizeof(text), 0);
                ck_assert_int_eq(memcmp(text, "P60REDACTED----", 15), 0);
        }
        ck_assert_uint_le(string_rules_cost(rules), STRING_PACKET_COST_MAX);

        /* The next packet has its own share. */
        string_rules_begin(rules);
        memcpy(text, "harmless", 8);
        string_rules_apply(rules, text, 8, 0);
        ck_assert_int_eq(memcmp(text, "harmless", 8), 0);
        string_rules_free(rules);
}
END_TEST

/* What is searched may fit everywhere, and each look may go through all of it. */
START_TEST(test_long_strings_are_not_searched) {
        const StringRule rule = { STRING_ATRACE_SEARCH_REDACT, "a(?=[^z]*+)", .n_types = 0 };
        const size_t n = 1 << 20;
        char why[PATTERN_WHY_BYTES];
        char *text = malloc(n);
        StringRules *rules;

        ck_assert_ptr_nonnull(text);
        memset(text, 'a', n);
        memcpy(text, "B|1|", 4);
        ck_assert_int_eq(string_rules_new(&rules), 0);
        ck_assert_int_eq(string_rules_add(rules, &rule, why), 0);
        string_rules_apply(rules, text, n, 0);
        ck_assert_int_eq(memcmp(text, "P60REDACTED----", 15), 0);
        ck_assert_int_eq(text[n - 1], '-');
        string_rules_free(rules);
        free(text);
}
END_TEST

START_TEST(test_string_rules_are_tried_in_order) {
        for (size_t i = 0; i < sizeof(string_cases) / sizeof(string_cases[0]); i++) {
                StringRules *rules =
                        rules_new(string_cases[i].rules, string_cases[i].rules[1].policy ? 2 : 1);
                char *text = strdup(string_cases[i].text);

                string_rules_apply(rules, text, strlen(text), string_cases[i].type);
                ck_assert_msg(streq(text, string_cases[i].expected),
                              "%s: %s",
                              string_cases[i].what,
                              text);
                free(text);
                string_rules_free(rules);
        }
}
END_TEST

START_TEST(test_what_takes_too_long_is_hidden_whole) {
        static const StringRule rule = { .policy = STRING_MATCH_REDACT, .pattern = "(a+)+$" };
        StringRules *rules = rules_new(&rule, 1);
        char text[2048];

        memset(text, 'a', sizeof(text));
        text[sizeof(text) - 1] = '!';
        string_rules_apply(rules, text, sizeof(text), 0);
        ck_assert_int_eq(memcmp(text, "P60REDACTED--", 13), 0);
        ck_assert_int_eq(text[sizeof(text) - 1], '-');
        string_rules_free(rules);
}
END_TEST

START_TEST(test_overlay_adds_and_changes_fields) {
        static const StringRule rule = { .policy = STRING_MATCH_REDACT, .pattern = "(.*)" };
        TraceFilter *filter = filter_new(WORDS(TRACE, OP(8, OP_FIELD), OP(9, OP_FIELD), OP_END),
                                         WORDS(1, OP(9, OP_STRING), 0, 1, OP(2000, OP_FIELD), 0),
                                         rules_new(&rule, 1));
        size_t n;
        uint8_t *packet = filtered(filter, &n);

        ck_assert_uint_eq(find(packet, n, 8).value, 300);
        ck_assert_uint_eq(find(packet, n, 2000).value, 5);
        ck_assert_int_eq(memcmp(find(packet, n, 9).data, "P60REDAC", 8), 0);
        free(packet);
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_broken_programs_are_refused) {
        static const uint32_t many[] = { OP(1, OP_NESTED), 1, OP_END };
        static uint32_t ranges[3 + 2 * (FILTER_RANGES_MAX + 1) + 1];
        static uint32_t messages[FILTER_MESSAGES_MAX + 4];
        FilterProgram *program;

        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP(8, OP_FIELD)), NULL, 0), -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP(0, OP_FIELD), OP_END), NULL, 0),
                         -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP(8, 6), OP_END), NULL, 0), -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP(8, OP_NESTED)), NULL, 0), -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP(8, OP_NESTED), 2, OP_END), NULL, 0),
                         -EINVAL);
        ck_assert_int_eq(
                program_new(&program, WORDS(TRACE, OP(8, OP_RANGE), UINT32_MAX, OP_END), NULL, 0),
                -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP_END), WORDS(1, OP(9, OP_NESTED), 0)),
                         -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP_END), WORDS(1, OP(9, OP_FIELD))),
                         -EINVAL);
        ck_assert_int_eq(program_new(&program, WORDS(TRACE, OP_END), WORDS(5, OP(9, OP_FIELD), 0)),
                         -EINVAL);
        ck_assert_int_eq(program_new(&program,
                                     WORDS(TRACE, OP_END),
                                     WORDS(1, OP(9, OP_FIELD), 0, 0, OP(9, OP_FIELD), 0)),
                         -EINVAL);

        memcpy(ranges, many, sizeof(many));
        for (size_t i = 0; i <= FILTER_RANGES_MAX; i++) {
                ranges[3 + 2 * i] = OP(5000 + 10 * i, OP_RANGE);
                ranges[4 + 2 * i] = 1;
        }
        ck_assert_int_eq(program_new(&program, ranges, sizeof(ranges) / 4, NULL, 0), -EINVAL);
        memcpy(messages, many, sizeof(many));
        ck_assert_int_eq(program_new(&program, messages, sizeof(messages) / 4, NULL, 0), -EINVAL);
}
END_TEST

START_TEST(test_bytecode_has_a_limit) {
        static const uint8_t zeros[FILTER_BYTECODE_BYTES_MAX + 1];
        FilterProgram *program;
        const char *why = NULL;

        ck_assert_int_eq(filter_program_new(&program, zeros, sizeof(zeros), NULL, 0, &why),
                         -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "FILTER_BYTECODE_BYTES_MAX"));
        ck_assert_int_eq(filter_program_new(&program, zeros, sizeof(zeros) - 1, NULL, 0, &why),
                         -EINVAL);
        ck_assert_ptr_null(strstr(why, "FILTER_BYTECODE_BYTES_MAX"));
}
END_TEST

START_TEST(test_tables_have_a_limit) {
        enum { N = FILTER_ACTIONS_MAX / 1024 + 1 };
        static uint32_t words[3 + 2 * N];
        static const uint32_t head[] = { TRACE };
        FilterProgram *program;

        memcpy(words, head, sizeof(head));
        for (size_t i = 0; i < N; i++)
                words[3 + 2 * i] = OP(1023, OP_FIELD);
        ck_assert_int_eq(program_new(&program, words, sizeof(words) / 4, NULL, 0), -EINVAL);
}
END_TEST

START_TEST(test_bytecode_needs_its_checksum) {
        uint8_t code[64];
        size_t n = bytecode_put(code, sizeof(code), WORDS(TRACE, OP(8, OP_FIELD), OP_END));
        FilterProgram *program;
        const char *why;

        ck_assert_int_eq(filter_program_new(&program, code, 0, NULL, 0, &why), -EINVAL);
        for (size_t i = 0; i + 1 < n; i++) {
                ck_assert_int_eq(filter_program_new(&program, code, i, NULL, 0, &why), -EINVAL);
                code[i] ^= 1;
                ck_assert_int_eq(filter_program_new(&program, code, n, NULL, 0, &why), -EINVAL);
                code[i] ^= 1;
        }
        ck_assert_int_eq(filter_program_new(&program, code, n, NULL, 0, &why), 0);
        filter_program_free(program);
}
END_TEST

START_TEST(test_a_program_without_packets_is_refused) {
        FilterProgram *program;
        TraceFilter *filter;

        ck_assert_int_eq(program_new(&program, WORDS(OP(1, OP_FIELD), OP_END), NULL, 0), 0);
        ck_assert_int_eq(trace_filter_new(&filter, program, NULL), -EINVAL);
        filter_program_free(program);
}
END_TEST

START_TEST(test_broken_and_empty_packets_are_dropped_and_counted) {
        TraceFilter *filter = filter_new(
                WORDS(TRACE, OP(11, OP_NESTED), 2, OP_END, OP(1, OP_FIELD), OP_END), NULL, 0, NULL);
        uint8_t cut[] = { 0x5a, 0x02, 0x08 }, inside[] = { 0x5a, 0x02, 0x08, 0x80 };
        uint8_t nothing[] = { 0x40, 0x01 };
        size_t n = sizeof(cut);

        ck_assert_int_eq(trace_filter_apply(filter, cut, &n), TRACE_FILTER_E_DROPPED);
        n = sizeof(inside);
        ck_assert_int_eq(trace_filter_apply(filter, inside, &n), TRACE_FILTER_E_DROPPED);
        n = sizeof(nothing);
        ck_assert_int_eq(trace_filter_apply(filter, nothing, &n), TRACE_FILTER_E_DROPPED);
        ck_assert_uint_eq(trace_filter_stats(filter)->n_errors, 2);
        ck_assert_uint_eq(trace_filter_stats(filter)->n_packets, 3);
        ck_assert_uint_eq(trace_filter_stats(filter)->n_bytes_in, 9);
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_messages_within_messages_have_a_limit) {
        TraceFilter *filter = filter_new(
                WORDS(TRACE, OP(1, OP_NESTED), 1, OP(2, OP_FIELD), OP_END), NULL, 0, NULL);
        uint8_t packet[4 * TRACE_FILTER_DEPTH_MAX];

        for (size_t depth = TRACE_FILTER_DEPTH_MAX; depth <= TRACE_FILTER_DEPTH_MAX + 1; depth++) {
                size_t begins[TRACE_FILTER_DEPTH_MAX + 1], n;
                WireWriter writer;

                wire_writer_init(&writer, packet, sizeof(packet));
                for (size_t i = 0; i < depth; i++)
                        begins[i] = wire_begin(&writer, 1);
                wire_put_uint(&writer, 2, 1);
                for (size_t i = depth; i-- > 0;)
                        wire_end(&writer, begins[i]);
                n = wire_writer_size(&writer);
                ck_assert_int_eq(trace_filter_apply(filter, packet, &n),
                                 depth > TRACE_FILTER_DEPTH_MAX ? TRACE_FILTER_E_DROPPED : 0);
        }
        trace_filter_free(filter);
}
END_TEST

START_TEST(test_errors_of_broken_rules_name_the_mistake) {
        static char long_text[STRING_STARTS_MAX + 2];
        static const StringRule broken[] = {
                { .policy = 0, .pattern = "x" },
                { .policy = _STRING_POLICY_N, .pattern = "x" },
                { .policy = STRING_MATCH_REDACT, .pattern = "(" },
                { .policy = STRING_MATCH_REDACT, .pattern = "x", .name = long_text },
                { .policy = STRING_MATCH_REDACT, .pattern = "x", .atrace_start = long_text },
        };
        static const StringRule good = { .policy = STRING_MATCH_BREAK, .pattern = "x" };
        char why[PATTERN_WHY_BYTES];
        StringRules *rules;

        memset(long_text, 'x', sizeof(long_text) - 1);
        ck_assert_int_eq(string_rules_new(&rules), 0);
        for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
                why[0] = 0;
                ck_assert_int_eq(string_rules_add(rules, &broken[i], why), -EINVAL);
                ck_assert_str_ne(why, "");
        }
        for (size_t i = 0; i < STRING_RULES_MAX; i++)
                ck_assert_int_eq(string_rules_add(rules, &good, why), 0);
        ck_assert_int_eq(string_rules_add(rules, &good, why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "STRING_RULES_MAX"));
        string_rules_free(rules);
}
END_TEST

TEST_MAIN("trace-filter",
          test_only_named_fields_stay,
          test_messages_are_filtered_within,
          test_a_message_of_which_nothing_is_left_is_empty,
          test_ranges_reach_past_the_table,
          test_strings_are_redacted_in_place,
          test_string_rules_are_tried_in_order,
          test_a_packet_of_hostile_strings_takes_bounded_time,
          test_long_strings_are_not_searched,
          test_what_takes_too_long_is_hidden_whole,
          test_overlay_adds_and_changes_fields,
          test_broken_programs_are_refused,
          test_bytecode_has_a_limit,
          test_tables_have_a_limit,
          test_bytecode_needs_its_checksum,
          test_a_program_without_packets_is_refused,
          test_broken_and_empty_packets_are_dropped_and_counted,
          test_messages_within_messages_have_a_limit,
          test_errors_of_broken_rules_name_the_mistake)
