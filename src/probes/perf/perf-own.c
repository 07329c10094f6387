/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf own: sampling events on the threads of one user's programs */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/perf/perf-own.h"
#include "shared/fd.h"

#define PASSES_MAX    8 /* passes over /proc: threads start others meanwhile */
#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

/* The setting that the administrator would have to change. */
static int refuse(int error, char **ret_error) {
        _cleanup_(freep) char *text = NULL;

        if (fd_read_file(&text, NULL, AT_FDCWD, PARANOID_PATH, 64) < 0)
                return probe_refuse(ret_error,
                                    "this kernel has no perf_event_open(): it needs "
                                    "CONFIG_PERF_EVENTS");
        return probe_refuse(
                ret_error,
                "the kernel does not let users sample their own programs (%s): as root, "
                "sysctl kernel.perf_event_paranoid=2 allows it (it is %ld), or record "
                "the machine, as an administrator may",
                strerror(error),
                strtol(text, NULL, 10));
}

int perf_own_check(char **ret_error) {
        struct perf_event_attr attr = {
                .size = sizeof(attr),
                .type = PERF_TYPE_SOFTWARE,
                .config = PERF_COUNT_SW_DUMMY,
                .disabled = 1,
                .exclude_kernel = 1,
                .exclude_hv = 1,
        };
        int fd;

        if (!perf_events_can_walk())
                return perf_events_check(ret_error);
        fd = perf_event_open(&attr, 0, -1);
        if (fd < 0)
                return refuse(-fd, ret_error);
        close(fd);
        return 0;
}

/*
 * Threads
 */

/* Opens events on all processors or none; otherwise a part of the thread's work would be missing silently. */
static int
open_thread(PerfOwn *own, const PerfEvents *events, const PerfSettings *settings, pid_t tid) {
        const size_t n_before = own->n_fds;
        int r = 0;

        for (size_t i = 0; i < events->n_rings && r >= 0; i++) {
                r = own->n_fds < PERF_OWN_EVENTS_MAX
                            ? perf_events_open_thread(events, i, settings, tid)
                            : -EMFILE;
                if (r >= 0)
                        own->fds[own->n_fds++] = r;
        }
        if (r >= 0)
                return 0;
        while (own->n_fds > n_before)
                close(own->fds[--own->n_fds]);
        return r;
}

/* The thread has ended, or the user may not read it: neither is an error. */
static bool is_harmless(int error) {
        return error == -ESRCH || error == -EACCES || error == -EPERM;
}

static int take_thread(PerfOwn *own,
                       const PerfEvents *events,
                       const PerfSettings *settings,
                       pid_t tid,
                       bool *found) {
        int r;

        if (pid_set_has(&own->threads, tid))
                return 0;
        pid_set_add(&own->threads, tid);
        *found = true;
        r = open_thread(own, events, settings, tid);
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM) {
                own->n_missed++;
                return 0;
        }
        return is_harmless(r) ? 0 : r;
}

static int take_process(PerfOwn *own,
                        const PerfEvents *events,
                        const PerfSettings *settings,
                        pid_t pid,
                        bool *found) {
        char path[64];
        struct dirent *entry;
        DIR *tasks;
        int r = 0;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        tasks = opendir(path);
        while (tasks && r == 0 && (entry = readdir(tasks)))
                if (isdigit((unsigned char)entry->d_name[0]))
                        r = take_thread(own, events, settings, atoi(entry->d_name), found);
        if (tasks)
                closedir(tasks);
        return r;
}

/*
 * Processes
 */

/* The kernel's own threads belong to root, but run no program. */
static bool is_candidate(int proc, const char *name) {
        char path[64], target[PATH_MAX];
        struct stat st;

        snprintf(path, sizeof(path), "%s/exe", name);
        return fstatat(proc, name, &st, 0) == 0 && st.st_uid == geteuid() &&
               readlinkat(proc, path, target, sizeof(target)) > 0;
}

/* Unwanted processes get events, too, as wanted ones may be started by them. */
static bool is_wanted(const PerfScope *scope, pid_t pid) {
        return perf_scope_needs_command(scope) || perf_scope_needs_unit(scope) ||
               perf_scope_has(scope, pid, "", "");
}

static int
take_all(PerfOwn *own, const PerfEvents *events, const PerfSettings *settings, bool *found) {
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        int r = 0;

        if (!proc)
                return -errno;
        while (r == 0 && (entry = readdir(proc)))
                if (isdigit((unsigned char)entry->d_name[0]) &&
                    is_candidate(dirfd(proc), entry->d_name) &&
                    is_wanted(&settings->scope, atoi(entry->d_name)))
                        r = take_process(own, events, settings, atoi(entry->d_name), found);
        closedir(proc);
        return r;
}

int perf_own_attach(PerfOwn *own,
                    const PerfEvents *events,
                    const PerfSettings *settings,
                    char **ret_error) {
        bool found = true;
        int r = 0;

        *own = (PerfOwn){ .fds = calloc(PERF_OWN_EVENTS_MAX, sizeof(*own->fds)) };
        if (!own->fds)
                return -ENOMEM;
        for (int i = 0; i < PASSES_MAX && found && r == 0; i++) {
                found = false;
                r = take_all(own, events, settings, &found);
        }
        if (r == 0)
                return 0;
        perf_own_detach(own);
        return perf_events_refuse(settings, r, ret_error);
}

void perf_own_detach(PerfOwn *own) {
        while (own->n_fds > 0)
                close(own->fds[--own->n_fds]);
        free(own->fds);
        pid_set_deinit(&own->threads);
        *own = (PerfOwn){};
}

void perf_own_enable(const PerfOwn *own) {
        for (size_t i = 0; i < own->n_fds; i++)
                (void)ioctl(own->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void perf_own_disable(const PerfOwn *own) {
        for (size_t i = 0; i < own->n_fds; i++)
                (void)ioctl(own->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}
