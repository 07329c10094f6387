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
        assert_finding(DOCTOR_OK, "programs", "would show painter (toy)");
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "gone"));
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "other"));
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "rare ("));
        end();
}
END_TEST

START_TEST(test_without_such_programs_that_is_said) {
        make_machine();
        put_program("7", "other\n", "no mappings\n");
        examine();
        assert_finding(DOCTOR_OK, "programs", "none of those");
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
        assert_remedy("programs", "editor is made of", "docs/DESKTOP.md");
        ck_assert_uint_eq(report.n_notes, 1);
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
        assert_finding(DOCTOR_OK, "programs", "would show p");
        ck_assert_ptr_null(find(DOCTOR_OK, "programs", "\033"));
        end();
}
END_TEST

TEST_MAIN("client-doctor-points",
          test_programs_with_known_libraries_are_named_with_their_groups,
          test_without_such_programs_that_is_said,
          test_what_is_made_of_chromium_needs_a_switch,
          test_where_there_are_no_points_nothing_is_said,
          test_names_of_programs_are_bounded_and_counted)
