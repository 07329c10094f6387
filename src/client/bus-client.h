/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus client: the connection to the service
 *
 * The system bus, the session bus, or a socket on which the service itself answers (point to point). Errors of calls
 * are reported here, once, and turned into an exit status.
 */

#include <systemd/sd-bus.h>

#include "client/invocation.h"

#define BUS_CALL_TIMEOUT_USEC  (UINT64_C(30) * 1000000)
#define BUS_START_TIMEOUT_USEC (UINT64_C(300) * 1000000) /* a person may be typing a password */

typedef struct BusClient {
        sd_bus *bus;
        const char *destination; /* NULL: point to point */
        const char *where;       /* for people: "system", "user", "standalone"; untranslated */
} BusClient;

void bus_client_deinit(BusClient *client);

/* Connects as the invocation says. Reports errors. */
ExitStatus bus_client_open(BusClient *client, const Invocation *invocation);

/* Connects by the choice alone, and reports nothing. Returns 0 or an errno. */
int bus_client_try_open(BusClient *client, BusChoice choice);

/* Connects to a service that listens at a socket's path. Returns 0 or an errno. */
int bus_client_open_socket(BusClient *client, const char *path);

/* Like sd_bus_call_method(). Reports errors; `types` and `ret_reply` may be NULL. */
ExitStatus bus_client_call(const BusClient *client,
                           sd_bus_message **ret_reply,
                           const char *path,
                           const char *interface,
                           const char *member,
                           const char *types,
                           ...);

/* An empty message, for calls with arguments that do not fit on a line. Returns 0 or an errno. */
int bus_client_new_call(const BusClient *client,
                        sd_bus_message **ret,
                        const char *path,
                        const char *interface,
                        const char *member);

/* Reports the error and what to do about it. */
ExitStatus bus_client_say_error(const sd_bus_error *error);
ExitStatus bus_client_say_errno(int r);

/* The object of a session that the user named. */
ExitStatus bus_client_find_session(const BusClient *client, char **ret_path, const char *name);
