/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * When a session writes and flushes while it records, as its config says.
 */

#include "core/model/peer.h"

typedef struct SessionBuffer SessionBuffer;

bool session_streams(const Session *session); /* it streams to its output while it records */
uint64_t session_write_period_ns(const Session *session);
uint64_t session_flush_period_ns(const Session *session); /* UINT64_MAX: none */
bool session_flushes_before_output(const Session *session);
void session_output_due(Session *session);
/* Data was put into the buffer: if it is filling up, the output is due. */
void session_note_pressure(const SessionBuffer *buffer);
