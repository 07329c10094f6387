/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session calls: calls to a session that several verbs need
 *
 * Each waits for its reply or Ctrl-C, and reports errors.
 */

#include <glib.h>

#include "client/waiting.h"

#define SESSION_READ_TIMEOUT_USEC \
        (UINT64_C(3600) * 1000000) /* a slow disk or reader; Ctrl-C ends it */
#define SESSION_STOP_TIMEOUT_USEC (UINT64_C(60) * 1000000)

typedef struct SessionCalls {
        Waiting *waiting;
        const BusClient *client;
} SessionCalls;

/* `ret_silent`: see silent-sources.h. NULL: the caller does not want them. */
ExitStatus session_call_stop(const SessionCalls *calls, const char *path, GPtrArray **ret_silent);
ExitStatus
session_call_read_into(const SessionCalls *calls, const char *path, int fd, uint64_t *ret_n_bytes);
ExitStatus session_call_free(const SessionCalls *calls, const char *path);

/* A `before_ms` of 0 means everything. */
ExitStatus session_call_clone(const SessionCalls *calls,
                              const char *path,
                              uint32_t before_ms,
                              char **ret_clone);
