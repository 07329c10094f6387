/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Standalone: a service of our own, for one recording
 *
 * Makes a directory that only we can enter, listens on sockets in it, and starts desktraced with these as
 * systemd would, and desktrace-probes when kernel data is wanted. No bus and no systemd are needed. Both end with
 * us, however we end. A service that is killed is started again, with what it has left (service-keeper.h).
 */

#include <stdbool.h>
#include <sys/types.h>

#include "client/bus-client.h"
#include "client/command-ends.h"
#include "client/service-keeper.h"
#include "client/waiting.h"

#define PROBE_PREFIX "linux." /* how the names of most data sources of desktrace-probes begin */

/* Whether desktrace-probes offers a data source of that name; whether desktrace-bridges does and the probes do not. */
bool standalone_is_probe_source(const char *name);
bool standalone_is_bridge_source(const char *name);

typedef struct Standalone {
        char *directory;
        char *socket;
        char *producer_socket,
                *consumer_socket; /* for programs with Perfetto's SDK, and for its own */
        ServiceKeeper *service;
        pid_t probes, bridges; /* 0: not started */
} Standalone;

#define STANDALONE_INIT \
        { 0 }

/* Starts the service, and connects to it, unless Ctrl-C comes. Reports errors. */
ExitStatus standalone_start(Standalone *standalone, BusClient *client, Waiting *waiting);

/* Starts the probes, and waits for a bounded time until the service knows these data sources. Reports errors. */
ExitStatus standalone_start_probes(Standalone *standalone,
                                   const BusClient *client,
                                   Waiting *waiting,
                                   char *const *sources);

/* Starts bridges of our own. With a private service, waits for a bounded time until it knows these data sources;
 * without one they serve the command only, if it has any ends, and are ready for it from the first moment. Reports
 * errors. */
ExitStatus standalone_start_bridges(Standalone *standalone,
                                    const BusClient *client,
                                    Waiting *waiting,
                                    char *const *sources,
                                    const CommandEnds *ends);

/* Has the session bus start the session's bridges, for a service that cannot do so. Does nothing without a session
 * bus. */
void standalone_wake_bridges(void);

/* Makes the probes list the static probes of a program's file on stdout, or report errors. */
ExitStatus standalone_list_static_probes(const char *path);

/* The path of the library that counts programs' allocations. Free with g_free(). */
char *standalone_heap_library(void);

/* Ends all of them, and removes the directory. */
void standalone_deinit(Standalone *standalone);
