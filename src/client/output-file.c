/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Output file: the file that a recording is written to */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/output-file.h"
#include "client/say.h"
#include "shared/fd.h"

#define TRACE_SUFFIX       ".pftrace"
#define DEFAULT_NUMBER_MAX 1000 /* numbered files that begin within one second */

char *output_file_default_path(void) {
        time_t now = time(NULL);
        char text[64];
        struct tm local;

        if (!localtime_r(&now, &local))
                return g_strdup("desktrace" TRACE_SUFFIX);
        strftime(text, sizeof(text), "desktrace-%Y%m%d-%H%M%S" TRACE_SUFFIX, &local);
        return g_strdup(text);
}

char *output_file_numbered_path(const char *path, unsigned number) {
        g_autofree char *stem = g_strdup(path);

        if (g_str_has_suffix(stem, TRACE_SUFFIX) && strlen(stem) > strlen(TRACE_SUFFIX))
                stem[strlen(stem) - strlen(TRACE_SUFFIX)] = 0;
        return g_strdup_printf("%s-%u" TRACE_SUFFIX, stem, number);
}

static int open_stdout(OutputFile *output) {
        if (isatty(STDOUT_FILENO))
                return -ENOTTY;
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return output->fd < 0 ? -errno : output_relay_start(&output->relay, &output->fd);
}

/* A pipe or a device takes bytes as they are. */
static int open_special(OutputFile *output) {
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return output->fd < 0 ? -errno : output_relay_start(&output->relay, &output->fd);
}

static int open_beside(OutputFile *output) {
        output->new_path = g_strconcat(output->path, ".XXXXXX", NULL);
        output->fd = mkostemp(output->new_path, O_CLOEXEC);
        if (output->fd < 0) {
                g_clear_pointer(&output->new_path, g_free);
                return -errno;
        }
        output->is_ours = true;
        return fchmod(output->fd, 0644) < 0 ? -errno : 0;
}

/* Looks at the file that already has this name. */
static int open_existing(OutputFile *output, bool replace) {
        struct stat st;

        if (stat(output->path, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return open_special(output);
        return replace ? open_beside(output) : -EEXIST;
}

static int open_new(OutputFile *output) {
        output->fd = open(output->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
        if (output->fd < 0)
                return -errno;
        output->is_ours = true;
        return 0;
}

/* Several recordings may begin within a second: -2 is appended, and so on. */
static int open_default(OutputFile *output) {
        g_autofree char *path = output_file_default_path();
        int r;

        output->path = g_strdup(path);
        r = open_new(output);
        for (unsigned number = 2; r == -EEXIST && number <= DEFAULT_NUMBER_MAX; number++) {
                g_free(output->path);
                output->path = output_file_numbered_path(path, number);
                r = open_new(output);
        }
        return r;
}

int output_file_open(OutputFile *output, const char *path, bool replace) {
        int r;

        *output = (OutputFile)OUTPUT_FILE_INIT;
        if (!path)
                return open_default(output);
        output->path = g_strdup(path);
        if (streq(path, "-"))
                return open_stdout(output);
        r = open_new(output);
        return r == -EEXIST ? open_existing(output, replace) : r;
}

/* -1: not a file of ours, or its size is not known. */
static off_t own_size(const OutputFile *output) {
        struct stat st;

        return output->is_ours && fstat(output->fd, &st) == 0 ? st.st_size : -1;
}

bool output_file_is_empty(const OutputFile *output) {
        return own_size(output) == 0;
}

bool output_file_has_data(const OutputFile *output) {
        return own_size(output) > 0;
}

int output_file_commit(OutputFile *output) {
        int r = output_relay_finish(&output->relay, &output->fd);

        if (r < 0)
                return r;
        if (output->new_path && rename(output->new_path, output->path) < 0)
                return -errno;
        output->is_ours = false;
        return 0;
}

ExitStatus output_file_say_error(const OutputFile *output, int r) {
        if (r == -ENOTTY) {
                say_error(_("will not write a trace to a terminal: redirect stdout to a file or a "
                            "program"));
                return STATUS_USAGE;
        }
        say_error(_("cannot write %s: %s"), output->path, g_strerror(-r));
        if (r != -EEXIST)
                return STATUS_FAILED;
        say_hint(_("Use -f to replace it."));
        return STATUS_USAGE;
}

ExitStatus output_file_keep(OutputFile *output) {
        int r = output_file_commit(output);

        if (r == 0)
                return STATUS_OK;
        if (output->new_path)
                say_error(_("cannot name the recording %s: %s"), output->path, g_strerror(-r));
        else
                say_error(_("cannot write %s: %s"), output->path, g_strerror(-r));
        return STATUS_FAILED;
}

void output_file_deinit(OutputFile *output) {
        output_relay_cancel(&output->relay);
        output->fd = fd_close(output->fd);
        if (output->is_ours)
                unlink(output->new_path ? output->new_path : output->path);
        output->is_ours = false;
        g_clear_pointer(&output->path, g_free);
        g_clear_pointer(&output->new_path, g_free);
}
