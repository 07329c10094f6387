/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process: a child that we start and wait for
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared/macro.h"

/* Variables for its environment, in addition to ours. */
typedef struct ProcessVariable {
        const char *name;
        const char *value; /* NULL: nothing is set */
        bool is_default;   /* unless the user has set it */
} ProcessVariable;

#define PROCESS_SOCKETS_MAX 3   /* that a service listens on */
#define PROCESS_PASSED_MAX  512 /* with what is kept for it */

/* A descriptor for a child, mostly a listening socket, and what its protocol is called. */
typedef struct ProcessSocket {
        int fd;
        const char *name;
} ProcessSocket;

typedef struct ProcessSpec {
        const char *const *argv; /* argv[0] is looked for in $PATH, unless it has a slash */
        const ProcessVariable *variables; /* up to one without a name; or NULL */
        const ProcessSocket *listen;      /* passed as systemd passes them (LISTEN_FDS), or NULL */
        size_t n_listen;                  /* PROCESS_PASSED_MAX at most */
        bool is_kept;                     /* it is told so as by systemd (SYSTEMD_EXEC_PID) */
        bool is_without_stdout;           /* what it writes to stdout goes to stderr */
        bool is_helper;      /* a helper of ours: Ctrl-C does not reach it, and it ends with us */
        bool is_on_terminal; /* a helper that reads from the terminal, so it is not out of reach */
} ProcessSpec;

/* Returns the errno of starting the program itself, too: -ENOENT, -EACCES. */
int process_spawn(pid_t *ret, const ProcessSpec *spec);

/* Waits until it has ended, and after `timeout_ms` kills it; reaps it and makes *pid 0. Returns the exit status as
 * below; 0 when *pid was 0. */
int process_wait(pid_t *pid, unsigned timeout_ms);

/* The same after a SIGTERM. */
int process_end(pid_t *pid, unsigned grace_ms);

/* As shells report it: the status, or 128 plus the signal. */
int process_exit_status(int wait_status);
