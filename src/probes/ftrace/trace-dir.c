/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace dir: the top directory of tracefs */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/trace-dir.h"
#include "shared/fd.h"

/* Where the kernel says what a locked-down machine may do: "none [integrity] confidentiality". */
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"

#define EXPLANATION_BYTES 256
#define BUSY_WAIT_US      10000

static bool is_locked_down(void) {
        _cleanup_(freep) char *text = NULL;

        return fd_read_file(&text, NULL, AT_FDCWD, LOCKDOWN_FILE, 256) == 0 &&
               !strstr(text, "[none]");
}

bool trace_busy_wait(unsigned *n_waits, int error) {
        if (error != -EBUSY || *n_waits == 0)
                return false;
        (*n_waits)--;
        usleep(BUSY_WAIT_US);
        return true;
}

/* What a person can do about an error of tracefs. Returns NULL if nothing is known to help. */
static const char *error_advice(int error) {
        switch (error) {
        case EPERM:
        case EACCES:
                if (is_locked_down())
                        return N_("the kernel is locked down, which forbids kernel tracing; "
                                  "/sys/kernel/security/lockdown shows how far");
                return N_("this needs root or CAP_DAC_OVERRIDE, and no security module that "
                          "forbids it");
        case ENOENT:
                return N_("this kernel does not offer it");
        case ENOMEM:
                return N_("use a smaller buffer_size_kb");
        case EROFS:
                return N_("tracefs is mounted read-only here");
        default:
                return NULL;
        }
}

/* The error, followed by the advice. */
static int error_explain(char ret[static EXPLANATION_BYTES], int error) {
        const char *advice = error_advice(error);

        return snprintf(ret,
                        EXPLANATION_BYTES,
                        "%s%s%s",
                        strerror(error),
                        advice ? "; " : "",
                        advice ? advice : "");
}

int trace_refuse(char **ret_error,
                 TraceAction action,
                 const char *path,
                 const char *file,
                 int error) {
        char why[EXPLANATION_BYTES];

        error_explain(why, error);
        switch (action) {
        case TRACE_OPEN:
                return probe_refuse(ret_error, "cannot open %s/%s: %s", path, file, why);
        case TRACE_READ:
                return probe_refuse(ret_error, "cannot read %s/%s: %s", path, file, why);
        case TRACE_MAKE:
                return probe_refuse(
                        ret_error, "cannot make an instance in %s/%s: %s", path, file, why);
        case TRACE_DEFINE:
        default:
                return probe_refuse(
                        ret_error, "cannot define probes in %s/%s: %s", path, file, why);
        }
}

int trace_dir_new(TraceDir **ret, char **ret_error) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        const char *path = tracefs_tracing_dir();

        if (!path)
                return probe_refuse(ret_error,
                                    "tracefs is not mounted; mount it: %s",
                                    "mount -t tracefs tracefs /sys/kernel/tracing");
        dir = calloc(1, sizeof(*dir));
        if (!dir)
                return -ENOMEM;
        *dir = (TraceDir){ .path = strdup(path), .fd = -1 };
        if (!dir->path)
                return -ENOMEM;
        dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir->fd < 0)
                return trace_refuse(ret_error, TRACE_OPEN, path, "", errno);
        *ret = TAKE(dir);
        return 0;
}

TraceDir *trace_dir_free(TraceDir *dir) {
        if (!dir)
                return NULL;
        fd_close(dir->fd);
        free(dir->path);
        free(dir);
        return NULL;
}

int trace_dir_read(const TraceDir *dir,
                   const char *file,
                   char **ret,
                   size_t *ret_n,
                   char **ret_error) {
        return trace_file_read(dir->fd, dir->path, file, ret, ret_n, ret_error);
}

int trace_file_read(int dir_fd,
                    const char *path,
                    const char *file,
                    char **ret,
                    size_t *ret_n,
                    char **ret_error) {
        int r;

        r = fd_read_file(ret, ret_n, dir_fd, file, TRACE_FILE_BYTES_MAX);
        return r < 0 ? trace_refuse(ret_error, TRACE_READ, path, file, -r) : 0;
}

static int write_file(int dir_fd, const char *file, const char *value) {
        _cleanup_(fd_closep) int fd = -1;

        fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fd_write_all(fd, value, strlen(value));
}

int trace_file_write(int dir_fd,
                     const char *path,
                     const char *file,
                     const char *value,
                     char **ret_error) {
        char why[EXPLANATION_BYTES];
        int r;

        r = write_file(dir_fd, file, value);
        if (r >= 0)
                return 0;
        error_explain(why, -r);
        return probe_refuse(
                ret_error, "cannot write \"%.64s\" to %s/%s: %s", value, path, file, why);
}

int trace_dir_read_layout(const TraceDir *dir, PageLayout *ret, char **ret_error) {
        _cleanup_(freep) char *text = NULL;
        int r;

        r = trace_dir_read(dir, "events/header_page", &text, NULL, ret_error);
        if (r != 0)
                return r;
        if (page_layout_parse(ret, text) < 0)
                return probe_refuse(ret_error,
                                    "cannot understand the layout of the kernel's rings "
                                    "(events/header_page)");
        return 0;
}
