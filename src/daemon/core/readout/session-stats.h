/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The numbers of a session, for people and for the trace.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"
#include "wire/wire-writer.h"

typedef struct SessionTotals {
        uint64_t bytes_written;
        uint64_t bytes_output;
        uint64_t chunks_lost;
        uint64_t packets_lost;
} SessionTotals;

uint64_t session_producers_dropped(const Session *session); /* as they say */
/* Without producers that can come back to their memory, as their counts are still there and would be added twice. */
uint64_t session_producers_dropped_for_good(const Session *session);
void session_put_stats(Session *session, WireWriter *writer);

void session_totals(const Session *session, SessionTotals *ret);
/* As perfetto.protos.TraceStats, without its writers. Returns 0 or -ENOMEM. */
int session_append_stats(Session *session, Bytes *out);
