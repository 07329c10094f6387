/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A cgroup of this machine, with a process in it that works. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "host/packet-list.h"
#include "probes/system/cgroup-probe.h"
#include "shared/fd.h"
#include "track-path.h"

static int top = -1; /* the directory of all cgroups */
static char service[64];
static pid_t worker;

static void remove_service(void) {
        if (worker > 0) {
                kill(worker, SIGKILL);
                waitpid(worker, NULL, 0);
                worker = 0;
        }
        /* The kernel needs a moment to see that it is empty. */
        for (int i = 0; i < 500 && unlinkat(top, service, AT_REMOVEDIR) < 0 && errno == EBUSY; i++)
                usleep(10000);
}

static bool write_file(const char *path, const char *text) {
        int fd = openat(top, path, O_WRONLY | O_CLOEXEC);
        bool ok = fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;

        fd_close(fd);
        return ok;
}

/* NULL, or why the test cannot run. */
static const char *make_service(void) {
        char procs[128];
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), r;

        if (geteuid() != 0)
                return "needs root";
        r = cgroup_open_top(&top, root, NULL);
        close(root);
        if (r != 0)
                return "no cgroup v2";
        snprintf(service, sizeof(service), "desktrace-test\\x2d%d.service", getpid());
        if (mkdirat(top, service, 0755) < 0)
                return "may not make a cgroup";
        snprintf(procs, sizeof(procs), "%s/cgroup.procs", service);
        worker = fork();
        if (worker == 0) {
                bool works = write_file(procs, "0");

                while (works)
                        ;
                _exit(1);
        }
        return NULL;
}

/* Until the worker has used as much; false when it never does. */
static bool wait_for_work(uint64_t least_us) {
        char path[128], text[64];

        snprintf(path, sizeof(path), "%s/cpu.stat", service);
        for (int i = 0; i < 1000; i++) {
                int fd = openat(top, path, O_RDONLY | O_CLOEXEC);
                ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

                fd_close(fd);
                text[MAX(n, (ssize_t)0)] = '\0';
                if (strncmp(text, "usage_usec ", 11) == 0 &&
                    strtoull(text + 11, NULL, 10) >= least_us)
                        return true;
                usleep(10000);
        }
        return false;
}

START_TEST(test_a_busy_cgroup_shows_its_cpu_time_and_ends_with_it) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        CgroupConfig cgroup = PERFETTO__PROTOS__CGROUP_CONFIG__INIT;
        char *pattern = service, title[CGROUP_TITLE_BYTES], track[CGROUP_TITLE_BYTES + 32];
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .config = &config, .sink = &list.sink };
        size_t n_points;
        TrackPoint points[8];
        char *error = NULL;
        void *probe;

        cgroup.cgroups = &pattern;
        cgroup.n_cgroups = 1;
        config.cgroup_config = &cgroup;
        ck_assert_msg(
                cgroup_probe_ops.setup(&probe, &setup, &error) == 0, "%s", error ?: "no memory");
        cgroup_probe_ops.poll(probe, 1000);
        ck_assert(wait_for_work(100000));
        cgroup_probe_ops.poll(probe, 2000);
        remove_service();
        cgroup_probe_ops.poll(probe, 3000);
        cgroup_probe_ops.free(probe);

        cgroup_title(title, service);
        snprintf(track, sizeof(track), "Units/%s/CPU time", title);
        n_points = track_points(&list, track, points, 8);
        ck_assert_uint_eq(n_points, 2);
        ck_assert_uint_eq(points[0].now_ns, 1000);
        ck_assert_int_eq(points[0].value, 0);
        ck_assert_int_gt(points[1].value, 0);
        ck_assert_int_lt(points[1].value, INT64_C(60000000000));
        packet_list_deinit(&list);
}
END_TEST

int main(void) {
        const TTest *const tests[] = {
                test_a_busy_cgroup_shows_its_cpu_time_and_ends_with_it,
        };
        const char *why_not = make_service();
        int r;

        if (why_not) {
                printf("1..0 # SKIP %s\n", why_not);
                return EXIT_SUCCESS;
        }
        r = test_run("cgroup-live", tests, 1);
        remove_service();
        return r;
}
