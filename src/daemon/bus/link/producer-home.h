/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer home: which service, app and container a process belongs to
 *
 * What its cgroup says and, where that has no app for a process in a pid namespace, its sandbox: see
 * shared/process-unit.h for how far that can be believed. Read when somebody asks first, and kept.
 */

#include <stdbool.h>
#include <sys/types.h>

typedef struct ProducerHome {
        bool is_read;
        char *unit;      /* the user's manager's, or else the system's; each NULL: none */
        char *app;       /* "org.mozilla.firefox" */
        char *container; /* its id or its name */
} ProducerHome;

/* A home of zeros is allowed. Errors leave it empty: this is for people. */
void producer_home_read(ProducerHome *home, pid_t pid, bool has_own_pids);
void producer_home_deinit(ProducerHome *home);
