/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session past: what a session has been through, as bytes for the process that comes after this one
 *
 * Its state, why and when it stopped, the triggers that have hit it, the snapshots that they have asked for, when it
 * ends by them, what was noted, and what it was changed to. What it was made with, and what is in its buffers, is kept
 * elsewhere. Times are BOOTTIME, which goes on between the two.
 */

#include "core/model/session-info.h"
#include "shared/bytes.h"

#define SESSION_PAST_BYTES_MAX (4u << 20) /* with a changed config and all notes it may have */

/* What of it is not the session's from the beginning. */
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

/* Another number whenever session_put_past() would say something else. */
uint64_t session_past_revision(const Session *session);
/* Appends it. 0, -E2BIG or -ENOMEM. */
int session_put_past(const Session *session, Bytes *out);

/* Into a session that has its config, but no past yet. Without bytes: that it was recording. 0, -EBADMSG, which leaves
 * what was read so far, or -ENOMEM. */
int session_take_past(Session *session, SessionPast *ret, const void *data, size_t n_bytes);
/* Once it has its buffers, and their producers have the numbers that they keep: whose packets are still in there stays
 * the sequence that it was. 0, -EBADMSG or -ENOMEM. */
int session_take_sequences(Session *session, const SessionPast *past);
