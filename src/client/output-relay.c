/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A failed write closes the reading end. The service then gets EPIPE, as from any reader that has gone.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/output-relay.h"
#include "shared/fd.h"
#include "shared/thread.h"

#define COPY_BYTES (64u << 10)

static void *copy(void *userdata) {
        static uint8_t piece[COPY_BYTES]; /* one recording, one output */
        OutputRelay *relay = userdata;
        ssize_t n;

        do {
                n = read(relay->from, piece, sizeof(piece));
                if (n > 0)
                        relay->error = fd_write_all(relay->to, piece, (size_t)n);
        } while (relay->error == 0 && (n > 0 || (n < 0 && errno == EINTR)));
        if (n < 0 && relay->error == 0)
                relay->error = -errno;
        relay->from = fd_close(relay->from);
        return NULL;
}

static bool is_written_by_service(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode);
}

int output_relay_start(OutputRelay *relay, int *fd) {
        int fds[2], r;

        if (is_written_by_service(*fd))
                return 0;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        relay->from = fds[0];
        relay->to = *fd;
        /* The thread blocks SIGPIPE: writing to a peer that has gone fails, and kills nobody. */
        r = thread_start(&relay->thread, NULL, copy, relay);
        if (r < 0) {
                fd_close(fds[0]);
                fd_close(fds[1]);
                relay->from = relay->to = -1;
                return r;
        }
        relay->is_running = true;
        *fd = fds[1];
        return 0;
}

static int join(OutputRelay *relay) {
        pthread_join(relay->thread, NULL);
        relay->is_running = false;
        relay->from = fd_close(relay->from);
        relay->to = fd_close(relay->to);
        return relay->error;
}

int output_relay_finish(OutputRelay *relay, int *fd) {
        if (!relay->is_running)
                return 0;
        *fd = fd_close(*fd);
        return join(relay);
}

void output_relay_cancel(OutputRelay *relay) {
        if (!relay->is_running)
                return;
        pthread_cancel(relay->thread);
        join(relay);
}
