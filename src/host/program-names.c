/* SPDX-License-Identifier: LGPL-2.1-or-later */

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
        _cleanup_(freep) char *text = read_text(pid, "comm");

        if (!text || !*text || *text == '\n') {
                snprintf(name, PROGRAM_NAME_BYTES, "%s %d", fallback, pid);
                return;
        }
        text[strcspn(text, "\n")] = '\0';
        for (char *c = text; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = '?';
        snprintf(name, PROGRAM_NAME_BYTES, "%s", text);
        utf8_clean(name);
}

static pid_t read_process(pid_t tid) {
        _cleanup_(freep) char *status = read_text(tid, "status");
        const char *at = status ? strstr(status, "\nTgid:") : NULL;
        int pid = at ? atoi(at + strlen("\nTgid:")) : 0;

        return pid > 0 ? pid : tid;
}

static uint64_t read_uuid(pid_t pid) {
        _cleanup_(freep) char *stat = read_text(pid, "stat");

        return stat ? process_uuid_make(stat, pid) : 0;
}

/* What is known of a thread that has ended stays as it is. */
static void read_all(ProgramName *name, pid_t tid, uint64_t now_ns) {
        ProgramName fresh = { .tid = tid, .pid = read_process(tid), .read_ns = now_ns };

        fresh.process_uuid = read_uuid(fresh.pid);
        if (fresh.process_uuid == 0 && name->tid == tid && name->process_uuid != 0) {
                name->read_ns = now_ns;
                return;
        }
        read_name(fresh.thread, tid, "thread");
        read_name(fresh.process, fresh.pid, "process");
        *name = fresh;
}

const ProgramName *program_name(ProgramNames *names, pid_t tid, uint64_t now_ns) {
        ProgramName *name = &names->names[(unsigned)tid % PROGRAM_NAMES_MAX];

        if (name->tid != tid || now_ns - name->read_ns > PROGRAM_NAME_AGE_NS)
                read_all(name, tid, now_ns);
        return name;
}
