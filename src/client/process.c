/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Process: a child that we start and wait for */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/process.h"
#include "shared/fd.h"

#define LISTEN_FD 3 /* sd_listen_fds(3) */

/* We block signals to take them from the event loop, and ignore SIGPIPE; the child must not inherit that. */
static void child_reset_signals(void) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
}

/* Moves the descriptor out of the way of those that are passed. */
static int fd_move_up(int fd, const ProcessSpec *spec) {
        const int high = fcntl(fd, F_DUPFD_CLOEXEC, LISTEN_FD + (int)spec->n_listen);

        return high < 0 ? -errno : high;
}

static char *join_names(const ProcessSpec *spec) {
        GString *names = g_string_new(NULL);

        for (size_t i = 0; i < spec->n_listen; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ":" : "", spec->listen[i].name);
        return g_string_free(names, FALSE);
}

static int child_name_sockets(const ProcessSpec *spec) {
        g_autofree char *names = join_names(spec);
        char pid[16], count[16];

        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        snprintf(count, sizeof(count), "%zu", spec->n_listen);
        if (setenv("LISTEN_PID", pid, 1) < 0 || setenv("LISTEN_FDS", count, 1) < 0 ||
            setenv("LISTEN_FDNAMES", names, 1) < 0)
                return -errno;
        return spec->is_kept && setenv("SYSTEMD_EXEC_PID", pid, 1) < 0 ? -errno : 0;
}

/* Any of them may have the number that another descriptor is to get. */
static int child_pass_sockets(const ProcessSpec *spec) {
        int moved[PROCESS_PASSED_MAX];

        for (size_t i = 0; i < spec->n_listen; i++) {
                moved[i] = fd_move_up(spec->listen[i].fd, spec);
                if (moved[i] < 0)
                        return moved[i];
        }
        for (size_t i = 0; i < spec->n_listen; i++)
                if (dup2(moved[i], LISTEN_FD + (int)i) < 0)
                        return -errno;
        return child_name_sockets(spec);
}

static int child_set_variables(const ProcessVariable *variables) {
        for (const ProcessVariable *at = variables; at && at->name; at++)
                if (at->value && setenv(at->name, at->value, !at->is_default) < 0)
                        return -errno;
        return 0;
}

/* A recording may see the child before it runs its program, and would take it for another desktrace. */
static void child_take_name(const ProcessSpec *spec) {
        const char *slash = strrchr(spec->argv[0], '/');

        prctl(PR_SET_NAME, slash ? slash + 1 : spec->argv[0]);
}

static int child_prepare(const ProcessSpec *spec, pid_t parent) {
        int r;

        child_take_name(spec);
        child_reset_signals();
        if (spec->is_helper) {
                if (!spec->is_on_terminal && setpgid(0, 0) < 0)
                        return -errno;
                if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
                        return -errno;
                if (getppid() != parent)
                        return -ESRCH; /* died before the request was in effect */
        }
        if (spec->is_without_stdout && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
                return -errno;
        r = child_set_variables(spec->variables);
        if (r < 0)
                return r;
        return spec->n_listen > 0 ? child_pass_sockets(spec) : 0;
}

/* Never returns. What goes wrong is told through the pipe, which closes by itself when all went well. */
static void child_run(const ProcessSpec *spec, pid_t parent, int report_fd) {
        int r = child_prepare(spec, parent);

        if (r == 0) {
                execvp(spec->argv[0], (char *const *)spec->argv);
                r = -errno;
        }
        (void)!write(report_fd, &r, sizeof(r));
        _exit(127);
}

static int read_report(int fd) {
        ssize_t n;
        int r = 0;

        do
                n = read(fd, &r, sizeof(r));
        while (n < 0 && errno == EINTR);
        return n == (ssize_t)sizeof(r) ? r : 0;
}

int process_spawn(pid_t *ret, const ProcessSpec *spec) {
        _cleanup_(fd_closep) int read_fd = -1;
        pid_t parent = getpid(), pid;
        int fds[2], r;

        if (spec->n_listen > PROCESS_PASSED_MAX)
                return -E2BIG;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        read_fd = fds[0];
        if (fds[1] < LISTEN_FD + (int)spec->n_listen) {
                int high = fd_move_up(fds[1], spec);

                close(fds[1]);
                if (high < 0)
                        return high;
                fds[1] = high;
        }
        pid = fork();
        if (pid == 0)
                child_run(spec, parent, fds[1]);
        r = pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r < 0)
                return r;
        r = read_report(read_fd);
        if (r < 0) {
                waitpid(pid, NULL, 0);
                return r;
        }
        *ret = pid;
        return 0;
}

/* Waits without a signal handler: a pidfd becomes readable when the process ends. */
static bool process_ends_within(pid_t pid, int timeout_ms) {
        _cleanup_(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd pollfd = { .fd = fd, .events = POLLIN };
        int r;

        if (fd < 0)
                return errno == ESRCH;
        do
                r = poll(&pollfd, 1, timeout_ms);
        while (r < 0 && errno == EINTR);
        return r > 0;
}

int process_wait(pid_t *pid, unsigned timeout_ms) {
        int status = 0;

        if (*pid <= 0)
                return 0;
        if (!process_ends_within(*pid, (int)timeout_ms))
                kill(*pid, SIGKILL);
        while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
                ;
        *pid = 0;
        return process_exit_status(status);
}

int process_end(pid_t *pid, unsigned grace_ms) {
        if (*pid > 0)
                kill(*pid, SIGTERM);
        return process_wait(pid, grace_ms);
}

int process_exit_status(int wait_status) {
        return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
