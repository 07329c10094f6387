/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Top session: the slices that programs report now
 *
 * A session of one's own programs, which takes no authorisation; root's is of all programs. Its data is read at each
 * refresh and kept only as sums. Where there is no service, or it goes away, a sentence says so, and it is asked
 * again later: the machine's load is shown without it.
 *
 * All calls are asynchronous, one at a time:
 *
 *      OFF ─▶ STARTING ─▶ IDLE ─▶ FLUSHING ─▶ READING ─▶ LOOKING ─▶ IDLE
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "answers/answer-load.h"
#include "client/bus-client.h"

typedef struct TopSession TopSession;

/* Called after each top_session_refresh(), even if there was nothing to refresh; perhaps from inside of it. */
typedef void (*TopSessionRefreshed)(void *userdata);

/* The event loop has to outlive it. Never NULL. */
TopSession *
top_session_new(sd_event *event, BusChoice bus, TopSessionRefreshed refreshed, void *userdata);
TopSession *top_session_free(TopSession *session);
DEFINE_CLEANUP(TopSession *, top_session_free)

/* Has programs hand over what they have, and reads it. Does nothing while the previous refresh is still running. */
void top_session_refresh(TopSession *session);

/* The slices that ended since the previous call, as an answer_ended. NULL: there is no session. Returns 0 or
 * -ENOMEM. */
int top_session_take(TopSession *session, Answer **ret);

/* Chunks and packets that were lost since the previous call. */
uint64_t top_session_take_losses(TopSession *session);

/* Why there is no session, translated; NULL: there is one. */
const char *top_session_trouble(const TopSession *session);
