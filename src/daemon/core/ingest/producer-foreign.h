/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perfetto's protocol: its producers send messages where native ones use the control area
 *
 * Other users' buffers and bad numbers are counted and ignored, as any of this may be a lie.
 */

#include "core/model/peer.h"

/* Declares which buffer a writer writes to (0: none from now on). */
void producer_register_writer(Producer *producer, uint32_t writer_id, uint32_t target_buffer);

/* A chunk in shared memory is complete. */
void producer_commit(Producer *producer, uint32_t page, uint32_t chunk, uint32_t target_buffer);

/* A chunk with its header, in the message itself; it is copied. */
void producer_commit_data(Producer *producer,
                          const void *data,
                          size_t n,
                          bool is_complete,
                          uint32_t target_buffer);

/* The producer has brought its memory, in which it writes already; the caller has mapped it and made sure that
 * nobody can shorten it. It stays mapped until producer_free(). Before the first source. Returns 0;
 * PRODUCER_E_INVALID: sizes or a page size that the service would not have chosen; PRODUCER_E_LIMIT: of this user's
 * memory. */
int producer_adopt_memory(Producer *producer, void *memory, size_t n_bytes, uint32_t page_bytes);
