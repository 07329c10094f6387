/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Asking writers to start over, so that nothing depends on what is gone.
 */

#include "core/model/peer.h"

typedef struct SessionBuffer SessionBuffer;

/* With the next piece comes a synchronisation marker. */
void session_mark_stream(Session *session);
/* Asks the sources that write to one buffer, or to any (NULL), to clear their incremental state. */
void session_clear_incremental_state(Session *session, const SessionBuffer *buffer);
