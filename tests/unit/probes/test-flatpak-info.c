/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "namespace.h"
#include "shared/flatpak-info.h"
#include "tree.h"

#define INFO "[Application]\nname=org.example.App\nruntime=runtime/org.gnome.Platform/x86_64/47\n"

START_TEST(test_the_name_of_the_application_is_taken_and_no_other) {
        static const struct {
                const char *text, *id; /* NULL: none */
        } cases[] = {
                { INFO, "org.example.App" },
                { "[Instance]\nname=other\n\n" INFO, "org.example.App" },
                { "[Application]\nname=a", "a" },
                { "[Application]\n[Instance]\nname=other\n", NULL },
                { "[Applications]\nname=other\n", NULL },
                { "name=other\n[Application]\n", NULL },
                { "[Application]\nname=\n", NULL },
                { "[Application]\nname=a b\n", NULL },
                { "[Application]\nname=\x1b[2J\n", NULL },
                { "[Application]\nname=../../etc\n", NULL },
                { "[Application", NULL },
                { "", NULL },
        };
        char long_name[1024], id[FLATPAK_APP_ID_BYTES];

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ck_assert_int_eq(flatpak_info_parse(id, cases[i].text), cases[i].id != NULL);
                if (cases[i].id)
                        ck_assert_str_eq(id, cases[i].id);
        }
        snprintf(long_name,
                 sizeof(long_name),
                 "[Application]\nname=%0*d\n",
                 FLATPAK_APP_ID_BYTES,
                 1);
        ck_assert(!flatpak_info_parse(id, long_name));
}
END_TEST

START_TEST(test_only_a_mount_that_is_a_tmpfs_is_one) {
        static const char mounts[] = "21 1 0:20 / / rw,relatime - overlay overlay rw\n"
                                     "36 21 0:30 / /tmp rw shared:5 master:2 - tmpfs tmpfs rw\n"
                                     "37 21 0:31 / /a\\040-\\040tmpfs rw - fuse.x tmpfs rw\n"
                                     "38 21 0:32 / /b rw - tmpfsx tmpfs rw\n"
                                     "39 21 0:33 / /c rw tmpfs\n"
                                     "40";

        ck_assert(flatpak_mount_is_tmpfs(mounts, 36));
        for (long i = 37; i <= 41; i++)
                ck_assert(!flatpak_mount_is_tmpfs(mounts, i));
        ck_assert(!flatpak_mount_is_tmpfs(mounts, 21));
        ck_assert(!flatpak_mount_is_tmpfs(mounts, 3));
        ck_assert(!flatpak_mount_is_tmpfs("", 0));
}
END_TEST

/* A process whose root is `path`, a tmpfs in which `fill` has been. */
static pid_t enter_root(const char *path, void (*fill)(const char *path)) {
        int ready[2];
        pid_t pid;
        char c;

        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                if (namespace_enter(0) < 0 || mount("tmpfs", path, "tmpfs", 0, NULL) < 0)
                        _exit(1);
                fill(path);
                if (chroot(path) < 0 || write(ready[1], "", 1) != 1)
                        _exit(1);
                pause();
                _exit(0);
        }
        close(ready[1]);
        ck_assert_int_eq(read(ready[0], &c, 1), 1);
        close(ready[0]);
        return pid;
}

static bool read_in_root(void (*fill)(const char *path), char *ret) {
        int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        Tree tree = tree_new();
        pid_t pid = enter_root(tree.path, fill);
        bool found = flatpak_info_read(ret, proc_fd, pid);

        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(proc_fd);
        tree_free(&tree);
        return found;
}

static void fill_info(const char *path) {
        Tree tree = { .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

        tree_put(&tree, ".flatpak-info", INFO);
}

static void fill_link(const char *path) {
        Tree tree = { .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

        tree_put(&tree, "other", INFO);
        ck_assert_int_eq(symlinkat("other", tree.fd, ".flatpak-info"), 0);
}

/* One that nobody writes into: who opens it waits for ever. */
static void fill_fifo(const char *path) {
        Tree tree = { .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

        ck_assert_int_eq(mkfifoat(tree.fd, ".flatpak-info", 0600), 0);
}

/* Of another file system, as a mount over the file. */
static void fill_mount(const char *path) {
        char file[128];

        fill_info(path);
        snprintf(file, sizeof(file), "%s/.flatpak-info", path);
        ck_assert_int_eq(mount("/proc/version", file, NULL, MS_BIND, NULL), 0);
}

/* One that its owner holds: who opens it waits until he lets it go, or for as long as the kernel lets him. */
static void fill_lease(const char *path) {
        Tree tree = { .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        int fd;

        fill_info(path);
        fd = openat(tree.fd, ".flatpak-info", O_RDWR | O_CLOEXEC);
        signal(SIGIO, SIG_IGN); /* the kernel's request to let it go */
        ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
}

static void fill_nothing(const char *path) {
}

START_TEST(test_a_sandbox_is_looked_into_only_where_nobody_can_hold_us_up) {
        char id[FLATPAK_APP_ID_BYTES];

        if (!namespace_is_allowed(0)) {
                test_skip("no mount namespace can be made here");
                return;
        }
        ck_assert(read_in_root(fill_info, id));
        ck_assert_str_eq(id, "org.example.App");
        ck_assert(!read_in_root(fill_nothing, id));
        ck_assert(!read_in_root(fill_link, id));
        ck_assert(!read_in_root(fill_fifo, id));
        ck_assert(!read_in_root(fill_mount, id));
        ck_assert(!read_in_root(fill_lease, id));
}
END_TEST

START_TEST(test_a_process_that_has_gone_is_in_no_sandbox) {
        int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char id[FLATPAK_APP_ID_BYTES];

        ck_assert(!flatpak_info_read(id, proc_fd, 1 << 30));
        ck_assert(!flatpak_info_read(id, proc_fd, getpid()));
        close(proc_fd);
}
END_TEST

TEST_MAIN("flatpak-info",
          test_the_name_of_the_application_is_taken_and_no_other,
          test_only_a_mount_that_is_a_tmpfs_is_one,
          test_a_sandbox_is_looked_into_only_where_nobody_can_hold_us_up,
          test_a_process_that_has_gone_is_in_no_sandbox)
