/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Shared memory, the service's side
 *
 * Takes chunks out of memory that a producer may rewrite at any moment. What these functions return
 * is a private copy of each header, checked; payload bytes stay shared and the caller copies them
 * before it looks at them. One thread. No function here blocks or fails in any worse way than an
 * outcome.
 */

#include "smb/smb.h"

typedef struct SmbChunk {
        uint32_t page;
        uint32_t chunk;
        uint32_t chunk_id;
        uint16_t writer_id;
        uint16_t n_fragments;
        uint8_t flags;          /* SMB_CHUNK_… */
        bool complete;          /* the writer has returned it */
        const uint8_t *payload; /* shared: copy, then parse */
        uint32_t n_payload;     /* room behind the chunk header, not what is used */
} SmbChunk;

typedef struct SmbCommit {
        bool is_patch;
        uint32_t page, chunk; /* a commit */
        uint16_t writer_id;   /* a patch */
        uint16_t offset;
        uint32_t chunk_id;
        uint8_t data[4];
        bool more_patches;
} SmbCommit;

enum {
        _SMB_E_SUCCESS,
        SMB_E_EMPTY,   /* nothing there, or not in the state for it */
        SMB_E_INVALID, /* a page, chunk or writer number that does not exist */
        SMB_E_FULL,    /* no room for a request */
};

/* The next entry of the commit ring: 0, or SMB_E_EMPTY. After n_slots entries in a row it says
 * SMB_E_EMPTY once, so a loop over it ends, and a producer that keeps writing cannot hold the
 * service. Retirements of writers are carried out in here, but not before a rescan that is due:
 * smb_take_rescan() after each such loop. */
int smb_next_commit(SmbArea *area, SmbCommit *ret);

/* Complete -> BeingRead, and a checked copy of the header: 0; release it. SMB_E_EMPTY when it is in
 * another state. SMB_E_INVALID: no such page or chunk, or its writer id cannot be; it has been
 * freed then. n_fragments is what the producer says: more may be counted than fit. */
int smb_take_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret);

/* BeingRead -> Free, wherever the producer says by now that chunks lie. Clears the header first,
 * then counts it in n_freed and wakes waiting writers. */
void smb_release_chunk(SmbArea *area, const SmbChunk *chunk);

/* A chunk as it is now, in whatever state but Free; the state is left alone. For draining what was
 * never committed. 0; SMB_E_EMPTY, also when it has no fragment yet; SMB_E_INVALID. */
int smb_peek_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret);

/* A chunk with its header that came in a message instead. 0; SMB_E_INVALID: it is shorter than its header or longer
 * than one can be, or its writer id cannot be. */
int smb_read_chunk(const void *data, size_t n, bool is_complete, SmbChunk *ret);

/* Chunks are only in pages below this number: what was used so far, as the producer says; all pages
 * without a control area. */
uint32_t smb_n_used_pages(SmbArea *area);

/* Number of chunks in a page now; 0 when it is not partitioned. */
uint32_t smb_page_chunks(SmbArea *area, uint32_t page);

/* The target buffer that a native writer declared; 0 for none, or no such writer. */
uint16_t smb_writer_buffer(SmbArea *area, uint16_t writer_id);

/* Tells producers that the next commit must ring. Returns false when something came in meanwhile:
 * drain again. */
bool smb_prepare_sleep(SmbArea *area);
void smb_wake(SmbArea *area);

/* Whether a writer found the ring full since the last call: look at all pages for complete chunks.
 */
bool smb_take_rescan(SmbArea *area);

/* Asks for something; the bell is the caller's to ring. 0 and which place it has; SMB_E_FULL when there is no
 * room for it, or for so many instances. */
int smb_ask(SmbArea *area,
            SmbRequestKind kind,
            const uint64_t *instances,
            size_t n_instances,
            unsigned *ret_place);

/* Whether the request at this place is answered; its place is free then. */
bool smb_take_answer(SmbArea *area, unsigned place);

/* Packets that writers dropped for want of a chunk, as they say. */
uint64_t smb_n_dropped(SmbArea *area);
