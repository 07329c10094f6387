/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/points/point-file.h"
#include "probes/points/point-folders.h"
#include "probes/points/point-selection.h"
#include "shared/fd.h"

#define FILE_NAME "toy.conf"
#define POINT     "[Point one]\nGroup=toy\nLibrary=libtoy.so.1\nSymbol=toy_draw\nMeans=slice\n"

static PointTable table;
static ProbeNotes notes;

static void forget(void) {
        point_table_deinit(&table);
        probe_notes_deinit(&notes);
}

static void parse(const char *text) {
        forget();
        ck_assert_int_eq(point_file_parse(&table, FILE_NAME, text, &notes), 0);
}

static void assert_notes(const char *first, ...) __attribute__((__sentinel__));

static void assert_notes(const char *first, ...) {
        const char *text = first;
        va_list args;
        size_t n = 0;

        va_start(args, first);
        for (; text; text = va_arg(args, const char *), n++) {
                ck_assert_msg(n < notes.n, "not said: %s", text);
                ck_assert_msg(
                        strstr(notes.texts[n], text), "\"%s\" is not \"%s\"", notes.texts[n], text);
        }
        va_end(args);
        ck_assert_msg(n == notes.n, "also said: %s", n < notes.n ? notes.texts[n] : "");
}

START_TEST(test_a_point_has_what_its_section_says) {
        const Point *point;

        parse("# comment\n[Points]\nGroup = toy\nCategory=cat\n\n[Point "
              "draw]\nLibrary=libtoy.so.1\n"
              "Symbol=toy_draw\nMeans=swap\nName=draw it\n"
              "Arguments=window:u32:+16(arg1); count:s16:arg2\nWhen=count=7\nSurface=window\n");
        assert_notes(NULL, NULL);
        ck_assert_uint_eq(table.n_points, 1);
        point = table.points;
        ck_assert_str_eq(point->group, "toy");
        ck_assert_str_eq(point->name, "draw");
        ck_assert_str_eq(point->label, "draw it");
        ck_assert_str_eq(point->category, "cat");
        ck_assert_int_eq(point->meaning, POINT_SWAP);
        ck_assert_uint_eq(point->n_arguments, 2);
        ck_assert_str_eq(point->arguments[0].where, "+16(arg1)");
        ck_assert_int_eq(point->arguments[1].type, POINT_S16);
        ck_assert_uint_eq(point->arguments[1].slot, 1);
        ck_assert_int_eq(point->conditions[0].argument, 1);
        ck_assert_uint_eq(point->conditions[0].number, 7);
        ck_assert_int_eq(point->surface, 0);
        ck_assert_int_eq(point->process, POINT_NO_ARGUMENT);
        ck_assert(point->is_default);
        forget();
}
END_TEST

START_TEST(test_mistakes_are_told_with_their_line_and_the_rest_counts) {
        parse(POINT "Colour=red\n[Point two]\nMeans=slice\n" POINT "[Point");
        assert_notes(FILE_NAME ":6: there is no key Colour=",
                     FILE_NAME ":7: [Point two] is left out: Group= is missing",
                     FILE_NAME ":9: there is a point toy/one already",
                     FILE_NAME ":14: a section is written as",
                     NULL);
        ck_assert_uint_eq(table.n_points, 1);
        forget();
}
END_TEST

typedef struct Mistake {
        const char *lines, *note;
} Mistake;

static const Mistake mistakes[] = {
        { "Means=dance\n", ":6: Means=dance: no such value" },
        { "Default=maybe\n", ":6: Default=maybe: no such value" },
        { "Group=a b\n", ":6: Group=a b: no such value" },
        { "Symbol=\n", ":6: Symbol=: no such value" },
        { "Arguments=a\n", ": an argument is NAME:TYPE:WHERE" },
        { "Arguments=a:u32:%di\n", ": an argument is at arg1" },
        { "Arguments=a:u32:arg7\n", ": an argument is at arg1" },
        { "Arguments=a:u32:+70000(arg1)\n", ": an argument is at arg1" },
        { "Arguments=a:u32:+0(arg1\n", ": an argument is at arg1" },
        { "Arguments=a:u32:+0(+0(+0(+0(+0(arg1)))))\n", ": an argument is at arg1" },
        { "Arguments=a:u32:+0(arg1) b=%si:u64\n", ": an argument is at arg1" },
        { "Arguments=a:f64:arg1\n", ": types are" },
        { "Arguments=a:u8:arg1;a:u8:arg2\n", ": no such name of an argument, or twice" },
        { "Arguments=a:text:+0(arg1)\n", ": of this function no text may be read" },
        { "Arguments=a:u8:arg1;b:u8:arg1;c:u8:arg1;d:u8:arg1;e:u8:arg1;f:u8:arg1;g:u8:arg1\n",
          ": at most 6 arguments can be numbers" },
        { "When=a=1\n", "When=: there is no argument a" },
        { "Arguments=a:u8:arg1\nWhen=a=x\n", "When=: a is a number" },
        { "Surface=a\n", "Surface=: there is no argument a" },
        { "Means=presented\n", "Means=presented needs Seconds=" },
        { "USDT=a:b\n", "a point with USDT= is an instant" },
        { "Library=/usr/lib/libtoy.so.1\n", "Library= is missing, or no soname" },
        { "Library=*.so.1\n", "Library= has to begin with a name" },
        { "no key\n", ":6: a line is Key=Value" },
        { "\001=a\n", ":6: the line is not text" },
};

START_TEST(test_each_mistake_is_told_for_itself) {
        for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
                char text[512];

                snprintf(text, sizeof(text), POINT "%s", mistakes[i].lines);
                parse(text);
                assert_notes(mistakes[i].note, NULL);
        }
        forget();
}
END_TEST

START_TEST(test_a_text_may_be_read_where_it_was_reviewed) {
        parse("[Point push]\nGroup=gst\nLibrary=libgstreamer-1.0.so.0\nSymbol=gst_pad_push\n"
              "Means=slice\nArguments=element:text:+0(+32(+40(arg1)))\n");
        assert_notes(NULL, NULL);
        ck_assert_uint_eq(table.n_points, 1);
        parse("[Point push]\nGroup=gst\nLibrary=libgstreamer-1.0.so.0\nSymbol=gst_pad_push\n"
              "Means=slice\nArguments=element:text:+0(+32(+48(arg1)))\n");
        ck_assert_uint_eq(table.n_points, 0);
        forget();
}
END_TEST

START_TEST(test_there_is_an_end_to_points) {
        char *text = malloc(POINTS_MAX * 128 + 4096);
        size_t n;

        n = (size_t)sprintf(text, "[Points]\nGroup=toy\nLibrary=libtoy.so.1\n");
        for (int i = 0; i <= POINTS_MAX; i++)
                n += (size_t)sprintf(text + n, "[Point p%d]\nSymbol=f\nMeans=instant\n", i);
        parse(text);
        ck_assert_uint_eq(table.n_points, POINTS_MAX);
        assert_notes("at most", NULL);
        forget();
        free(text);
}
END_TEST

/*
 * Folders
 */

static char folders[2][64];

static void put(const char *folder, const char *name, const char *text, mode_t mode) {
        char path[128];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(text, file);
        fclose(file);
        ck_assert_int_eq(chmod(path, mode), 0);
}

static void setup_folders(void) {
        char path[160];

        for (int i = 0; i < 2; i++) {
                snprintf(folders[i], sizeof(folders[i]), "/tmp/test-points-XXXXXX");
                ck_assert_ptr_nonnull(mkdtemp(folders[i]));
        }
        snprintf(path, sizeof(path), "%s:/nowhere:%s", folders[0], folders[1]);
        setenv("DESKTRACE_POINTS_PATH", path, 1);
}

static void teardown_folders(void) {
        char command[256];

        snprintf(command, sizeof(command), "rm -r %s %s", folders[0], folders[1]);
        ck_assert_int_eq(system(command), 0);
        forget();
}

static void read_folders(void) {
        forget();
        ck_assert_int_eq(point_folders_read(&table, &notes), 0);
}

START_TEST(test_a_file_replaces_those_of_its_name_in_later_folders) {
        setup_folders();
        put(folders[0], "a.conf", "", 0644);
        put(folders[1], "a.conf", POINT, 0644);
        put(folders[1], "b.conf", POINT, 0644);
        put(folders[1], "c.conf.bak", POINT, 0644);
        read_folders();
        assert_notes(NULL, NULL);
        ck_assert_uint_eq(table.n_points, 1);
        ck_assert_ptr_nonnull(strstr(table.points->file, "/b.conf"));
        teardown_folders();
}
END_TEST

START_TEST(test_what_others_can_write_does_not_count) {
        char link_path[128];

        setup_folders();
        put(folders[0], "a.conf", POINT, 0664);
        put(folders[0], "b.conf", POINT, 0646);
        snprintf(link_path, sizeof(link_path), "%s/c.conf", folders[0]);
        ck_assert_int_eq(symlink("/etc/passwd", link_path), 0);
        read_folders();
        ck_assert_uint_eq(table.n_points, 0);
        assert_notes(
                "a.conf is passed over", "b.conf is passed over", "c.conf is passed over", NULL);
        teardown_folders();
}
END_TEST

START_TEST(test_a_file_of_somebody_else_does_not_count) {
        char path[128];

        if (geteuid() != 0) {
                test_skip("only root can give files away");
                return;
        }
        setup_folders();
        put(folders[0], "a.conf", POINT, 0644);
        snprintf(path, sizeof(path), "%s/a.conf", folders[0]);
        ck_assert_int_eq(chown(path, 12345, 0), 0);
        read_folders();
        ck_assert_uint_eq(table.n_points, 0);
        assert_notes("a.conf is passed over", NULL);
        teardown_folders();
}
END_TEST

/*
 * Selection
 */

static size_t
n_selected(const char **groups, size_t n_groups, const char **points, size_t n_points) {
        ProgramPointsConfig config = PERFETTO__PROTOS__PROGRAM_POINTS_CONFIG__INIT;
        PointSelection selection;
        size_t n = 0;

        config.groups = (char **)groups;
        config.n_groups = n_groups;
        config.points = (char **)points;
        config.n_points = n_points;
        probe_notes_deinit(&notes);
        ck_assert_int_eq(point_selection_init(&selection, &config, &notes, NULL), 0);
        for (size_t i = 0; i < selection.table.n_points; i++)
                n += selection.is_selected[i];
        point_selection_deinit(&selection);
        return n;
}

START_TEST(test_a_config_selects_by_groups_and_names) {
        const char *both[] = { "t*", "fun" }, *none[] = { "moon" }, *quiet[] = { "toy/quiet" };

        setup_folders();
        put(folders[0],
            "a.conf",
            POINT
            "[Point quiet]\nGroup=toy\nLibrary=libtoy.so.1\nSymbol=q\nMeans=instant\nDefault=no\n"
            "[Point other]\nGroup=fun\nLibrary=libtoy.so.1\nSymbol=o\nMeans=instant\n",
            0644);
        ck_assert_uint_eq(n_selected(NULL, 0, NULL, 0), 2);
        ck_assert_uint_eq(n_selected(both, 1, NULL, 0), 1);
        ck_assert_uint_eq(n_selected(both, 2, quiet, 1), 3);
        assert_notes(NULL, NULL);
        ck_assert_uint_eq(n_selected(none, 1, none, 1), 0);
        assert_notes(
                "groups: there is no point \"moon\"", "points: there is no point \"moon\"", NULL);
        teardown_folders();
}
END_TEST

START_TEST(test_without_points_there_is_nothing_to_record) {
        PointSelection selection;
        char *error = NULL;

        setup_folders();
        ck_assert_int_eq(point_selection_init(&selection, NULL, NULL, &error), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "there are no points"));
        free(error);
        teardown_folders();
}
END_TEST

START_TEST(test_what_is_installed_has_no_mistakes) {
        static const char *const names[] = { "bus",  "gl",     "gstreamer", "gtk",
                                             "kwin", "loops",  "mutter",    "qt",
                                             "sdl",  "vulkan", "wayland",   "wlroots" };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                size_t n_before = table.n_points;
                char path[512], *text;

                snprintf(path, sizeof(path), POINTS "/%s.conf", names[i]);
                ck_assert_int_eq(fd_read_file(&text, NULL, AT_FDCWD, path, POINT_FILE_BYTES_MAX),
                                 0);
                ck_assert_int_eq(point_file_parse(&table, path, text, &notes), 0);
                ck_assert_uint_gt(table.n_points, n_before);
                free(text);
        }
        assert_notes(NULL, NULL);
        forget();
}
END_TEST

TEST_MAIN("points-file",
          test_a_point_has_what_its_section_says,
          test_mistakes_are_told_with_their_line_and_the_rest_counts,
          test_each_mistake_is_told_for_itself,
          test_a_text_may_be_read_where_it_was_reviewed,
          test_there_is_an_end_to_points,
          test_a_file_replaces_those_of_its_name_in_later_folders,
          test_what_others_can_write_does_not_count,
          test_a_file_of_somebody_else_does_not_count,
          test_a_config_selects_by_groups_and_names,
          test_without_points_there_is_nothing_to_record,
          test_what_is_installed_has_no_mistakes)
