/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace symbolize: adds the names of functions to a trace file */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/output-file.h"
#include "client/say.h"
#include "client/symbol-process.h"
#include "client/verbs.h"
#include "shared/fd.h"

#define COPY_BYTES (64u << 10)

static char *arg_output;
static gboolean arg_force, arg_debuginfod, arg_lines;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write a copy with names to FILE (default: add them to the file itself)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { "debuginfod", 0, 0, G_OPTION_ARG_NONE, &arg_debuginfod,
          N_("ask the servers of $DEBUGINFOD_URLS for what this machine does not have"), NULL },
        { "lines", 0, 0, G_OPTION_ARG_NONE, &arg_lines,
          N_("add the lines of the source code and inlined functions, from debug information"), NULL },
        { 0 },
};
/* clang-format on */

static int copy(int from, int to) {
        char buffer[COPY_BYTES];
        ssize_t n;
        int r = 0;

        while (r == 0 && (n = read(from, buffer, sizeof(buffer))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                r = n < 0 ? -errno : fd_write_all(to, buffer, (size_t)n);
        }
        return r;
}

static ExitStatus say_errno(const char *what, int r) {
        g_autofree char *name = g_filename_display_name(what);

        if (r == -EBADMSG)
                say_error(_("%s is not a Perfetto trace"), name);
        else
                say_error(_("cannot read or write %s: %s"), name, g_strerror(-r));
        return STATUS_FAILED;
}

/* It is read and written again, so it cannot be a pipe. */
static int open_trace(const char *path) {
        _cleanup_(fd_closep) int fd =
                open(path, (arg_output ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        return S_ISREG(status.st_mode) ? TAKE_FD(fd) : -ESPIPE;
}

static ExitStatus
symbolize_into(const Invocation *invocation, const char *name, int trace_fd, int output_fd) {
        const SymbolWishes wishes = { .uses_debuginfod = arg_debuginfod, .wants_lines = arg_lines };
        SymbolResult result;
        int r = symbol_process_run(&result, trace_fd, output_fd, &wishes);

        if (r < 0)
                return say_errno(name, r);
        if (!invocation->is_quiet)
                symbol_result_say(&result);
        return result.is_damaged ? STATUS_DATA_LOST : STATUS_OK;
}

static ExitStatus symbolize_copy(const Invocation *invocation, const char *name, int trace_fd) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        ExitStatus status;
        int r = output_file_open(&output, arg_output, arg_force);

        if (r != 0)
                return output_file_say_error(&output, r);
        r = copy(trace_fd, output.fd);
        if (r < 0)
                return say_errno(name, r);
        status = symbolize_into(invocation, name, trace_fd, output.fd);
        return status == STATUS_FAILED ? status : MAX(status, output_file_keep(&output));
}

ExitStatus verb_symbolize(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);
        _cleanup_(fd_closep) int fd = -1;
        const char *name;

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        if (status)
                return status;
        name = invocation->arguments[0];
        fd = open_trace(name);
        if (fd < 0)
                return say_errno(name, fd);
        return arg_output ? symbolize_copy(invocation, name, fd)
                          : symbolize_into(invocation, name, fd, fd);
}
