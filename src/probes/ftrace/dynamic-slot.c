/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The file is opened for reading and writing, and is never truncated, because that would remove everybody's
 * definitions. Each write is one definition; "-:group/name" removes all with that name.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-slot.h"
#include "shared/fd.h"
#include "shared/log.h"

#define DYNAMIC_FILE "dynamic_events"
#define NAME_BYTES   DYNAMIC_NAME_BYTES

#define STALE_WAITS_MAX 3 /* somebody may have the dead process's events enabled for a long time */

static int open_list(const TraceDir *dir) {
        int fd = openat(dir->fd, DYNAMIC_FILE, O_RDWR | O_APPEND | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* This locks the open file, not the process: two recordings of one process have two locks. */
static bool lock_slot(int fd, unsigned slot, short type) {
        struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1 };

        return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static int write_line(int fd, const char *line) {
        return fd_write_all(fd, line, strlen(line));
}

static int remove_event(int fd, const char *name, unsigned *n_waits) {
        char line[NAME_BYTES + 4];
        int r;

        snprintf(line, sizeof(line), "-:%s\n", name);
        do
                r = write_line(fd, line);
        while (trace_busy_wait(n_waits, r));
        return r;
}

/* "p:desktrace_3/vfs_read vfs_read ...": finds the slot and the full name, if the definition is one of ours. */
static bool parse_own(const char *line, unsigned *ret_slot, char name[static NAME_BYTES]) {
        const char *colon = strchr(line, ':');
        char *end;
        size_t n;

        if (!colon || strncmp(colon + 1, DYNAMIC_EVENT_PREFIX, strlen(DYNAMIC_EVENT_PREFIX)) != 0)
                return false;
        *ret_slot = (unsigned)strtoul(colon + 1 + strlen(DYNAMIC_EVENT_PREFIX), &end, 10);
        n = strcspn(colon + 1, " \n");
        if (*end != '/' || *ret_slot >= DYNAMIC_SLOTS_MAX || n >= NAME_BYTES)
                return false;
        memcpy(name, colon + 1, n);
        name[n] = '\0';
        return true;
}

/* Removes the definitions of a slot that the caller has locked. Returns false if some of them are enabled in an
 * instance that still exists. */
static bool remove_of_slot(int fd, const char *list, unsigned slot, int *n_removed) {
        unsigned n_waits = STALE_WAITS_MAX;
        bool all = true;

        for (const char *line = list; line; line = strchr(line, '\n')) {
                char name[NAME_BYTES];
                unsigned found;
                int r;

                line += *line == '\n';
                if (!parse_own(line, &found, name) || found != slot)
                        continue;
                r = remove_event(fd, name, &n_waits);
                if (r == 0)
                        (*n_removed)++;
                else if (
                        r !=
                        -ENOENT) /* the first of several definitions with one name took all of them along */
                        all = false;
        }
        return all;
}

int dynamic_events_remove_stale(const TraceDir *dir) {
        _cleanup_(fd_closep) int fd = open_list(dir);
        _cleanup_(freep) char *list = NULL;
        int n_removed = 0;

        if (fd < 0 || trace_dir_read(dir, DYNAMIC_FILE, &list, NULL, NULL) != 0 ||
            !strstr(list, DYNAMIC_EVENT_PREFIX))
                return 0;
        for (unsigned slot = 0; slot < DYNAMIC_SLOTS_MAX; slot++) {
                if (!lock_slot(fd, slot, F_WRLCK))
                        continue;
                if (!remove_of_slot(fd, list, slot, &n_removed))
                        log_warning("cannot remove all stale kprobes and uprobes: some are on in "
                                    "instances of others");
                (void)lock_slot(fd, slot, F_UNLCK);
        }
        if (n_removed > 0)
                log_notice("removed %d stale kprobes and uprobes", n_removed);
        return n_removed;
}

/* A slot is free if no process has locked it and the leftovers of dead processes are gone. */
int dynamic_slot_take(DynamicSlot *slot, const TraceDir *dir, char **ret_error) {
        _cleanup_(freep) char *list = NULL;
        int r, n_removed = 0;

        r = trace_dir_read(dir, DYNAMIC_FILE, &list, NULL, ret_error);
        if (r != 0)
                return r;
        slot->fd = open_list(dir);
        if (slot->fd < 0)
                return trace_refuse(ret_error, TRACE_DEFINE, dir->path, DYNAMIC_FILE, -slot->fd);
        for (unsigned number = 0; number < DYNAMIC_SLOTS_MAX; number++) {
                if (!lock_slot(slot->fd, number, F_WRLCK))
                        continue;
                slot->number = number;
                slot->n_waits = TRACE_WAITS_MAX;
                if (remove_of_slot(slot->fd, list, number, &n_removed))
                        return 0;
                (void)lock_slot(slot->fd, number, F_UNLCK);
        }
        return probe_refuse(ret_error,
                            "%d recordings with kprobes or uprobes run already, which is the "
                            "limit; stop one of them",
                            DYNAMIC_SLOTS_MAX);
}

void dynamic_slot_release(DynamicSlot *slot) {
        slot->fd = fd_close(slot->fd);
}

int dynamic_slot_write(const DynamicSlot *slot, const char *line) {
        return write_line(slot->fd, line);
}

int dynamic_slot_remove(DynamicSlot *slot, const char *name) {
        return remove_event(slot->fd, name, &slot->n_waits);
}
