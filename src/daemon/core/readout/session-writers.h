/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The writers of a session: who has put packets into its buffers.
 */

#include "buffer/trace-buffer.h"
#include "core/model/peer.h"
#include "shared/bytes.h"
#include "wire/wire-writer.h"

/* The writers to the session's buffers, in no order: begin with {}. Nothing may change in between. */
typedef struct SessionWriter {
        size_t buffer;
        uint32_t sequence_id; /* trusted_packet_sequence_id of its packets */
        WriterStats stats;
} SessionWriter;

typedef struct SessionWriterCursor {
        size_t buffer;
        WriterCursor at;
} SessionWriterCursor;

int session_put_provenance(Session *session, Bytes *out);
int session_put_late_provenance(Session *session, Bytes *out);
void session_put_writer_stats(Session *session, WireWriter *writer);

bool session_next_writer(Session *session, SessionWriterCursor *cursor, SessionWriter *ret);
