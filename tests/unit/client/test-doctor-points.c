/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which programs points would show, by what they have mapped. */

#include "test.h"

#include "../probes/tree.h"
#include "build-config.h"
#include "client/doctor-points.h"
#include "doctor-report.h"

#define MAPPING(address, path) \
        "7f" address "000-7f" address "fff r-xp 00000000 fe:00 77    " path "\n"

static Tree tree;

static void put_points(const char *folder, const char *name, const char *text) {
        char path[256];

        snprintf(path, sizeof(path), "%s/%s", folder + (*folder == '/'), name);
        tree_put(&tree, path, text);
}

static void make_machine(void) {
        tree = tree_new();
        put_points(POINTS_DIR,
                   "toy.conf",
                   "# a comment\n[Points]\nGroup=toy\nLibrary=libtoy.so.1\n"
                   "[Point draw]\nSymbol=toy_draw\nMeans=slice\n"
                   "[Point rare]\nLibrary=librare.so.*\nSymbol=rare\nMeans=slice\nDefault=no\n");
        put_points(POINTS_DIR,
                   "gone.conf",
                   "[Point gone]\nGroup=gone\nLibrary=libtoy.so.1\nSymbol=gone\nMeans=slice\n");
        put_points(CONFIG_DIR "/points.d", "gone.conf", "");
}

static void put_program(const char *pid, const char *name, const char *maps) {
        char path[64];

        snprintf(path, sizeof(path), "proc/%s/maps", pid);
        tree_put(&tree, path, maps);
        snprintf(path, sizeof(path), "proc/%s/comm", pid);
        tree_put(&tree, path, name);
}

/* Looks, and forgets the tree. */
static void examine(void) {
        PointFacts *facts = point_facts_new(tree.fd);

        begin();
        point_check(&report, facts);
        point_facts_free(facts);
        tree_free(&tree);
}

START_TEST(test_programs_with_known_libraries_are_named_with_their_groups) {
        make_machine();
        put_program("7", "painter\n", MAPPING("01", "/usr/lib/libtoy.so.1.2.3"));
        put_program("8", "other\n", MAPPING("01", "/usr/lib/libtoy.so.2"));
        put_program("9", "rare\n", MAPPING("01", "/usr/lib/librare.so.1"));
        examine();
        assert_finding(
                DOCTOR_OK, "programs", "linux.program_points would show by toy.conf: painter");
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "gone"));
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "other"));
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "rare"));
        end();
}
END_TEST

START_TEST(test_without_such_programs_that_is_said) {
        make_machine();
        put_program("7", "other\n", "no mappings\n");
        examine();
        assert_finding(DOCTOR_OK, "programs", "no program that you may inspect");
        end();
}
END_TEST

START_TEST(test_what_is_made_of_chromium_needs_a_switch) {
        make_machine();
        put_program("7",
                    "editor\n",
                    "7f01000-7f02000 r--p 00000000 fe:00 9    /opt/e/v8_context_snapshot.bin\n");
        put_program("8",
                    "editor\n",
                    "7f01000-7f02000 r--p 00000000 fe:00 9    /opt/e/v8_context_snapshot.bin\n");
        examine();
        assert_finding(DOCTOR_NOTE, "programs", "editor is made of Chromium");
        assert_remedy("programs", "editor is made of", "EnablePerfettoSystemTracing");
        ck_assert_uint_eq(report.n_notes, 1);
        end();
}
END_TEST

START_TEST(test_where_the_switch_can_stay_is_said) {
        static const struct {
                const char *path, *remedy;
        } cases[] = {
                { "/usr/lib/chromium/", "~/.config/chromium-flags.conf" },
                { "/usr/lib/electron27/", "~/.config/electron-flags.conf" },
                { "/app/chromium/", "~/.var/app/org.chromium.Chromium/config/chromium-flags.conf" },
                { "/opt/e/", "docs/DESKTOP.md" },
        };
        char maps[128];

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                make_machine();
                snprintf(maps,
                         sizeof(maps),
                         "7f01000-7f02000 r--p 00000000 fe:00 9    %sv8_context_snapshot.bin\n",
                         cases[i].path);
                put_program("7", "editor\n", maps);
                examine();
                assert_remedy("programs", "editor is made of", cases[i].remedy);
                end();
        }
        make_machine();
        tree_put(&tree, "etc/chromium.d/README", "");
        put_program("7",
                    "chromium\n",
                    "7f01000-7f02000 r--p 00000000 fe:00 9    "
                    "/usr/lib/chromium/v8_context_snapshot.bin\n");
        examine();
        assert_remedy("programs", "chromium is made of", "/etc/chromium.d/");
        end();
}
END_TEST

START_TEST(test_what_bridges_would_show_is_said_for_each) {
        make_machine();
        put_program("7", "player\n", MAPPING("01", "/usr/lib/libpipewire-0.3.so.0.365.0"));
        put_program("8", "gears\n", MAPPING("01", "/usr/lib/libxcb-present.so.0.0.0"));
        put_program("9", "gears\n", MAPPING("01", "/usr/lib/libxcb-present.so.0.0.0"));
        examine();
        assert_finding(DOCTOR_OK, "programs", "org.pipewire.profiler would show player");
        assert_finding(DOCTOR_OK, "programs", "org.x.present would show gears");
        ck_assert_uint_eq(report.findings->len, 2);
        end();
}
END_TEST

START_TEST(test_programs_that_show_more_with_a_variable_are_reported_with_it) {
        make_machine();
        put_program("7", "film\n", MAPPING("01", "/usr/lib/libgstreamer-1.0.so.0.2200.0"));
        examine();
        assert_finding(DOCTOR_NOTE, "programs", "film would show more");
        assert_remedy("programs", "film would show more", "GST_TRACERS=desktrace");
        end();
}
END_TEST

START_TEST(test_what_the_bus_says_is_said_with_it) {
        PointFacts *facts;

        make_machine();
        facts = point_facts_new(tree.fd);
        point_facts_add(facts, "org.freedesktop.dbus", "panel");
        point_facts_add(facts, "org.freedesktop.dbus", "panel");
        point_facts_add(facts, "org.freedesktop.dbus", "mixer");
        begin();
        point_check(&report, facts);
        assert_finding(DOCTOR_OK, "programs", "org.freedesktop.dbus would show panel, mixer");
        point_facts_free(facts);
        tree_free(&tree);
        end();
}
END_TEST

START_TEST(test_where_there_are_no_points_nothing_is_said) {
        tree = tree_new();
        put_program("7", "painter\n", MAPPING("01", "/usr/lib/libtoy.so.1"));
        examine();
        ck_assert_uint_eq(report.findings->len, 0);
        end();
}
END_TEST

START_TEST(test_names_of_programs_are_bounded_and_counted) {
        char pid[16], name[16];

        make_machine();
        for (unsigned i = 0; i < 2 * POINT_PROGRAMS_MAX; i++) {
                snprintf(pid, sizeof(pid), "%u", i + 1);
                snprintf(name, sizeof(name), "p\033[1m%u\n", i);
                put_program(pid, name, MAPPING("01", "/usr/lib/libtoy.so.1"));
        }
        examine();
        assert_finding(DOCTOR_OK, "programs", "would show by toy.conf: p");
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "\033"));
        end();
}
END_TEST

TEST_MAIN("client-doctor-points",
          test_programs_with_known_libraries_are_named_with_their_groups,
          test_without_such_programs_that_is_said,
          test_what_is_made_of_chromium_needs_a_switch,
          test_where_the_switch_can_stay_is_said,
          test_what_bridges_would_show_is_said_for_each,
          test_programs_that_show_more_with_a_variable_are_reported_with_it,
          test_what_the_bus_says_is_said_with_it,
          test_where_there_are_no_points_nothing_is_said,
          test_names_of_programs_are_bounded_and_counted)
