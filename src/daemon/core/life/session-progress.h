/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The states of a session, and what each one waits for.
 */

#include "core/model/session-info.h"

/* Enters the next state once everything it waits for has arrived. For session_settle() alone. */
void session_progress(Session *session, uint64_t now);

void session_enter(Session *session, SessionState state);
uint64_t session_clear_period_ns(const Session *session);
uint64_t session_read_monotonic(const Session *session);
void session_record(Session *session, uint64_t now);
/* Continues a session of an earlier process, which began to record at that time. */
void session_go_on(Session *session, uint64_t started_at, uint64_t now);
/* Adopts a session that stopped in an earlier process, so that it can be read. */
void session_stay_stopped(Session *session, uint64_t started_at, uint64_t stopped_at);
void session_tell_slow_starters(Session *session, uint64_t now);
/* session_start(), session_flush() and session_stop() without settling: they only mark. */
int session_begin(Session *session, uint64_t now);
int session_begin_flush(Session *session,
                        uint64_t timeout_ns,
                        uint64_t flags,
                        SessionFlushDone done,
                        void *userdata);
void session_end(Session *session, const char *reason);
void session_end_within(Session *session, const char *reason, uint64_t flush_timeout_ns);
