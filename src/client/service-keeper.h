/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service keeper: a private service that goes on when its process is killed
 *
 * What systemd does for a service, done for ours by a thread: keeps its listening sockets and what it leaves
 * (descriptor-store.h), and starts it again when it has failed, be it by a signal or with a status other than 0. One
 * that fails before it was ever ready, or too often, is not started again; then all is closed, so that
 * connections are refused.
 */

#include <stdbool.h>

#include "client/process.h"

#define SERVICE_STARTS_MAX 5 /* within the next, as systemd counts them */
#define SERVICE_STARTS_MS  10000

typedef struct ServiceKeeper ServiceKeeper;

typedef struct ServiceKeeperOptions {
        const char *program;
        const char *notify_path;        /* where a socket for its messages is made */
        const ProcessSocket *listening; /* that it serves; copied */
        size_t n_listening;
} ServiceKeeperOptions;

/* Returns the errno of starting the program itself, too. */
int service_keeper_new(ServiceKeeper **ret, const ServiceKeeperOptions *options);
/* Ends the service: by SIGTERM, and after a while by SIGKILL. Accepts NULL. */
ServiceKeeper *service_keeper_free(ServiceKeeper *keeper);

/* Whether it is not started again. A process that has just died may not be noticed yet, so this waits for that. */
bool service_keeper_has_failed(ServiceKeeper *keeper, int *ret_exit_status);
