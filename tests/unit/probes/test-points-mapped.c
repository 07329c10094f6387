/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "host/probe.h"
#include "probes/points/mapped-files.h"
#include "tree.h"

#define MS      PROBE_NS_PER_MS
#define START   "7f0000001000"
#define MAPPING START "-7f0000002000"
#define DISK    "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"

/* A made-up /proc with some processes, and what was found in it. */
typedef struct World {
        Tree tree;
        MappedFiles files;
        unsigned n_found;
        char last[64];
} World;

static bool visit_wants(void *userdata, const char *name) {
        return strncmp(name, "libtoy.so", strlen("libtoy.so")) == 0;
}

static void visit_found(void *userdata, int fd, const char *path) {
        World *world = userdata;

        world->n_found++;
        snprintf(world->last, sizeof(world->last), "%s", path);
        close(fd);
}

static void world_init(World *world) {
        const MappedVisitor visitor = { visit_wants, visit_found, world };

        *world = (World){ .tree = tree_new() };
        ck_assert_int_eq(mapped_files_init(&world->files, &visitor), 0);
        world->files.proc = world->tree.path;
        tree_put(&world->tree, "self/mountinfo", "");
}

static void world_deinit(World *world) {
        mapped_files_deinit(&world->files);
        tree_free(&world->tree);
}

static void put(const World *world, int pid, const char *name, const char *text) {
        char path[64];

        snprintf(path, sizeof(path), "%d/%s", pid, name);
        tree_put(&world->tree, path, text);
}

/* A process that has the file with this number on device 8:1 mapped. */
static void put_process(const World *world, int pid, unsigned inode, const char *mounts) {
        char line[128];

        snprintf(line, sizeof(line), MAPPING " r-xp 00001000 08:01 %u   /lib/libtoy.so.1\n", inode);
        put(world, pid, "maps", line);
        put(world, pid, "mountinfo", mounts);
}

static void put_file(const World *world, int pid) {
        put(world, pid, "map_files/" MAPPING, "a library");
}

static void look(World *world, uint64_t now_ns) {
        while (mapped_files_look(&world->files, now_ns))
                ;
}

START_TEST(test_files_are_left_alone_where_they_might_not_answer) {
        static const struct {
                const char *mounts, *own;
                bool is_found;
        } cases[] = {
                { DISK, "", true },
                { "40 1 0:40 / /other rw - fuse.sshfs x rw\n" DISK, "", true },
                { "", DISK, true }, /* a container's device that only we have mounted */
                { "21 1 8:1 / / rw shared:1 master:2 - btrfs /dev/sda1 rw\n", "", true },
                { "21 1 8:1 / / rw - fuse /dev/x rw\n", "", false },
                { "21 1 8:1 / / rw - fuse.sshfs host: rw\n", "", false },
                { "21 1 8:1 / / rw - fuseblk /dev/sda1 rw\n", "", false },
                { "21 1 8:1 / / rw shared:7 - nfs4 host:/x rw\n", "", false },
                { "21 1 8:1 / / rw - cifs //host/x rw\n", "", false },
                { "21 1 8:1 / /a\\040-\\040ext4 rw - fuse x rw\n", "", false },
                { "21 1 8:1 / / rw - fuse x rw\n", DISK, false }, /* its own mounts count first */
                { "21 1 8:2 / / rw - ext4 /dev/sda2 rw\n", "", false },
                { "21 1 8:1 / / rw ext4\n", "", false },
                { "8:1 - ext4\n21\n - \n\n", "", false },
                { "", "", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                World world;

                world_init(&world);
                put_process(&world, 100, 1, cases[i].mounts);
                tree_put(&world.tree, "self/mountinfo", cases[i].own);
                put_file(&world, 100);
                look(&world, 0);
                look(&world, 30000 * MS);
                ck_assert_msg(world.n_found == cases[i].is_found, "case %zu", i);
                ck_assert_msg(world.files.n_foreign == !cases[i].is_found, "case %zu", i);
                world_deinit(&world);
        }
}
END_TEST

START_TEST(test_a_process_is_looked_at_again_when_it_has_loaded_more) {
        World world;

        world_init(&world);
        put(&world, 100, "maps", MAPPING " r-xp 00001000 08:01 7   /lib/other.so\n");
        put_file(&world, 100);
        look(&world, 0);
        put_process(&world, 100, 1, DISK);
        look(&world, 1000 * MS);
        ck_assert_uint_eq(world.n_found, 0);
        look(&world, 1600 * MS);
        ck_assert_uint_eq(world.n_found, 1);
        ck_assert_str_eq(world.last, "/lib/libtoy.so.1");
        look(&world, 30000 * MS);
        ck_assert_uint_eq(world.n_found, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_comes_late_is_found_when_all_are_looked_at) {
        World world;

        world_init(&world);
        put(&world, 100, "maps", "");
        put_file(&world, 100);
        look(&world, 0);
        look(&world, 1600 * MS);
        put_process(&world, 100, 1, DISK);
        look(&world, 19000 * MS);
        ck_assert_uint_eq(world.n_found, 0);
        look(&world, 20000 * MS);
        ck_assert_uint_eq(world.n_found, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_file_that_could_not_be_opened_is_tried_again) {
        World world;

        world_init(&world);
        put_process(&world, 100, 1, DISK);
        look(&world, 0);
        ck_assert_uint_eq(world.n_found, 0);
        ck_assert_uint_eq(world.files.n_foreign, 0);
        put_file(&world, 100);
        look(&world, 1600 * MS);
        ck_assert_uint_eq(world.n_found, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_one_turn_looks_at_few_processes_and_none_is_forgotten) {
        unsigned n_turns = 1;
        World world;

        world_init(&world);
        for (int i = 0; i < 2 * MAPPED_TURN_MAX + 10; i++) {
                put_process(&world, 100 + i, 1 + (unsigned)i, DISK);
                put_file(&world, 100 + i);
        }
        ck_assert(mapped_files_look(&world.files, 0));
        ck_assert_uint_le(world.n_found, MAPPED_TURN_MAX);
        while (mapped_files_look(&world.files, 0))
                n_turns++;
        ck_assert_uint_eq(n_turns, 2);
        ck_assert_uint_eq(world.n_found, 2 * MAPPED_TURN_MAX + 10);
        world_deinit(&world);
}
END_TEST

START_TEST(test_the_bytes_read_in_one_turn_are_limited) {
        enum { N_LINE = 64, N_LINES = MAPPED_TURN_BYTES / N_LINE };
        char *text = malloc(N_LINES * N_LINE + 1);
        World world;

        ck_assert_ptr_nonnull(text);
        for (size_t i = 0; i < N_LINES; i++)
                snprintf(text + i * N_LINE, N_LINE + 1, "%-*s\n", N_LINE - 1, "a line of nothing");
        world_init(&world);
        for (int i = 0; i < 3; i++)
                put(&world, 100 + i, "maps", text);
        ck_assert(mapped_files_look(&world.files, 0));
        ck_assert_uint_lt(world.files.n_read, 2 * MAPPED_TURN_BYTES);
        look(&world, 0);
        free(text);
        world_deinit(&world);
}
END_TEST

TEST_MAIN("points-mapped",
          test_files_are_left_alone_where_they_might_not_answer,
          test_a_process_is_looked_at_again_when_it_has_loaded_more,
          test_what_comes_late_is_found_when_all_are_looked_at,
          test_a_file_that_could_not_be_opened_is_tried_again,
          test_one_turn_looks_at_few_processes_and_none_is_forgotten,
          test_the_bytes_read_in_one_turn_are_limited)
