/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "probes/ftrace/event-format.h"

#define HEAD                                                                   \
        "name: thing\nID: 7\nformat:\n"                                        \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define TAIL "\nprint fmt: \"%d\", REC->a\n"

/* In memory of exactly its size, so that a sanitizer sees each byte too many. */
static int parse(EventFormat **ret, const char *text, size_t n, unsigned long_size) {
        char *copy = memcpy(malloc(n + 1), text, n);
        int r;

        copy = realloc(copy, MAX(n, (size_t)1));
        ck_assert_ptr_nonnull(copy);
        r = event_format_parse_words(ret, "group", copy, n, long_size);
        free(copy);
        return r;
}

static int parse_line(EventFormat **ret, const char *line, unsigned long_size) {
        static char text[16384];
        int n = snprintf(text, sizeof(text), "%s%s%s", HEAD, line, TAIL);

        return parse(ret, text, (size_t)n, long_size);
}

START_TEST(test_fields_are_what_c_calls_them) {
        static const struct {
                const char *line;
                FieldKind kind;
                uint8_t element_size; /* 0: does not matter */
        } cases[] = {
                { "int a;\toffset:8;\tsize:4;\tsigned:1;", FIELD_SIGNED, 0 },
                { "int a;\toffset:8;\tsize:4;", FIELD_UNSIGNED, 0 },
                { "unsigned long  a;\toffset:8;\tsize:8;\tsigned:0;", FIELD_UNSIGNED, 0 },
                { "void * a;\toffset:8;\tsize:8;\tsigned:0;", FIELD_UNSIGNED, 0 },
                { "dev_t a;\toffset:8;\tsize:4;\tsigned:0;", FIELD_DEVICE, 0 },
                { "const char * a;\toffset:8;\tsize:8;\tsigned:0;", FIELD_POINTER, 0 },
                { "const char *a;\toffset:8;\tsize:8;\tsigned:0;", FIELD_POINTER, 0 },
                { "const char * a;\toffset:8;\tsize:4;\tsigned:0;", FIELD_UNSIGNED, 0 },
                { "struct in6_addr a;\toffset:8;\tsize:16;\tsigned:0;", FIELD_ARRAY, 1 },
                { "char a[16];\toffset:8;\tsize:16;\tsigned:1;", FIELD_CHARS, 0 },
                { "char a[];\toffset:8;\tsize:0;\tsigned:1;", FIELD_TAIL, 0 },
                { "unsigned char a[6];\toffset:8;\tsize:6;\tsigned:0;", FIELD_ARRAY, 1 },
                { "__u32 a[4];\toffset:8;\tsize:16;\tsigned:0;", FIELD_ARRAY, 4 },
                { "u16 a[(ETH_ALEN + 2) * 2];\toffset:8;\tsize:32;\tsigned:0;", FIELD_ARRAY, 2 },
                { "u8 a[ETH_ALEN];\toffset:8;\tsize:6;\tsigned:0;", FIELD_ARRAY, 1 },
                { "unsigned long a[6];\toffset:8;\tsize:48;\tsigned:0;", FIELD_ARRAY, 8 },
                { "__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:1;", FIELD_LOC_STRING, 0 },
                { "__rel_loc char[] a;\toffset:8;\tsize:4;\tsigned:1;", FIELD_REL_STRING, 0 },
                { "__data_loc u64[] a;\toffset:8;\tsize:4;\tsigned:0;", FIELD_LOC_ARRAY, 8 },
                { "__data_loc unsigned int[] a;\toffset:8;\tsize:4;\tsigned:0;",
                  FIELD_LOC_ARRAY,
                  4 },
                { "__rel_loc unsigned long[] a;\toffset:8;\tsize:4;\tsigned:0;",
                  FIELD_REL_ARRAY,
                  8 },
                { "__data_loc cpumask_t a;\toffset:8;\tsize:4;\tsigned:0;", FIELD_LOC_ARRAY, 8 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                EventFormat *format;
                char line[256];

                snprintf(line, sizeof(line), "\tfield:%s\n", cases[i].line);
                ck_assert_msg(parse_line(&format, line, 8) == 0, "%s", cases[i].line);
                ck_assert_uint_eq(format->n_fields, 1);
                ck_assert_str_eq(format->fields[0].name, "a");
                ck_assert_uint_eq(format->fields[0].offset, 8);
                ck_assert_msg(format->fields[0].kind == cases[i].kind, "%s", cases[i].line);
                if (cases[i].element_size > 0)
                        ck_assert_uint_eq(format->fields[0].element_size, cases[i].element_size);
                event_format_free(format);
        }
}
END_TEST

START_TEST(test_words_of_the_kernel_have_the_kernels_size) {
        EventFormat *format;

        ck_assert_int_eq(parse_line(&format,
                                    "\tfield:unsigned long a[6];\toffset:8;\tsize:24;\tsigned:0;\n"
                                    "\tfield:const char * b;\toffset:32;\tsize:4;\tsigned:0;\n",
                                    4),
                         0);
        ck_assert_uint_eq(format->id, 7);
        ck_assert_str_eq(format->name, "thing");
        ck_assert_str_eq(format->group, "group");
        ck_assert_uint_eq(format->n_fields, 2);
        ck_assert_uint_eq(format->fields[0].element_size, 4);
        ck_assert_int_eq(format->fields[1].kind, FIELD_POINTER);
        event_format_free(format);
}
END_TEST

START_TEST(test_events_without_fields_of_their_own_are_events) {
        EventFormat *format;

        ck_assert_int_eq(parse_line(&format, "", 8), 0);
        ck_assert_uint_eq(format->n_fields, 0);
        event_format_free(format);
}
END_TEST

START_TEST(test_a_text_that_is_cut_is_no_format) {
        size_t n;
        char *text = fixture_read("tracefs/formats/6.18-x86_64/user_note", &n);
        size_t n_needed = (size_t)(strstr(text, "print fmt:") - text) + strlen("print fmt:");
        EventFormat *format;

        for (size_t i = 0; i < n_needed; i++)
                ck_assert_msg(parse(&format, text, i, 8) == -EBADMSG, "%zu bytes", i);
        ck_assert_int_eq(parse(&format, text, n_needed, 8), 0);
        event_format_free(format);
        free(text);
}
END_TEST

START_TEST(test_more_fields_than_an_event_can_have_are_refused) {
        static char text[64u << 10];
        EventFormat *format = NULL;

        for (unsigned n = EVENT_FIELDS_MAX; n <= EVENT_FIELDS_MAX + 1; n++) {
                size_t at = (size_t)sprintf(text, "%s", HEAD);
                int r;

                for (unsigned i = 0; i < n; i++)
                        at += (size_t)sprintf(text + at,
                                              "\tfield:int f%u;\toffset:%u;\tsize:4;\tsigned:1;\n",
                                              i,
                                              8 + 4 * i);
                at += (size_t)sprintf(text + at, "%s", TAIL);
                r = parse(&format, text, at, 8);
                ck_assert_int_eq(r, n > EVENT_FIELDS_MAX ? -EBADMSG : 0);
                format = event_format_free(format);
        }
}
END_TEST

START_TEST(test_types_and_numbers_of_any_length_are_bounded) {
        static char line[8192], type[4096];
        EventFormat *format;

        memset(type, 'x', sizeof(type) - 1);
        snprintf(line, sizeof(line), "\tfield:%s a;\toffset:8;\tsize:4;\tsigned:1;\n", type);
        ck_assert_int_eq(parse_line(&format, line, 8), -EBADMSG);
        memset(type, '*', sizeof(type) - 1);
        snprintf(line, sizeof(line), "\tfield:int %s a;\toffset:8;\tsize:4;\tsigned:1;\n", type);
        ck_assert_int_eq(parse_line(&format, line, 8), -EBADMSG);
        ck_assert_int_eq(
                parse_line(&format, "\tfield:int a;\toffset:00000008;\tsize:4;\tsigned:1;\n", 8),
                -EBADMSG);
        ck_assert_int_eq(
                parse_line(&format,
                           "\tfield:u8 a[99999999999999999999];\toffset:8;\tsize:4;\tsigned:1;\n",
                           8),
                0);
        event_format_free(format);
}
END_TEST

TEST_MAIN("event-format",
          test_fields_are_what_c_calls_them,
          test_words_of_the_kernel_have_the_kernels_size,
          test_events_without_fields_of_their_own_are_events,
          test_a_text_that_is_cut_is_no_format,
          test_more_fields_than_an_event_can_have_are_refused,
          test_types_and_numbers_of_any_length_are_bounded)
