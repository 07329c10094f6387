/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * From shared memory into trace buffers.
 */

#include "core/model/peer.h"
#include "smb/smb-reader.h"

/* Takes what is committed. Returns how many entries there were. */
size_t producer_drain(Producer *producer);

#define PRODUCER_BUFFER_OF_WRITER UINT32_MAX /* only the writer says which */

/* Takes one complete chunk, for the buffer that was declared with it (0: for none), and frees it. */
void producer_take_chunk(Producer *producer, uint32_t page, uint32_t chunk, uint32_t declared);

/* The same for a chunk that lies elsewhere. */
void producer_put_message(Producer *producer, SmbChunk *chunk, uint32_t declared);

/* Takes chunks that were never committed, too: those for this session's buffers, or all of them if `session` is
 * NULL. */
void producer_scan(Producer *producer, const Session *session);

/* Takes what is committed, until n_bytes_taken reaches `until`. */
size_t producer_drain_until(Producer *producer, uint64_t until);

/* Changes four bytes of a chunk that was taken before they were known. */
void producer_patch(Producer *producer,
                    uint32_t target_buffer,
                    uint16_t writer_id,
                    uint32_t chunk_id,
                    uint32_t offset,
                    const uint8_t data[static 4],
                    bool more_patches);

/* Takes what the producers of the session have committed. */
void session_drain(Session *session);
