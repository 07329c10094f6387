/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is kept of the names of the kernel's events, and where. */

#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bus/link/event-names.h"
#include "kept-events.h"
#include "shared/fd.h"

static void assert_text(const EventNames *names, const char *text) {
        ck_assert_uint_eq(names->text.n, strlen(text));
        ck_assert(names->text.n == 0 || memcmp(names->text.data, text, names->text.n) == 0);
}

START_TEST(test_only_names_with_a_group_are_kept) {
        char long_name[EVENT_NAME_MAX + 2] = "group/", longest[EVENT_NAME_MAX + 1] = "group/";
        char text[2 * EVENT_NAME_MAX];
        EventNames names = {};

        memset(long_name + 6, 'x', sizeof(long_name) - 7);
        memset(longest + 6, 'x', sizeof(longest) - 7);
        ck_assert_int_eq(event_names_set(&names,
                                         (const char *const[]){ "a/b",
                                                                "",
                                                                "/",
                                                                "a/",
                                                                "/b",
                                                                "a b/c",
                                                                "a\n/b",
                                                                "a/\xc3\xa4",
                                                                "none",
                                                                long_name,
                                                                longest,
                                                                "c/d",
                                                                NULL }),
                         0);
        snprintf(text, sizeof(text), "a/b\n%s\nc/d\n", longest);
        assert_text(&names, text);
        event_names_deinit(&names);
}
END_TEST

START_TEST(test_a_change_is_noticed) {
        static const char *const list[] = { "a/b", "c/d", NULL };
        EventNames names = {};

        ck_assert_int_eq(event_names_set(&names, list), 0);
        ck_assert(names.has_changed);
        names.has_changed = false;
        ck_assert_int_eq(event_names_set(&names, list), 0);
        ck_assert(!names.has_changed);
        ck_assert_int_eq(event_names_set(&names, list + 1), 0);
        ck_assert(names.has_changed);
        assert_text(&names, "c/d\n");
        event_names_deinit(&names);
}
END_TEST

START_TEST(test_what_is_too_much_is_left_out) {
        enum { N = 8192 };
        static char texts[N][64];
        static const char *list[N + 1];
        EventNames names = {};

        for (int i = 0; i < N; i++) {
                snprintf(texts[i], sizeof(texts[i]), "group/%040d", i);
                list[i] = texts[i];
        }
        ck_assert_int_eq(event_names_set(&names, list), 0);
        ck_assert_uint_le(names.text.n, EVENT_NAMES_BYTES_MAX);
        ck_assert_uint_gt(names.text.n, EVENT_NAMES_BYTES_MAX - 64);
        event_names_deinit(&names);
}
END_TEST

/*
 * The file
 */

static void put_file(const char *folder, const char *text) {
        char path[128];
        int fd;

        snprintf(path, sizeof(path), "%s/events", folder);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
        close(fd);
}

static void remove_folder(const char *folder) {
        char path[128];

        snprintf(path, sizeof(path), "%s/events", folder);
        unlink(path);
        ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(test_names_outlive_the_service) {
        char folder[] = "/tmp/desktrace-kept-XXXXXX";
        EventNames names = {}, others = {};

        ck_assert_ptr_nonnull(mkdtemp(folder));
        setenv("RUNTIME_DIRECTORY", folder, 1);
        kept_events_load(&names);
        assert_text(&names, "");
        ck_assert_int_eq(event_names_set(&names, (const char *const[]){ "a/b", "c/d", NULL }), 0);
        kept_events_save(&names);
        kept_events_load(&others);
        assert_text(&others, "a/b\nc/d\n");
        ck_assert(!others.has_changed);
        event_names_deinit(&names);
        event_names_deinit(&others);
        remove_folder(folder);
}
END_TEST

START_TEST(test_a_file_of_anything_does_no_harm) {
        char folder[] = "/tmp/desktrace-kept-XXXXXX";
        EventNames names = {};

        ck_assert_ptr_nonnull(mkdtemp(folder));
        setenv("RUNTIME_DIRECTORY", folder, 1);
        put_file(folder, "\n\n\033[2Jx/y\na/b\n//\nc/d");
        kept_events_load(&names);
        assert_text(&names, "a/b\nc/d\n");
        event_names_deinit(&names);
        remove_folder(folder);
}
END_TEST

START_TEST(test_nothing_is_kept_without_a_directory) {
        EventNames names = {};

        unsetenv("RUNTIME_DIRECTORY");
        ck_assert_int_eq(event_names_set(&names, (const char *const[]){ "a/b", NULL }), 0);
        kept_events_save(&names);
        kept_events_load(&names);
        assert_text(&names, "a/b\n");
        event_names_deinit(&names);
}
END_TEST

TEST_MAIN("event names",
          test_only_names_with_a_group_are_kept,
          test_a_change_is_noticed,
          test_what_is_too_much_is_left_out,
          test_names_outlive_the_service,
          test_a_file_of_anything_does_no_harm,
          test_nothing_is_kept_without_a_directory)
