/* SPDX-License-Identifier: LGPL-2.1-or-later */

#define G_LOG_DOMAIN         "test-domain"
#define G_LOG_USE_STRUCTURED 1

#include <glib.h>
#include <string.h>

#include "desktrace/glib.h"
#include "track-world.h"

/* What a program that prints elsewhere does. */
static GLogWriterOutput
own_writer(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer userdata) {
        unsigned *n_written = userdata;

        ++*n_written;
        dt_glib_log_trace(level, fields, n_fields);
        return G_LOG_WRITER_HANDLED;
}

static unsigned n_written;

static void log_own(void) {
        static bool is_set;

        if (!is_set)
                g_log_set_writer_func(own_writer, &n_written, NULL);
        is_set = true;
        n_written = 0;
}

static const TraceEvent *only_event(World *world) {
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        return &world->trace->events[0];
}

static bool has_arg(const TraceEvent *event, const char *text) {
        return strstr(event->args, text) != NULL;
}

START_TEST(test_a_message_is_an_instant_with_priority_domain_and_place) {
        World *world = world_new();
        const TraceEvent *event;

        log_own();
        world_record(world, "log", "*");
        g_warning("%d apples", 3);
        ck_assert_uint_eq(n_written, 1);
        event = only_event(world);
        ck_assert_uint_eq(event->type, INSTANT);
        ck_assert_str_eq(event->category, "log");
        ck_assert_str_eq(event->name, "test-domain");
        ck_assert_msg(has_arg(event, "message=3 apples"), "%s", event->args);
        ck_assert_msg(has_arg(event, "test-glib-log.c"), "%s", event->args);
        ck_assert_msg(!has_arg(event, "PRIORITY"), "%s", event->args);
        world_free(world);
}
END_TEST

START_TEST(test_fields_of_a_message_are_arguments) {
        static const char value[] = { 'c', 'u', 't', '!', '!' };
        static const unsigned char bytes[] = { 0xff, 0xfe, 0x00, 0x01 };
        const GLogField fields[] = {
                { "MESSAGE", "said", -1 }, { "PRIORITY", "5", -1 }, { "REQUEST", "get", -1 },
                { "PIECE", value, 3 },     { "BYTES", bytes, 4 },   { "POINTER", &fields, 0 },
                { "NOTHING", NULL, -1 },   { "LAST", "one", -1 },
        };
        World *world = world_new();
        const TraceEvent *event;

        log_own();
        world_record(world, "log", "*");
        g_log_structured_array(G_LOG_LEVEL_MESSAGE, fields, G_N_ELEMENTS(fields));
        event = only_event(world);
        ck_assert_str_eq(event->name, "log"); /* without a domain */
        ck_assert_msg(has_arg(event, "REQUEST=get PIECE=cut LAST=one"), "%s", event->args);
        ck_assert_msg(!has_arg(event, "BYTES") && !has_arg(event, "POINTER") &&
                              !has_arg(event, "NOTHING"),
                      "%s",
                      event->args);
        world_free(world);
}
END_TEST

START_TEST(test_more_fields_than_fit_are_left_out) {
        char long_text[2 * DT_GLIB_LOG_COPIES_MAX];
        GLogField fields[2 * DT_GLIB_LOG_FIELDS_MAX] = { { "MESSAGE", "said", -1 } };
        World *world = world_new();
        const TraceEvent *event;

        memset(long_text, 'x', sizeof(long_text));
        fields[1] = (GLogField){ "LONG", long_text, sizeof(long_text) };
        for (size_t i = 2; i < G_N_ELEMENTS(fields); i++)
                fields[i] = (GLogField){ "KEY", "v", 1 };
        log_own();
        world_record(world, "log", "*");
        g_log_structured_array(G_LOG_LEVEL_DEBUG, fields, G_N_ELEMENTS(fields));
        event = only_event(world);
        ck_assert(has_arg(event, "message=said"));
        ck_assert(has_arg(event, "KEY=v"));
        ck_assert(!has_arg(event, "LONG"));
        world_free(world);
}
END_TEST

START_TEST(test_debug_messages_are_there_and_nothing_while_nobody_records) {
        World *world = world_new();

        log_own();
        g_debug("before");
        world_record(world, "log", "*");
        g_debug("meanwhile");
        ck_assert_uint_eq(n_written, 2);
        ck_assert(has_arg(only_event(world), "message=meanwhile"));
        world_free(world);
}
END_TEST

START_TEST(test_a_session_that_does_not_want_the_log_has_none_of_it) {
        World *world = world_new();

        log_own();
        world_record(world, "render", "*");
        g_message("not for you");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 0);
        world_free(world);
}
END_TEST

TEST_MAIN("glib-log",
          test_a_message_is_an_instant_with_priority_domain_and_place,
          test_fields_of_a_message_are_arguments,
          test_more_fields_than_fit_are_left_out,
          test_debug_messages_are_there_and_nothing_while_nobody_records,
          test_a_session_that_does_not_want_the_log_has_none_of_it)
