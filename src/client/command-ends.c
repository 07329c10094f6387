/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Command ends: what a command inherits so that bridges can record it */

#include "client/command-ends.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/macro.h"

/* A data source of desktrace-bridges that records a command through a descriptor. */
typedef struct CommandSource {
        const char *source;
        const char *name; /* for the bridges: LISTEN_FDNAMES */
        int (*make)(int *ret_ours, int *ret_its);
        bool needs_command;
        const char *format; /* how its variable shows the descriptor's number */
        /* The first variable has the descriptor's number, the others are constants; ends with one that has no name. */
        ProcessVariable variables[COMMAND_END_VARIABLES_MAX + 1];
} CommandSource;

static int make_pair(int *ret_ours, int *ret_its) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        *ret_ours = fds[0];
        *ret_its = fds[1];
        return 0;
}

/* The command opens it again by its number. */
static int make_file(int *ret_ours, int *ret_its) {
        _cleanup_(fd_closep) int fd = -1;

        fd = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0) /* not every file system supports this */
                fd = memfd_create("firefox", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret_its = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (*ret_its < 0)
                return -errno;
        *ret_ours = TAKE_FD(fd);
        return 0;
}

/* Firefox's profiler takes no samples, which is what linux.perf and cpu.stacks are for, and no stacks of markers. */
static const CommandSource command_sources[COMMAND_SOURCES_MAX] = {
        {
                .source = "org.gnome.sysprof",
                .name = "sysprof",
                .make = make_pair,
                .format = "%d",
                .variables = { { "SYSPROF_CONTROL_FD", NULL, true } },
        },
        {
                .source = "org.mozilla.firefox",
                .name = "firefox",
                .make = make_file,
                .needs_command = true,
                .format = "/proc/self/fd/%d",
                .variables = {
                        { "MOZ_PROFILER_SHUTDOWN", NULL, true },
                        { "MOZ_PROFILER_STARTUP", "1", true },
                        { "MOZ_PROFILER_STARTUP_FEATURES", "nostacksampling,nomarkerstacks", true },
                        { "MOZ_PROFILER_STARTUP_FILTERS",
                          "GeckoMain,Compositor,Renderer,DOM Worker",
                          true },
                },
        },
};

static bool is_wanted(const CommandSource *source, char *const *sources) {
        return g_strv_contains((const char *const *)sources, source->source) &&
               !g_getenv(source->variables[0].name);
}

int command_ends_make(CommandEnds *ends, char *const *sources) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < COMMAND_SOURCES_MAX; i++)
                if (is_wanted(&command_sources[i], sources))
                        r = command_sources[i].make(&ends->ours[i], &ends->its[i]);
        return r;
}

void command_ends_close_ours(CommandEnds *ends) {
        for (size_t i = 0; i < COMMAND_SOURCES_MAX; i++)
                ends->ours[i] = fd_close(ends->ours[i]);
}

void command_ends_deinit(CommandEnds *ends) {
        command_ends_close_ours(ends);
        for (size_t i = 0; i < COMMAND_SOURCES_MAX; i++) {
                ends->its[i] = fd_close(ends->its[i]);
                g_clear_pointer(&ends->values[i], g_free);
        }
}

bool command_ends_needs_command(const char *source) {
        for (size_t i = 0; i < COMMAND_SOURCES_MAX; i++)
                if (command_sources[i].needs_command &&
                    strcmp(command_sources[i].source, source) == 0)
                        return true;
        return false;
}

size_t command_ends_sockets(const CommandEnds *ends,
                            ProcessSocket ret[static COMMAND_SOURCES_MAX]) {
        size_t n = 0;

        for (size_t i = 0; i < COMMAND_SOURCES_MAX; i++)
                if (ends->ours[i] >= 0)
                        ret[n++] = (ProcessSocket){ ends->ours[i], command_sources[i].name };
        return n;
}

static ProcessVariable *
add_variables(const CommandSource *source, char *value, ProcessVariable *at) {
        const ProcessVariable *variable = source->variables;

        *at = *variable++;
        at++->value = value;
        while (variable->name)
                *at++ = *variable++;
        return at;
}

void command_ends_pass(CommandEnds *ends, ProcessVariable *variables) {
        while (variables->name)
                variables++;
        for (size_t i = 0; i < COMMAND_SOURCES_MAX; i++) {
                if (ends->its[i] < 0 || fcntl(ends->its[i], F_SETFD, 0) < 0)
                        continue;
                ends->values[i] = g_strdup_printf(command_sources[i].format, ends->its[i]);
                variables = add_variables(&command_sources[i], ends->values[i], variables);
        }
        *variables = (ProcessVariable){ 0 };
}
