/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "core/model/categories.h"

#include <errno.h>
#include <stdio.h>

#include "shared/macro.h"
#include "test.h"
#include "wire/wire-writer.h"

static uint8_t bytes[8192];
static WireWriter writer;
static size_t track_event;
static char said[4096];

static void begin(void) {
        wire_writer_init(&writer, bytes, sizeof(bytes));
        wire_put_string(&writer, 1, "track_event");
        track_event = wire_begin(&writer, 6);
        said[0] = 0;
}

static void put(const char *name, const char *description, const char *tag) {
        size_t category = wire_begin(&writer, 1);

        if (name)
                wire_put_string(&writer, 1, name);
        if (description)
                wire_put_string(&writer, 2, description);
        if (tag)
                wire_put_string(&writer, 3, tag);
        wire_end(&writer, category);
}

static int say_tag(void *userdata, const char *tag) {
        snprintf(said + strlen(said), sizeof(said) - strlen(said), " #%s", tag);
        return 0;
}

static int say(void *userdata, const Category *category) {
        _cleanup_(freep) char *description = NULL;

        ck_assert_int_eq(category_description(&description, category), 0);
        snprintf(said + strlen(said),
                 sizeof(said) - strlen(said),
                 "%.*s: %s",
                 (int)category->n_name,
                 category->name,
                 description ? description : "-");
        ck_assert_int_eq(category_tags(category, say_tag, NULL), 0);
        strcat(said, "\n");
        return 0;
}

static const char *read_all(void) {
        wire_end(&writer, track_event);
        ck_assert_int_eq(categories_read(bytes, wire_writer_size(&writer), say, NULL), 0);
        return said;
}

START_TEST(test_descriptions_and_tags_are_read) {
        begin();
        put("render", "what is drawn", "slow");
        put("net", NULL, NULL);
        ck_assert_str_eq(read_all(), "render: what is drawn #slow\nnet: -\n");
}
END_TEST

/* A reply with it would cost the service its connection to the bus. */
START_TEST(test_what_no_string_of_the_bus_may_hold_is_left_out) {
        begin();
        put("a\xff", "gone", NULL);
        put("", "gone", NULL);
        put(NULL, "gone", NULL);
        put("good", "one\xff\ntwo\x1b", "t\xff");
        ck_assert_str_eq(read_all(), "good: one? two  #t?\n");
}
END_TEST

START_TEST(test_what_is_long_is_cut_off) {
        static char text[CATEGORY_DESCRIPTION_MAX + 100], tag[CATEGORY_TAG_MAX + 2];
        size_t category, n_tags = 0;

        memset(text, 'x', sizeof(text) - 1);
        memset(tag, 't', sizeof(tag) - 1);
        begin();
        category = wire_begin(&writer, 1);
        wire_put_string(&writer, 1, "a");
        wire_put_string(&writer, 2, text);
        wire_put_string(&writer, 3, tag);
        for (size_t i = 1; i < CATEGORY_TAGS_MAX + 4; i++)
                wire_put_string(&writer, 3, "t");
        wire_end(&writer, category);
        read_all();
        for (const char *at = said; (at = strstr(at, " #t")); at++)
                n_tags++;
        ck_assert_uint_eq(n_tags, CATEGORY_TAGS_MAX);
        ck_assert_uint_eq(strspn(strstr(said, " #t") + 2, "t"), CATEGORY_TAG_MAX);
        ck_assert_uint_eq(strcspn(said, "#"), strlen("a: ") + CATEGORY_DESCRIPTION_MAX + 1);
}
END_TEST

START_TEST(test_what_is_no_message_tells_nothing) {
        static const uint8_t broken[] = { 0x32, 0x04, 0x0a, 0x7f, 'a', 'b' };

        said[0] = 0;
        ck_assert_int_eq(categories_read(broken, sizeof(broken), say, NULL), 0);
        ck_assert_int_eq(categories_read(NULL, 0, say, NULL), 0);
        ck_assert_str_eq(said, "");
}
END_TEST

static int refuse(void *userdata, const Category *category) {
        return -ENOMEM;
}

START_TEST(test_a_walk_may_be_stopped) {
        begin();
        put("a", NULL, NULL);
        wire_end(&writer, track_event);
        ck_assert_int_eq(categories_read(bytes, wire_writer_size(&writer), refuse, NULL), -ENOMEM);
}
END_TEST

/* A category whose fields are there twice, empty first, or of another type. */
START_TEST(test_fields_that_say_nothing_are_passed_over) {
        size_t category;

        begin();
        wire_put_uint(&writer, 1, 7); /* no category */
        category = wire_begin(&writer, 1);
        wire_put_uint(&writer, 1, 7);
        wire_put_string(&writer, 1, "name");
        wire_put_string(&writer, 1, "another");
        wire_put_uint(&writer, 2, 7);
        wire_put_string(&writer, 2, "");
        wire_put_string(&writer, 2, "text");
        wire_put_string(&writer, 2, "another");
        wire_put_uint(&writer, 3, 7);
        wire_put_string(&writer, 3, "");
        wire_put_string(&writer, 3, "tag");
        wire_put_string(&writer, 4, "field of another number");
        wire_end(&writer, category);
        category = wire_begin(&writer, 2);
        wire_put_string(&writer, 1, "no category");
        wire_end(&writer, category);
        ck_assert_str_eq(read_all(), "name: text #tag\n");
}
END_TEST

static int refuse_tag(void *userdata, const char *tag) {
        ++*(unsigned *)userdata;
        return -ENOMEM;
}

static int look_at_tags(void *userdata, const Category *category) {
        ck_assert_int_eq(category_tags(category, refuse_tag, userdata), -ENOMEM);
        return 0;
}

START_TEST(test_a_walk_over_tags_may_be_stopped) {
        size_t category;
        unsigned n = 0;

        begin();
        category = wire_begin(&writer, 1);
        wire_put_string(&writer, 1, "a");
        wire_put_string(&writer, 3, "one");
        wire_put_string(&writer, 3, "two");
        wire_end(&writer, category);
        wire_end(&writer, track_event);
        ck_assert_int_eq(categories_read(bytes, wire_writer_size(&writer), look_at_tags, &n), 0);
        ck_assert_uint_eq(n, 1);
}
END_TEST

TEST_MAIN("categories",
          test_descriptions_and_tags_are_read,
          test_what_no_string_of_the_bus_may_hold_is_left_out,
          test_what_is_long_is_cut_off,
          test_what_is_no_message_tells_nothing,
          test_a_walk_may_be_stopped,
          test_fields_that_say_nothing_are_passed_over,
          test_a_walk_over_tags_may_be_stopped)
