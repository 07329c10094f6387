/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer home: which service, app and container a process belongs to
 *
 * Found by its cgroup and, if that names no app and the process is in another pid namespace, by its sandbox;
 * shared/process-unit.h tells how far that can be believed. Read at the first question, and kept.
 */

#include <stdbool.h>
#include <sys/types.h>

typedef struct ProducerHome {
        bool is_read;
        char *unit;      /* the user's manager's, or else the system's; each NULL: none */
        char *app;       /* "org.mozilla.firefox" */
        char *container; /* its id or its name */
} ProducerHome;

/* A zeroed home is allowed. Errors leave it empty, as it is only shown to people. */
void producer_home_read(ProducerHome *home, pid_t pid, bool has_own_pids);
void producer_home_deinit(ProducerHome *home);
