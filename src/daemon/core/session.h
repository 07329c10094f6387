/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session: one recording
 *
 * A validated config, its trace buffers, and the data source instances that it drives through setup, start,
 * flush and stop. Owned by the transport that made it (which frees it when the consumer says so or
 * disappears), listed by the service.
 *
 *      CONFIGURED ─▶ STARTING ─▶ STARTED ─▶ FLUSHING ─▶ STOPPING ─▶ STOPPED
 *
 * Every arrow but the first waits for producers, and each wait has a deadline. A session can be read in every
 * state; what is read is gone from the buffers.
 */

#include "core/life/session-check.h"
#include "core/readout/session-read.h"
#include "core/readout/session-stats.h"
#include "core/readout/session-writers.h"
#include "shared/macro.h"

/* Checks the whole config, makes the buffers and sets up the sources that are there. Takes the config over on
 * success only. SessionOps are not called before it returns. */
int session_new(Session **ret,
                Service *service,
                Config *config,
                const SessionOptions *options,
                const SessionOps *ops,
                void *peer,
                SessionError *error,
                uint64_t now);

/* Stops at once what still runs, without waiting for anybody. */
Session *session_free(Session *session);
DEFINE_CLEANUP(Session *, session_free)

/* Adds to the filters of producers' names, or leaves out all those of a data source, as the new config says: it must be
 * the same as the one before in everything else. Takes the config over on success only; nothing happened otherwise.
 * SESSION_E_CONFIG names the first field that cannot be changed, SESSION_E_LIMIT the limit; SESSION_E_STATE once it
 * ends. */
int session_change_config(Session *session, Config *config, SessionError *error, uint64_t now);

/* From CONFIGURED; 0 or SESSION_E_STATE. STARTED (or later) is told by SessionOps.changed. */
int session_start(Session *session, uint64_t now);

/* Flushes first, then stops. Idempotent. `reason` as the StopReason property; copied. */
void session_stop(Session *session, const char *reason, uint64_t now);

/* The same for a peer whose protocol stops without a flush: waits for that no longer than SESSION_DISABLE_FLUSH_NS. */
void session_disable(Session *session, const char *reason, uint64_t now);
/* `timeout_ns` 0: what the config says, else SESSION_FLUSH_TIMEOUT_NS. Returns 0; SESSION_E_STATE when it is not
 * recording and SESSION_E_LIMIT past SESSION_FLUSHES_MAX, both without a call of done(). */
int session_flush(Session *session,
                  uint64_t timeout_ns,
                  uint64_t flags,
                  SessionFlushDone done,
                  void *userdata,
                  uint64_t now);

/* The output takes no more, by max_file_size_bytes: stops the session. What is read from now on is only the end of the
 * trace, once more if it was read already. */
void session_output_full(Session *session, uint64_t now);
