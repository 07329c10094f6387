/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Polkit agent: asks for a password on a terminal */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/polkit-agent.h"
#include "shared/fd.h"
#include "shared/names.h"

static bool is_system(const Invocation *invocation) {
        return invocation->bus == BUS_CHOICE_SYSTEM ||
               (invocation->bus == BUS_CHOICE_DEFAULT && !getenv(TRACING_ENV_SOCKET));
}

static bool can_be_asked(const Invocation *invocation) {
        return is_system(invocation) && invocation->may_ask && geteuid() != 0 &&
               isatty(STDIN_FILENO);
}

/* The agent closes the pipe when it is registered, or by ending. */
static void wait_until_ready(int fd) {
        struct pollfd pollfd = { .fd = fd };
        int r;

        do
                r = poll(&pollfd, 1, POLKIT_AGENT_WAIT_MS); /* POLLHUP needs not be asked for */
        while (r < 0 && errno == EINTR);
}

pid_t polkit_agent_start(const Invocation *invocation) {
        _cleanup_(fd_closep) int read_fd = -1, write_fd = -1;
        char notify[16];
        const char *const argv[] = { "pkttyagent", "--fallback", "--notify-fd", notify, NULL };
        const ProcessSpec spec = { .argv = argv, .is_helper = true, .is_on_terminal = true };
        int fds[2];
        pid_t pid;

        if (!can_be_asked(invocation) || pipe2(fds, O_CLOEXEC) < 0)
                return 0;
        read_fd = fds[0];
        write_fd = fds[1];
        snprintf(notify, sizeof(notify), "%d", write_fd);
        /* Only the agent inherits it, as no other program is started meanwhile. */
        if (fcntl(write_fd, F_SETFD, 0) < 0 || process_spawn(&pid, &spec) < 0)
                return 0;
        write_fd = fd_close(write_fd);
        wait_until_ready(read_fd);
        return pid;
}
