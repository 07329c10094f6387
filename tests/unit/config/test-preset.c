/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/preset.h"
#include "test.h"

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

static void write_preset(const char *directory, const char *file, const char *text) {
        char path[256];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", root, directory);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/%s/%s", root, directory, file);
        f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_ge(fputs(text, f), 0);
        fclose(f);
}

/* Two directories, "admin" before "vendor", and one in between that does not exist. */
static void make_presets(void) {
        char path[256];

        snprintf(root, sizeof(root), "/tmp/test-preset.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(root));
        snprintf(path, sizeof(path), "%s/admin:%s/missing::%s/vendor", root, root, root);
        setenv("DESKTRACE_PRESET_PATH", path, 1);
        write_preset("vendor", "sched.pbtxt", "# Context switches\nduration_ms: 1\n");
        write_preset("vendor", "memory.pbtxt", "#\tMemory \nduration_ms: 2\n");
        write_preset("admin", "sched.pbtxt", "duration_ms: 3\n");
        write_preset("admin", "broken.pbtxt", "# Broken\nduration: 3\n");
        write_preset("admin", "notes.txt", "duration_ms: 4\n");
        write_preset("admin", "no spaces.pbtxt", "duration_ms: 4\n");
        write_preset("admin", ".pbtxt", "duration_ms: 4\n");
}

static void remove_presets(void) {
        nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

START_TEST(test_presets_are_listed_once_and_sorted) {
        static const char *const expected[][2] = {
                { "broken", "Broken" },
                { "memory", "Memory " },
                { "sched", "" },
        };
        Preset *presets;
        size_t n;

        make_presets();
        ck_assert_int_eq(presets_list(&presets, &n), 0);
        ck_assert_uint_eq(n, ARRAY_SIZE(expected));
        for (size_t i = 0; i < n; i++) {
                ck_assert_str_eq(presets[i].name, expected[i][0]);
                ck_assert_str_eq(presets[i].description, expected[i][1]);
        }
        presets_free(presets, n);
        remove_presets();
}
END_TEST

START_TEST(test_first_directory_wins) {
        _cleanup_(config_freep) Config *sched = NULL, *memory = NULL;
        ConfigError error;

        make_presets();
        ck_assert_int_eq(preset_load(&sched, "sched", &error), 0);
        ck_assert_uint_eq(sched->pb->duration_ms, 3);
        ck_assert_int_eq(preset_load(&memory, "memory", &error), 0);
        ck_assert_uint_eq(memory->pb->duration_ms, 2);
        remove_presets();
}
END_TEST

START_TEST(test_unknown_preset_names_the_nearest) {
        Config *config = NULL;
        ConfigError error;

        make_presets();
        ck_assert_int_eq(preset_load(&config, "shced", &error), PRESET_E_UNKNOWN);
        ck_assert_str_eq(error.message, "There is no preset 'shced'; did you mean sched?");
        ck_assert_int_eq(preset_load(&config, "zzzzzzzz", &error), PRESET_E_UNKNOWN);
        ck_assert_str_eq(error.message, "There is no preset 'zzzzzzzz'");
        remove_presets();
}
END_TEST

START_TEST(test_names_cannot_leave_the_directory) {
        static const char *const names[] = { "", "../vendor/memory", "/etc/passwd", ".", "a.b" };
        char too_long[PRESET_NAME_MAX + 2] = {};
        Config *config = NULL;
        ConfigError error;

        make_presets();
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                ck_assert_int_eq(preset_load(&config, names[i], &error), PRESET_E_UNKNOWN);
        memset(too_long, 'a', sizeof(too_long) - 1);
        ck_assert_int_eq(preset_load(&config, too_long, &error), PRESET_E_UNKNOWN);
        remove_presets();
}
END_TEST

START_TEST(test_broken_preset_says_where) {
        Config *config = NULL;
        ConfigError error;

        make_presets();
        ck_assert_int_eq(preset_load(&config, "broken", &error), PRESET_E_INVALID);
        ck_assert_uint_eq(error.line, 2);
        ck_assert_uint_eq(error.column, 1);
        ck_assert_str_eq(error.message,
                         "TraceConfig has no field 'duration'; did you mean duration_ms?");
        remove_presets();
}
END_TEST

START_TEST(test_no_directory_is_an_empty_list) {
        Preset *presets;
        size_t n = 1;

        setenv("DESKTRACE_PRESET_PATH", "/nonexistent", 1);
        ck_assert_int_eq(presets_list(&presets, &n), 0);
        ck_assert_uint_eq(n, 0);
        presets_free(presets, n);
}
END_TEST

TEST_MAIN("preset",
          test_presets_are_listed_once_and_sorted,
          test_first_directory_wins,
          test_unknown_preset_names_the_nearest,
          test_names_cannot_leave_the_directory,
          test_broken_preset_says_where,
          test_no_directory_is_an_empty_list)
