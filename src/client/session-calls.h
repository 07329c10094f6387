/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session calls: calls to a session that several verbs need
 *
 * Each waits for its reply or Ctrl-C, and reports errors. If the service goes meanwhile, the next process of it is
 * asked the same again (outage.h), which goes on with what the first had begun to read.
 */

#include <glib.h>

#include "client/waiting.h"

#define SESSION_READ_TIMEOUT_USEC \
        (UINT64_C(3600) * 1000000) /* a slow disk or reader; Ctrl-C ends it */
#define SESSION_STOP_TIMEOUT_USEC (UINT64_C(60) * 1000000)

typedef struct SessionCalls {
        Waiting *waiting;
        const BusClient *client;
        bool is_quiet; /* does not say that the service was away */
} SessionCalls;

/* `ret_silent`: see silent-sources.h. NULL: the caller does not want them. */
ExitStatus session_call_stop(const SessionCalls *calls, const char *path, GPtrArray **ret_silent);
/* *ret_is_gone is set if the session did not survive the service, which is left to the caller to report; NULL: it is
 * an error like any other. */
ExitStatus session_call_read_into(const SessionCalls *calls,
                                  const char *path,
                                  int fd,
                                  uint64_t *ret_n_bytes,
                                  bool *ret_is_gone);
/* Reports one that is gone. */
ExitStatus session_call_say_gone(void);
ExitStatus session_call_free(const SessionCalls *calls, const char *path);

/* A `before_ms` of 0 means everything. */
ExitStatus session_call_clone(const SessionCalls *calls,
                              const char *path,
                              uint32_t before_ms,
                              char **ret_clone);
