/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session past: what a session has been through, as bytes for the process that comes after this one
 *
 * It has the state, when and why the session stopped, the triggers that hit it, the snapshots they asked for, when a
 * trigger ends it, the notes, and the changed config; of a clone its name, and which trigger it is of. The first config
 * and the buffers are kept elsewhere. Times are BOOTTIME, which both processes share.
 */

#include "core/model/session-info.h"
#include "shared/bytes.h"

#define SESSION_PAST_BYTES_MAX (4u << 20) /* with a changed config and all notes it may have */

/* The parts that a new session does not have. */
typedef struct SessionPast {
        SessionState state;
        uint64_t stopped_at;
        uint64_t trigger_timeout_at, trigger_stop_at; /* UINT64_MAX: not by a trigger */
        char stop_reason[SESSION_STOP_REASON_BYTES];
        const uint8_t *change; /* config, within the bytes; NULL: it was not changed */
        size_t n_change;
        const uint8_t *sequences; /* likewise: see session_take_sequences() */
        size_t n_sequences;
        size_t n_buffer_ids;
} SessionPast;

/* A number that changes whenever the bytes of session_put_past() do. */
uint64_t session_past_revision(const Session *session);
/* Appends it. Returns 0, -E2BIG or -ENOMEM. */
int session_put_past(const Session *session, Bytes *out);

/* Reads it into a session that has its config, but no past yet. No bytes mean that it was recording. Returns 0,
 * -EBADMSG, after which the session has what was read so far, or -ENOMEM. */
int session_take_past(Session *session, SessionPast *ret, const void *data, size_t n_bytes);
/* And what the output has, which may be ahead of that: session_said() as of the last bytes that came there. */
void session_take_said(Session *session, uint64_t said);
/* Called once the session has its buffers, and producers have their final numbers: writers with packets in there
 * keep their sequences. Returns 0, -EBADMSG or -ENOMEM. */
int session_take_sequences(Session *session, const SessionPast *past);
