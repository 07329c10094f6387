/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "test.h"

#include "probes/system/cgroup-tree.h"
#include "shared/macro.h"
#include "tree.h"

typedef struct Fixture {
        Tree files;
        CgroupSelect select;
        CgroupTree tree;
        size_t n_added, n_removed;
} Fixture;

static Fixture fixture;

static void *on_added(Cgroup *cgroup, void *userdata) {
        ck_assert_ptr_eq(userdata, &fixture);
        fixture.n_added++;
        return &fixture;
}

static void on_removed(Cgroup *cgroup, void *userdata) {
        ck_assert_ptr_eq(cgroup->unit, &fixture);
        fixture.n_removed++;
}

static const CgroupTreeOps ops = { .added = on_added, .removed = on_removed };

static void setup(unsigned max_depth) {
        fixture = (Fixture){ .files = tree_new() };
        ck_assert_int_eq(cgroup_tree_init(&fixture.tree,
                                          fixture.files.fd,
                                          &fixture.select,
                                          max_depth,
                                          &ops,
                                          &fixture),
                         0);
}

static void teardown(void) {
        cgroup_tree_deinit(&fixture.tree);
        ck_assert_uint_eq(fixture.n_added, fixture.n_removed);
        tree_free(&fixture.files);
}

static void make(const char *path) {
        tree_make_parents(&fixture.files, path);
        ck_assert_int_eq(mkdirat(fixture.files.fd, path, 0755), 0);
}

static void unmake(const char *path) {
        ck_assert_int_eq(unlinkat(fixture.files.fd, path, AT_REMOVEDIR), 0);
}

static Cgroup *find(const char *path) {
        for (Cgroup *at = NULL; (at = cgroup_tree_next(&fixture.tree, at));)
                if (streq(at->path, path))
                        return at;
        return NULL;
}

static size_t count(void) {
        size_t n = 0;

        for (Cgroup *at = NULL; (at = cgroup_tree_next(&fixture.tree, at));)
                n++;
        return n;
}

START_TEST(test_slices_services_and_scopes_are_found_at_any_depth) {
        setup(CGROUP_DEPTH_DEFAULT);
        make("system.slice/dbus.service");
        make("system.slice/docker-1.scope/payload");
        make("system.slice/tmp.mount");
        make("user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope");
        make("init.scope");
        tree_put(&fixture.files, "system.slice/cpu.stat", "usage_usec 1\n");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), 11);
        ck_assert_uint_eq(fixture.tree.n_recorded, 9);
        ck_assert_ptr_null(find("system.slice/docker-1.scope/payload")->unit);
        ck_assert_ptr_null(find("system.slice/tmp.mount")->unit);
        ck_assert_ptr_nonnull(
                find("user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope")->unit);
        ck_assert_str_eq(find("init.scope")->name, "init.scope");
        ck_assert_str_eq(find("system.slice/dbus.service")->name, "dbus.service");
        teardown();
}
END_TEST

START_TEST(test_parents_come_before_their_children) {
        setup(CGROUP_DEPTH_DEFAULT);
        make("a.slice/b.slice/c.slice");
        make("d.slice");
        cgroup_tree_walk(&fixture.tree);
        for (Cgroup *at = NULL; (at = cgroup_tree_next(&fixture.tree, at));) {
                Cgroup *above = fixture.tree.top;

                while (above && above != at->parent)
                        above = cgroup_tree_next(&fixture.tree, above->parent ? above : NULL);
                ck_assert_ptr_eq(above, at->parent);
        }
        ck_assert_uint_eq(count(), 4);
        teardown();
}
END_TEST

START_TEST(test_what_comes_and_goes_is_seen_by_the_next_walk) {
        setup(CGROUP_DEPTH_DEFAULT);
        make("a.slice/b.service");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.n_added, 2);
        make("a.slice/c.service");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.n_added, 3);
        unmake("a.slice/b.service");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.n_removed, 1);
        ck_assert_ptr_null(find("a.slice/b.service"));
        unmake("a.slice/c.service");
        unmake("a.slice");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.n_removed, 3);
        ck_assert_uint_eq(count(), 0);
        ck_assert_uint_eq(fixture.tree.n_dirs, 0);
        teardown();
}
END_TEST

/* What systemctl restart does. A new directory may get the inode of the old one on some file systems, but not here
 * while that is open. */
START_TEST(test_one_that_was_made_again_is_another) {
        int old;

        setup(CGROUP_DEPTH_DEFAULT);
        make("a.slice/b.service/c.scope");
        cgroup_tree_walk(&fixture.tree);
        old = openat(fixture.files.fd, "a.slice/b.service", O_PATH | O_CLOEXEC);
        unmake("a.slice/b.service/c.scope");
        unmake("a.slice/b.service");
        make("a.slice/b.service");
        make("a.slice/b.service/d.scope");
        cgroup_tree_walk(&fixture.tree);
        close(old);
        ck_assert_uint_eq(fixture.n_removed, 2);
        ck_assert_uint_eq(fixture.n_added, 5);
        ck_assert_ptr_nonnull(find("a.slice/b.service/d.scope"));
        ck_assert_ptr_null(find("a.slice/b.service/c.scope"));
        teardown();
}
END_TEST

/* The number of links is as it was. */
START_TEST(test_one_in_the_place_of_another_is_seen) {
        setup(CGROUP_DEPTH_DEFAULT);
        make("a.slice/b.scope");
        cgroup_tree_walk(&fixture.tree);
        unmake("a.slice/b.scope");
        make("a.slice/c.scope");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_ptr_null(find("a.slice/b.scope"));
        cgroup_tree_walk(&fixture.tree);
        ck_assert_ptr_nonnull(find("a.slice/c.scope"));
        teardown();
}
END_TEST

START_TEST(test_patterns_are_of_names_and_of_paths) {
        char *some[] = { (char[]){ "foo*.service" },
                         (char[]){ "/user.slice/*.scope" },
                         (char[]){ "app-[ab]-1.service" } };
        char *star = (char[]){ "*" }, *stars = (char[]){ "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b" };

        setup(CGROUP_DEPTH_DEFAULT);
        fixture.select = (CgroupSelect){ some, ARRAY_SIZE(some) };
        make("system.slice/foo-1.service");
        make("system.slice/bar.service");
        make("system.slice/x.scope");
        make("system.slice/app-a\\x2d1.service");
        make("user.slice/user-1.slice/x.scope");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.tree.n_recorded, 3);
        ck_assert_ptr_nonnull(find("system.slice/foo-1.service")->unit);
        ck_assert_ptr_nonnull(find("user.slice/user-1.slice/x.scope")->unit);
        ck_assert_ptr_nonnull(find("system.slice/app-a\\x2d1.service")->unit);

        /* Also what is no unit; and a pattern that a simple matcher would try for ages. */
        ck_assert(cgroup_is_selected(&(CgroupSelect){ &star, 1 }, "a/payload", "payload"));
        ck_assert(!cgroup_is_selected(&(CgroupSelect){ &stars, 1 },
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                      ""));
        teardown();
}
END_TEST

START_TEST(test_titles_are_readable_and_valid_text) {
        static const char *const names[][2] = {
                { "dbus.service", "dbus.service" },
                { "app-org.gnome.Terminal\\x2dserver.scope",
                  "app-org.gnome.Terminal-server.scope" },
                { "a\\xc3\\xa4.service", "a\xc3\xa4.service" },
                { "caf\xc3\xa9.scope", "caf\xc3\xa9.scope" },
                { "a\\x0ab.scope", "a\\x0ab.scope" }, /* a line's end stays an escape */
                { "a\nb\x7f.scope", "a\\x0ab\\x7f.scope" },
                { "a\xff\xc3.scope", "a\\xff\\xc3.scope" },
                { "\\xc3.scope", "\\xc3.scope" },
                { "\\x00\\x2\\xzz\\X2d\\", "\\x00\\x2\\xzz\\X2d\\" },
        };
        char title[CGROUP_TITLE_BYTES], longest[CGROUP_NAME_MAX + 1];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                cgroup_title(title, names[i][0]);
                ck_assert_str_eq(title, names[i][1]);
        }
        memset(longest, 0xff, CGROUP_NAME_MAX);
        longest[CGROUP_NAME_MAX] = '\0';
        cgroup_title(title, longest);
        ck_assert_uint_eq(strlen(title), CGROUP_TITLE_BYTES - 1);
}
END_TEST

START_TEST(test_siblings_have_different_titles) {
        const Cgroup *all[3];

        setup(CGROUP_DEPTH_DEFAULT);
        make("a-b.scope");
        make("a\\x2db.scope");
        make("\\x61-b.scope");
        cgroup_tree_walk(&fixture.tree);
        all[0] = find("a-b.scope");
        all[1] = find("a\\x2db.scope");
        all[2] = find("\\x61-b.scope");
        for (size_t i = 0; i < 3; i++) {
                ck_assert_ptr_nonnull(all[i]);
                ck_assert_str_ne(all[i]->title, all[(i + 1) % 3]->title);
        }
        teardown();
}
END_TEST

START_TEST(test_depth_has_an_end) {
        setup(2);
        make("a.slice/b.slice/c.slice");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), 2);
        ck_assert_uint_eq(fixture.tree.n_beyond, 0);
        teardown();
}
END_TEST

START_TEST(test_a_path_that_is_too_long_is_beyond) {
        char part[256] = "", path[256 * 20] = "";
        int parent;

        setup(CGROUP_DEPTH_MAX);
        memset(part, 'x', 250);
        strcat(part, ".slic");
        parent = dup(fixture.files.fd);
        for (size_t i = 0; i < 20; i++) {
                int child;

                ck_assert_int_eq(mkdirat(parent, part, 0755), 0);
                child = openat(parent, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                ck_assert_int_ge(child, 0);
                close(parent);
                parent = child;
        }
        close(parent);
        for (size_t i = 0; i < 3; i++)
                cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), CGROUP_PATH_BYTES_MAX / 256);
        ck_assert_uint_eq(fixture.tree.n_beyond, 1);
        snprintf(path, sizeof(path), "%s", fixture.tree.top->path);
        ck_assert_str_eq(path, ".");
        teardown();
}
END_TEST

static void make_many(const char *parent, const char *kind, size_t n) {
        char path[128];

        for (size_t i = 0; i < n; i++) {
                snprintf(path, sizeof(path), "%s/%zu.%s", parent, i, kind);
                make(path);
        }
}

START_TEST(test_what_is_beyond_the_limit_is_counted_and_found_when_there_is_room) {
        setup(CGROUP_DEPTH_DEFAULT);
        make_many("a.slice", "scope", CGROUPS_MAX + 9);
        make("b.slice");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.tree.n_recorded, CGROUPS_MAX);
        ck_assert_uint_eq(fixture.tree.n_beyond, 11);
        ck_assert_ptr_nonnull(find("b.slice")); /* it is nearer to the top */
        for (Cgroup *at = cgroup_tree_next(&fixture.tree, NULL), *next; at; at = next) {
                next = cgroup_tree_next(&fixture.tree, at);
                if (at->depth == 2 && fixture.n_removed++ < 4)
                        unmake(at->path);
        }
        fixture.n_removed = 0;
        cgroup_tree_walk(&fixture.tree);
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(fixture.tree.n_recorded, CGROUPS_MAX);
        ck_assert_uint_eq(fixture.tree.n_beyond, 7);
        teardown();
}
END_TEST

START_TEST(test_directories_have_a_limit_of_their_own) {
        setup(CGROUP_DEPTH_DEFAULT);
        make_many("a.slice", "mount", CGROUP_DIRS_MAX + 5);
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), CGROUP_DIRS_MAX);
        ck_assert_uint_eq(fixture.tree.n_recorded, 1);
        ck_assert_uint_eq(fixture.tree.n_beyond, 6);

        /* Nor are they counted for ever. */
        make_many("a.slice", "swap", CGROUP_DIRS_MAX + 5);
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), CGROUP_DIRS_MAX);
        ck_assert_uint_eq(fixture.tree.n_beyond, CGROUP_DIRS_MAX);
        teardown();
}
END_TEST

START_TEST(test_links_and_files_are_no_cgroups) {
        setup(CGROUP_DEPTH_DEFAULT);
        ck_assert_int_eq(symlinkat("..", fixture.files.fd, "loop.slice"), 0);
        tree_put(&fixture.files, "file.slice", "");
        make(".hidden.slice");
        cgroup_tree_walk(&fixture.tree);
        ck_assert_uint_eq(count(), 0);
        teardown();
}
END_TEST

TEST_MAIN("cgroup-tree",
          test_slices_services_and_scopes_are_found_at_any_depth,
          test_parents_come_before_their_children,
          test_what_comes_and_goes_is_seen_by_the_next_walk,
          test_one_that_was_made_again_is_another,
          test_one_in_the_place_of_another_is_seen,
          test_patterns_are_of_names_and_of_paths,
          test_titles_are_readable_and_valid_text,
          test_siblings_have_different_titles,
          test_depth_has_an_end,
          test_a_path_that_is_too_long_is_beyond,
          test_what_is_beyond_the_limit_is_counted_and_found_when_there_is_room,
          test_directories_have_a_limit_of_their_own,
          test_links_and_files_are_no_cgroups)
