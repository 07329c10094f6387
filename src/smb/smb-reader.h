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
        uint32_t n_payload;     /* room after the chunk header, not the part in use */
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
        SMB_E_EMPTY,   /* there is nothing, or the chunk is in another state */
        SMB_E_INVALID, /* a page, chunk or writer number that does not exist */
        SMB_E_FULL,    /* no room for a request */
};

/* Takes the next entry of the commit ring: 0, or SMB_E_EMPTY. After n_slots entries in a row it returns SMB_E_EMPTY
 * once, so a loop over it ends, and a producer that keeps writing cannot hold up the service. It also carries out
 * retirements of writers, but not while a rescan is due: call smb_take_rescan() after each such loop. */
int smb_next_commit(SmbArea *area, SmbCommit *ret);

/* Complete -> BeingRead: returns 0 and a checked copy of the header; release the chunk afterwards. SMB_E_EMPTY if it
 * is in another state. SMB_E_INVALID: there is no such page or chunk, or its writer id is impossible; the chunk has
 * been freed then. `n_fragments` is what the producer claims: it may be more than fit. */
int smb_take_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret);

/* BeingRead -> Free, wherever the producer now claims that chunks lie. Clears the header first, then counts the
 * chunk in n_freed and wakes waiting writers. */
void smb_release_chunk(SmbArea *area, const SmbChunk *chunk);

/* Reads a chunk in any state but Free, and leaves its state alone: for data that was never committed. Returns 0;
 * SMB_E_EMPTY, also if the chunk has no fragment yet; SMB_E_INVALID. */
int smb_peek_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret);

/* Reads a chunk, with its header, that came in a message. Returns 0; SMB_E_INVALID: it is shorter than a header or
 * longer than a chunk can be, or its writer id is impossible. */
int smb_read_chunk(const void *data, size_t n, bool is_complete, SmbChunk *ret);

/* Chunks lie only in pages below this number, which the producer reports as used so far; without a control area, all
 * pages. */
uint32_t smb_n_used_pages(SmbArea *area);

/* Number of chunks in a page now; 0 when it is not partitioned. */
uint32_t smb_page_chunks(SmbArea *area, uint32_t page);

/* The target buffer that a native writer declared; 0 if it declared none, or there is no such writer. */
uint16_t smb_writer_buffer(SmbArea *area, uint16_t writer_id);

/* Tells producers that the next commit must ring. Returns false if something was committed meanwhile: drain again. */
bool smb_prepare_sleep(SmbArea *area);
void smb_wake(SmbArea *area);

/* Whether a writer found the ring full since the last call. If so, search all pages for complete chunks. */
bool smb_take_rescan(SmbArea *area);

/* Makes a request; the caller rings the bell. Returns 0 and the request's place; SMB_E_FULL if there is no free
 * place, or too many instances. */
int smb_ask(SmbArea *area,
            SmbRequestKind kind,
            const uint64_t *instances,
            size_t n_instances,
            unsigned *ret_place);

/* Whether the request at this place has been answered; if so, the place is free again. */
bool smb_take_answer(SmbArea *area, unsigned place);

/* Service: continues with native memory of these sizes that an earlier process of the service made, whatever that
 * was doing when it was killed. The memory may hold anything. Chunks that the earlier process was about to take
 * are taken again, and may be in the trace buffer already. The pages have to be searched, see smb_take_rescan().
 * Requests that it made are pending. */
void smb_area_find(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes);

/* The number of packets that writers dropped for lack of a chunk, as reported by them. */
uint64_t smb_n_dropped(SmbArea *area);
