/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which names of kernel events everybody may see. */

#include <stdio.h>

#include "test.h"

#include "host/probe.h"
#include "probes/ftrace/event-list.h"
#include "tree.h"

#define TRACING "sys/kernel/tracing/"

static Tree tree;

/* The names with spaces between. */
static void assert_list(const char *wanted) {
        char **names = NULL, text[256] = "";

        ck_assert_int_eq(event_list_read_at(tree.fd, &names), 0);
        for (char **name = names; name && *name; name++) {
                if (text[0])
                        strcat(text, " ");
                strcat(text, *name);
        }
        probe_names_free(names);
        ck_assert_str_eq(text, wanted);
}

START_TEST(test_names_are_as_a_recording_takes_them) {
        tree = tree_new();
        tree_put(&tree, TRACING "available_events", "sched:sched_switch\nirq:softirq_entry\n");
        assert_list("sched/sched_switch irq/softirq_entry");
        tree_free(&tree);
}
END_TEST

START_TEST(test_events_that_somebody_has_defined_are_nobodys_business) {
        tree = tree_new();
        tree_put(&tree,
                 TRACING "available_events",
                 "sched:sched_switch\nuprobes:secret\nkprobes:p_do_x\nmine:y\nuser_events:app\n");
        tree_put(&tree,
                 TRACING "dynamic_events",
                 "p:uprobes/secret /usr/bin/x:0x10\nr10:kprobes/p_do_x do_x\ns:mine/y int "
                 "a\nu:app\n");
        assert_list("sched/sched_switch");
        tree_free(&tree);
}
END_TEST

START_TEST(test_lines_that_are_no_names_are_left_out) {
        tree = tree_new();
        tree_put(&tree, TRACING "available_events", "\n:\na:\n:b\nnone\na:b c\nx:\033[2J\nok:yes");
        assert_list("ok/yes");
        tree_free(&tree);
}
END_TEST

START_TEST(test_they_are_also_found_below_debugfs) {
        tree = tree_new();
        tree_put(&tree, "sys/kernel/debug/tracing/available_events", "sched:sched_switch\n");
        assert_list("sched/sched_switch");
        tree_free(&tree);
}
END_TEST

START_TEST(test_without_tracefs_there_is_no_list) {
        char **names = NULL;

        tree = tree_new();
        ck_assert_int_lt(event_list_read_at(tree.fd, &names), 0);
        ck_assert_ptr_null(names);
        tree_free(&tree);
}
END_TEST

START_TEST(test_what_is_too_much_to_tell_is_left_out) {
        enum { N = 8192, N_LINE = 48 };
        static char text[N * N_LINE];
        char **names = NULL;
        size_t n = 0;

        for (size_t i = 0; i < N; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "group:%032zu\n", i);
        tree = tree_new();
        tree_put(&tree, TRACING "available_events", text);
        ck_assert_int_eq(event_list_read_at(tree.fd, &names), 0);
        for (n = 0; names[n]; n++)
                ;
        ck_assert_uint_eq(n, EVENT_LIST_BYTES_MAX / (strlen("group/") + 32 + 1 + sizeof(char *)));
        probe_names_free(names);
        tree_free(&tree);
}
END_TEST

TEST_MAIN("event list",
          test_names_are_as_a_recording_takes_them,
          test_events_that_somebody_has_defined_are_nobodys_business,
          test_lines_that_are_no_names_are_left_out,
          test_they_are_also_found_below_debugfs,
          test_without_tracefs_there_is_no_list,
          test_what_is_too_much_to_tell_is_left_out)
