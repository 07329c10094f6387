/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Program names: to which process a thread belongs, whose that is, and what both are called */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/program-names.h"
#include "shared/fd.h"
#include "shared/process-uuid.h"
#include "shared/utf8.h"

#define FILE_BYTES_MAX 8192
#define NEIGHBOURS     8

int program_names_init(ProgramNames *names) {
        names->names = calloc(PROGRAM_NAMES_MAX, sizeof(*names->names));
        return names->names ? 0 : -ENOMEM;
}

void program_names_deinit(ProgramNames *names) {
        free(names->names);
        *names = (ProgramNames){};
}

static char *read_text(pid_t pid, const char *file) {
        char path[64], *text = NULL;

        snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
        return fd_read_file(&text, NULL, AT_FDCWD, path, FILE_BYTES_MAX) < 0 ? NULL : text;
}

/* The comm of a thread or process; or `fallback` and its number. */
static void read_name(char name[static PROGRAM_NAME_BYTES], pid_t pid, const char *fallback) {
        _cleanup_(freep) char *text = read_text(pid, "comm"), *line = NULL;

        if (!text || !*text || *text == '\n') {
                snprintf(name, PROGRAM_NAME_BYTES, "%s %d", fallback, pid);
                return;
        }
        text[strcspn(text, "\n")] = '\0';
        line = utf8_copy_line(text, PROGRAM_NAME_BYTES - 1);
        snprintf(name, PROGRAM_NAME_BYTES, "%s", line ?: fallback);
}

/* What follows a key at the beginning of a line, or NULL. */
static const char *find_value(const char *status, const char *key) {
        const char *at = strstr(status, key);

        return at ? at + strlen(key) : NULL;
}

static void read_status(ProgramName *name) {
        _cleanup_(freep) char *status = read_text(name->tid, "status");
        const char *pid = status ? find_value(status, "\nTgid:") : NULL;
        const char *uid = status ? find_value(status, "\nUid:") : NULL;
        const char *numbers = status ? find_value(status, "\nNSpid:\t") : NULL;

        name->pid = pid && atoi(pid) > 0 ? atoi(pid) : name->tid;
        name->uid = uid ? (uid_t)strtoul(uid, NULL, 10) : (uid_t)-1;
        name->is_nested = !numbers || numbers[strcspn(numbers, "\t\n")] == '\t';
}

static uint64_t read_uuid(pid_t pid) {
        _cleanup_(freep) char *stat = read_text(pid, "stat");

        return stat ? process_uuid_make(stat, pid) : 0;
}

/* Nothing new can be read about a thread that has ended, so what is known stays. */
static void read_all(ProgramName *name, pid_t tid, uint64_t now_ns) {
        ProgramName fresh = { .tid = tid, .read_ns = now_ns };

        read_status(&fresh);
        fresh.process_uuid = read_uuid(fresh.pid);
        if (fresh.process_uuid == 0 && name->tid == tid && name->process_uuid != 0) {
                name->read_ns = now_ns;
                return;
        }
        read_name(fresh.thread, tid, "thread");
        read_name(fresh.process, fresh.pid, "process");
        *name = fresh;
}

/* Times of hits need not be in order. */
static bool may_read(ProgramNames *names, uint64_t now_ns) {
        if (now_ns > names->moment_ns + PROGRAM_MOMENT_NS) {
                names->moment_ns = now_ns;
                names->n_read = 0;
        }
        return names->n_read++ < PROGRAM_NAMES_READ;
}

/* The thread's place, or that of the neighbour that has not been asked for for the longest time. */
static ProgramName *find_place(ProgramNames *names, pid_t tid) {
        ProgramName *oldest = NULL;

        for (unsigned i = 0; i < NEIGHBOURS; i++) {
                ProgramName *name = &names->names[((unsigned)tid + i) % PROGRAM_NAMES_MAX];

                if (name->tid == tid)
                        return name;
                if (!oldest || name->used_ns < oldest->used_ns)
                        oldest = name;
        }
        return oldest;
}

static const ProgramName *unread(ProgramNames *names, pid_t tid) {
        names->unread = (ProgramName){ .tid = tid, .uid = (uid_t)-1, .is_nested = true };
        snprintf(names->unread.thread, PROGRAM_NAME_BYTES, "thread %d", tid);
        snprintf(names->unread.process, PROGRAM_NAME_BYTES, "unknown process");
        return &names->unread;
}

/* The same numbers would be other processes here: a wrong name is worse than none. */
static const ProgramName *nameless(ProgramNames *names, pid_t tid) {
        (void)unread(names, tid);
        names->unread.pid = tid;
        snprintf(names->unread.process, PROGRAM_NAME_BYTES, "process %d", tid);
        return &names->unread;
}

const ProgramName *program_name(ProgramNames *names, pid_t tid, uint64_t now_ns) {
        ProgramName *name = find_place(names, tid);
        const bool is_known = name->tid == tid;

        if (names->are_foreign)
                return nameless(names, tid);
        if (!is_known || now_ns > name->read_ns + PROGRAM_NAME_AGE_NS) {
                if (may_read(names, now_ns))
                        read_all(name, tid, now_ns);
                else if (!is_known)
                        return unread(names, tid);
        }
        name->used_ns = now_ns;
        return name;
}
