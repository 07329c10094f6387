/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Read-out: from a session to the bytes of a trace.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"

/* Appends whole packets in trace file framing to *out until about max_bytes; *ret_more says whether more is
 * there now. Service packets (§ docs/ARCHITECTURE.md) come first; a synchronisation marker is always the first packet
 * of a read. A stopped session is read to its end when *ret_more is false. */
int session_read(Session *session, size_t max_bytes, Bytes *out, bool *ret_more, uint64_t now);

/* How many packets of producers were read so far, by this process and those before. */
uint64_t session_n_packets_read(const Session *session);
/* What was said so far that is said only once: a number for session_take_said() (core/life/session-past.h). */
uint64_t session_said(const Session *session);
