/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Everything here is bounded, whatever the producer does to the memory meanwhile: a page's state is changed with at
 * most CAS_TRIES attempts, and a chunk's place is computed from a private copy.
 */

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/macro.h"
#include "smb/smb-reader.h"

#define CAS_TRIES 64

static SmbSlot *slot_at(const SmbArea *area, uint32_t position) {
        return &area->control->slots[position & (area->n_slots - 1)];
}

/* The position at which the current lap began. */
static uint32_t lap(const SmbArea *area) {
        return area->head & ~(area->n_slots - 1);
}

static void read_slot(SmbSlot *slot, uint32_t *ret_what, uint32_t *ret_a, uint32_t *ret_b) {
        *ret_what = atomic_load_explicit(&slot->what, memory_order_relaxed);
        *ret_a = atomic_load_explicit(&slot->a, memory_order_relaxed);
        *ret_b = atomic_load_explicit(&slot->b, memory_order_relaxed);
}

static void pass_slot(SmbArea *area, SmbSlot *slot) {
        atomic_store_explicit(&slot->turn, lap(area) + area->n_slots, memory_order_release);
        area->head++;
        area->n_in_row++;
        atomic_store_explicit(&area->control->head, area->head, memory_order_relaxed);
}

static void retire_writer(SmbArea *area, uint32_t writer_id) {
        if (writer_id < SMB_NATIVE_WRITERS_MAX)
                atomic_store_explicit(
                        &area->control->writer_buffer[writer_id], 0, memory_order_release);
}

static void decode_commit(SmbCommit *ret, uint32_t what, uint32_t a, uint32_t b) {
        *ret = (SmbCommit){ .page = a, .chunk = b };
        if (what == 0)
                return;

        *ret = (SmbCommit){
                .is_patch = true,
                .writer_id = what & SMB_WRITER_MAX,
                .offset = (uint16_t)(what >> 16),
                .chunk_id = a,
                .more_patches = what & SMB_SLOT_MORE_PATCHES,
        };
        memcpy(ret->data, &b, sizeof(ret->data));
}

int smb_next_commit(SmbArea *area, SmbCommit *ret) {
        while (area->control && area->n_in_row < area->n_slots) {
                SmbSlot *slot = slot_at(area, area->head);
                uint32_t what, a, b;
                bool is_retirement;

                /* Pairs with the publishing store in ring_put(). */
                if (atomic_load_explicit(&slot->turn, memory_order_acquire) != lap(area) + 1)
                        break;
                read_slot(slot, &what, &a, &b);
                is_retirement = what == 0 && a == SMB_SLOT_RETIRE;

                /* A commit of that writer may be one that found the ring full. */
                if (is_retirement &&
                    atomic_load_explicit(&area->control->rescan, memory_order_relaxed))
                        break;

                pass_slot(area, slot);
                if (is_retirement) {
                        retire_writer(area, b);
                        continue;
                }
                decode_commit(ret, what, a, b);
                return 0;
        }

        area->n_in_row = 0;
        return SMB_E_EMPTY;
}

/* Fills in everything that follows from one state word; false if the word has no such chunk. */
static bool
locate_chunk(const SmbArea *area, uint32_t page, uint32_t chunk, uint32_t state, SmbChunk *ret) {
        SmbLayout layout = smb_state_layout(state);
        uint32_t n_chunk = smb_chunk_bytes(area->page_bytes, layout);
        uint8_t *start = (uint8_t *)smb_page(area, page) + SMB_PAGE_HEADER_BYTES;

        if (chunk >= smb_layout_chunks(layout))
                return false;
        *ret = (SmbChunk){
                .page = page,
                .chunk = chunk,
                .payload = start + chunk * n_chunk + SMB_CHUNK_HEADER_BYTES,
                .n_payload = n_chunk - SMB_CHUNK_HEADER_BYTES,
                .complete = smb_state_chunk(state, chunk) != SMB_CHUNK_BEING_WRITTEN,
        };
        return true;
}

static SmbChunkHeader *chunk_header(const SmbChunk *chunk) {
        return (SmbChunkHeader *)(chunk->payload - SMB_CHUNK_HEADER_BYTES);
}

static void load_header(SmbChunk *chunk) {
        SmbChunkHeader *header = chunk_header(chunk);
        /* Pairs with the release store that counts a fragment: ids and bytes are there. */
        uint16_t packets = atomic_load_explicit(&header->packets, memory_order_acquire);

        chunk->n_fragments = packets & SMB_COUNT_MASK;
        chunk->flags = (uint8_t)(packets >> SMB_FLAGS_SHIFT);
        chunk->writer_id = atomic_load_explicit(&header->writer_id, memory_order_relaxed);
        chunk->chunk_id = atomic_load_explicit(&header->chunk_id, memory_order_relaxed);
}

static bool writer_id_valid(const SmbArea *area, uint16_t writer_id) {
        return writer_id > 0 &&
               writer_id < (area->control ? SMB_NATIVE_WRITERS_MAX : SMB_WRITER_MAX + 1);
}

static uint32_t state_with(uint32_t state, uint32_t chunk, SmbChunkState to) {
        const uint32_t all_chunks = (1u << (2 * SMB_CHUNKS_MAX)) - 1;

        state = (state & ~(3u << (2 * chunk))) | (uint32_t)to << (2 * chunk);
        return state & all_chunks ? state : 0;
}

/* Returns 0 and the word that was replaced, or SMB_E_EMPTY when the chunk is not in `from`. */
static int move_chunk(const SmbArea *area,
                      uint32_t page,
                      uint32_t chunk,
                      SmbChunkState from,
                      SmbChunkState to,
                      uint32_t *ret_state) {
        _Atomic uint32_t *word = &smb_page(area, page)->state;
        uint32_t state = atomic_load_explicit(word, memory_order_acquire);

        for (unsigned i = 0; i < CAS_TRIES; i++) {
                if (smb_state_chunk(state, chunk) != from ||
                    chunk >= smb_layout_chunks(smb_state_layout(state)))
                        return SMB_E_EMPTY;
                *ret_state = state;
                if (atomic_compare_exchange_weak_explicit(word,
                                                          &state,
                                                          state_with(state, chunk, to),
                                                          memory_order_acq_rel,
                                                          memory_order_acquire))
                        return 0;
        }
        return SMB_E_EMPTY;
}

int smb_take_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret) {
        uint32_t state;

        if (page >= area->n_pages || chunk >= SMB_CHUNKS_MAX)
                return SMB_E_INVALID;
        if (move_chunk(area, page, chunk, SMB_CHUNK_COMPLETE, SMB_CHUNK_BEING_READ, &state) != 0)
                return SMB_E_EMPTY;

        locate_chunk(area, page, chunk, state, ret);
        load_header(ret);
        if (!writer_id_valid(area, ret->writer_id)) {
                smb_release_chunk(area, ret);
                return SMB_E_INVALID;
        }
        return 0;
}

int smb_peek_chunk(SmbArea *area, uint32_t page, uint32_t chunk, SmbChunk *ret) {
        uint32_t state;

        if (page >= area->n_pages || chunk >= SMB_CHUNKS_MAX)
                return SMB_E_INVALID;
        state = atomic_load_explicit(&smb_page(area, page)->state, memory_order_acquire);
        if (!locate_chunk(area, page, chunk, state, ret) ||
            smb_state_chunk(state, chunk) == SMB_CHUNK_FREE)
                return SMB_E_EMPTY;

        load_header(ret);
        if (ret->n_fragments == 0)
                return SMB_E_EMPTY;
        return writer_id_valid(area, ret->writer_id) ? 0 : SMB_E_INVALID;
}

/* A message's bytes have any alignment, and no other thread writes to them. */
int smb_read_chunk(const void *data, size_t n, bool is_complete, SmbChunk *ret) {
        const uint8_t *bytes = data;
        uint16_t packets;

        if (n < SMB_CHUNK_HEADER_BYTES || n > SMB_PAGE_BYTES_MAX)
                return SMB_E_INVALID;
        *ret = (SmbChunk){
                .payload = bytes + SMB_CHUNK_HEADER_BYTES,
                .n_payload = (uint32_t)n - SMB_CHUNK_HEADER_BYTES,
                .complete = is_complete,
        };
        memcpy(&ret->chunk_id, bytes + offsetof(SmbChunkHeader, chunk_id), sizeof(ret->chunk_id));
        memcpy(&ret->writer_id,
               bytes + offsetof(SmbChunkHeader, writer_id),
               sizeof(ret->writer_id));
        memcpy(&packets, bytes + offsetof(SmbChunkHeader, packets), sizeof(packets));
        ret->n_fragments = packets & SMB_COUNT_MASK;
        ret->flags = (uint8_t)(packets >> SMB_FLAGS_SHIFT);
        return ret->writer_id > 0 && ret->writer_id <= SMB_WRITER_MAX ? 0 : SMB_E_INVALID;
}

static void count_freed(SmbControl *control) {
        atomic_fetch_add(&control->n_freed, 1);
        /* seq_cst on both words: either the waiter is seen here, or it sees the new count. */
        if (atomic_load(&control->n_waiting) > 0)
                syscall(SYS_futex, &control->n_freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void smb_release_chunk(SmbArea *area, const SmbChunk *chunk) {
        SmbChunkHeader *header = chunk_header(chunk);
        uint32_t state;

        /* The order matters: smb_area_find() takes a chunk without a writer for one that has been dealt with. */
        atomic_store_explicit(&header->writer_id, 0, memory_order_relaxed);
        atomic_store_explicit(&header->chunk_id, 0, memory_order_release);
        atomic_store_explicit(&header->packets, 0, memory_order_release);
        if (move_chunk(area,
                       chunk->page,
                       chunk->chunk,
                       SMB_CHUNK_BEING_READ,
                       SMB_CHUNK_FREE,
                       &state) != 0)
                return;
        if (area->control)
                count_freed(area->control);
}

uint32_t smb_n_used_pages(SmbArea *area) {
        uint32_t n;

        if (!area->control)
                return area->n_pages;
        n = atomic_load_explicit(&area->control->n_used_pages, memory_order_relaxed);
        return MIN(n, area->n_pages);
}

uint32_t smb_page_chunks(SmbArea *area, uint32_t page) {
        uint32_t state;

        if (page >= area->n_pages)
                return 0;
        state = atomic_load_explicit(&smb_page(area, page)->state, memory_order_relaxed);
        return smb_layout_chunks(smb_state_layout(state));
}

uint16_t smb_writer_buffer(SmbArea *area, uint16_t writer_id) {
        if (!area->control || !writer_id_valid(area, writer_id))
                return 0;
        return atomic_load_explicit(&area->control->writer_buffer[writer_id], memory_order_acquire);
}

bool smb_prepare_sleep(SmbArea *area) {
        SmbControl *control = area->control;

        if (!control)
                return true;
        atomic_store(&control->sleeping, 1);
        if (atomic_load(&slot_at(area, area->head)->turn) != lap(area) + 1 &&
            !atomic_load(&control->rescan))
                return true;
        smb_wake(area);
        return false;
}

void smb_wake(SmbArea *area) {
        if (area->control)
                atomic_store_explicit(&area->control->sleeping, 0, memory_order_relaxed);
}

bool smb_take_rescan(SmbArea *area) {
        if (!area->control || !atomic_load_explicit(&area->control->rescan, memory_order_relaxed))
                return false;
        /* Cleared before the pages are searched: a chunk completed later sets it again. */
        return atomic_exchange(&area->control->rescan, 0) != 0;
}

uint64_t smb_n_dropped(SmbArea *area) {
        if (!area->control)
                return 0;
        return atomic_load_explicit(&area->control->n_dropped, memory_order_relaxed);
}

int smb_ask(SmbArea *area,
            SmbRequestKind kind,
            const uint64_t *instances,
            size_t n_instances,
            unsigned *ret_place) {
        unsigned place = (unsigned)__builtin_ctz(~(unsigned)area->asked);
        SmbRequest *request;

        static_assert(SMB_REQUESTS <= 8 * sizeof(area->asked), "a bit for each");
        if (!area->control || place >= SMB_REQUESTS || n_instances > SMB_REQUEST_INSTANCES_MAX)
                return SMB_E_FULL;
        request = &area->control->requests[place];
        for (size_t i = 0; i < n_instances; i++)
                atomic_store_explicit(&request->instances[i], instances[i], memory_order_relaxed);
        atomic_store_explicit(&request->n_instances, (uint32_t)n_instances, memory_order_relaxed);
        atomic_store_explicit(&request->kind, kind, memory_order_relaxed);
        /* Pairs with smb_take_request(). */
        atomic_store_explicit(&request->state, SMB_REQUEST_ASKED, memory_order_release);
        area->asked |= (uint8_t)(1u << place);
        *ret_place = place;
        return 0;
}

bool smb_take_answer(SmbArea *area, unsigned place) {
        SmbRequest *request;

        if (place >= SMB_REQUESTS || !(area->asked & 1u << place))
                return false;
        request = &area->control->requests[place];
        /* Pairs with smb_answer(): everything that the producer wrote before is visible. */
        if (atomic_load_explicit(&request->state, memory_order_acquire) != SMB_REQUEST_DONE)
                return false;
        atomic_store_explicit(&request->state, SMB_REQUEST_FREE, memory_order_relaxed);
        area->asked &= (uint8_t) ~(1u << place);
        return true;
}

/*
 * After another process
 */

/* A slot is passed before the head goes on, so one may have been passed that the head does not know of. */
static void find_head(SmbArea *area) {
        area->head = atomic_load_explicit(&area->control->head, memory_order_relaxed);
        if (atomic_load_explicit(&slot_at(area, area->head)->turn, memory_order_acquire) ==
            lap(area) + area->n_slots)
                area->head++;
}

static void find_requests(SmbArea *area) {
        for (unsigned place = 0; place < SMB_REQUESTS; place++)
                if (atomic_load_explicit(&area->control->requests[place].state,
                                         memory_order_relaxed) != SMB_REQUEST_FREE)
                        area->asked |= (uint8_t)(1u << place);
}

/* BeingRead -> Complete; or -> Free, if it was just being freed. */
static void give_back_chunk(SmbArea *area, uint32_t page, uint32_t chunk) {
        uint32_t state = atomic_load_explicit(&smb_page(area, page)->state, memory_order_acquire);
        SmbChunk at;

        if (!locate_chunk(area, page, chunk, state, &at) ||
            smb_state_chunk(state, chunk) != SMB_CHUNK_BEING_READ)
                return;
        load_header(&at);
        if (at.writer_id == 0)
                smb_release_chunk(area, &at);
        else
                (void)move_chunk(
                        area, page, chunk, SMB_CHUNK_BEING_READ, SMB_CHUNK_COMPLETE, &state);
}

void smb_area_find(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes) {
        uint32_t n_pages;

        smb_area_create(ret, memory, pages_bytes, page_bytes);
        find_head(ret);
        find_requests(ret);
        n_pages = smb_n_used_pages(ret);
        for (uint32_t page = 0; page < n_pages; page++)
                for (uint32_t chunk = 0; chunk < smb_page_chunks(ret, page); chunk++)
                        give_back_chunk(ret, page, chunk);
        /* The earlier process may have taken a commit out of the ring, but not its chunk. */
        atomic_store(&ret->control->rescan, 1);
        smb_wake(ret);
}
