/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sequence: the chunks of one writer of one producer, in order
 *
 * It is a queue of the records that a trace buffer has of this writer, ordered by chunk id, which is not always the
 * order of arrival. Chunk ids count modulo 2^32; of two ids, the one less than 2^31 ahead is later. If no id is
 * missing, the place of an id in the queue is known without a search.
 *
 * Records only leave at the front. The sequence remembers the last one that left, to tell a gap from a beginning and
 * a late chunk from a new one. It also remembers losses that no packet has reported yet.
 *
 * Records belong to the trace buffer; sequences belong to the SequenceTable that made them.
 *
 * Both lie in memory that a kept buffer leaves to the next process. Of the pointers in there, that process only uses
 * whether Record.sequence is NULL, as that store removes a record. Record.index says to which sequence a record
 * belongs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/trace-buffer.h"
#include "shared/list.h"

typedef struct Record Record;
typedef struct Sequence Sequence;

/* How far behind the newest chunk of its writer a chunk may be stored: more than a whole shared memory of
 * single-chunk pages. It bounds what an insertion can cost if a writer counts backwards. */
#define SEQUENCE_REORDER_MAX 8192

enum {
        RECORD_INCOMPLETE = 1 << 3, /* besides SMB_CHUNK_…: the writer may still add to it */
        RECORD_ABORTED = 1 << 4,    /* ends where the writer gave up on a packet */
        RECORD_CORRUPT = 1 << 5,    /* ends where the payload stopped making sense */
        RECORD_GREW = 1 << 6,       /* was extended after it was put: it is newer than its place */
};

/* A chunk in a trace buffer. */
struct Record {
        Sequence *sequence; /* NULL: consumed, evicted or moved */
        uint32_t index;     /* of the sequence, for a process that finds the record in a file */
        uint32_t chunk_id;
        uint32_t offset;     /* offset of the payload in its segment */
        uint16_t slot;       /* which segment */
        uint16_t n_room;     /* bytes set aside */
        uint16_t n_payload;  /* bytes that the fragments use */
        uint16_t n_consumed; /* of these, how many have been read */
        uint8_t flags;       /* SMB_CHUNK_… | RECORD_… */
};

#define RECORD_FLAGS                                                                  \
        (SMB_CHUNK_CONTINUES | SMB_CHUNK_TO_BE_CONTINUED | SMB_CHUNK_NEEDS_PATCHING | \
         RECORD_INCOMPLETE | RECORD_ABORTED | RECORD_CORRUPT | RECORD_GREW)

/* The last record that left. */
typedef struct SequenceLast {
        bool is_set;
        bool was_incomplete; /* the rest of this chunk may still come, */
        bool is_awaited;     /* and other chunks wait for it: it was read, not overwritten */
        uint16_t n_payload;
        uint32_t chunk_id;
        uint32_t n_unbroken; /* chunks, including this one, that left complete and in a row */
} SequenceLast;

struct Sequence {
        uint32_t index;   /* in its pool */
        uint32_t is_used; /* stored last, when it is made, and first when it is forgotten */
        ChunkOrigin origin;
        SequenceLast last;
        uint32_t loss;        /* LOSS_… that the next packet has to report */
        bool is_gone;         /* its producer is gone: nothing more will come */
        bool is_cut;          /* the rest of an unwanted packet may come first */
        uint64_t paused_pass; /* the read pass in which it had to wait */
        List idle_link;       /* in SequenceTable.idle while it has no records */
        uint32_t first_id;    /* chunk ids of the first and last record, if there are any; */
        uint32_t last_id;     /* kept here because the records are far away */
        Record **records;     /* ring of n_allocated (0 or a power of two) */
        size_t first;
        size_t n_records;
        size_t n_allocated;
        Sequence *copy;                                    /* while a copy is made */
        uint64_t n_chunks[TRACE_BUFFER_HISTOGRAM_BUCKETS]; /* see WriterStats */
        uint64_t n_bytes[TRACE_BUFFER_HISTOGRAM_BUCKETS];
};

static inline int32_t chunk_id_compare(uint32_t a, uint32_t b) {
        return (int32_t)(a - b);
}

static inline Record *sequence_at(const Sequence *sequence, size_t i) {
        return sequence->records[(sequence->first + i) & (sequence->n_allocated - 1)];
}

static inline void sequence_lose(Sequence *sequence, uint32_t reason) {
        sequence->loss |= LOSS_PRESENT | reason;
}

/* Whether the chunk comes after all others, as nearly every new chunk does. */
static inline bool sequence_is_next(const Sequence *sequence, uint32_t chunk_id) {
        return sequence->n_records == 0 || chunk_id_compare(chunk_id, sequence->last_id) > 0;
}

/* Makes a copy that is in no list. The caller gives it copies of the same records, one by one. Returns 0 or
 * -ENOMEM. */
int sequence_copy(Sequence *copy, Sequence *sequence);
void sequence_adopt(const Sequence *sequence, Record *record);
void sequence_deinit(Sequence *sequence);

/* Prepares a sequence that was found in a file: it has no records, as these are inserted again, and everything is
 * in bounds. */
void sequence_find_again(Sequence *sequence, uint32_t index);

/* Whether a record that was found has already left the sequence. */
bool sequence_is_behind(const Sequence *sequence, const Record *record);

/* Counts a chunk that contains this many bytes. */
void sequence_count_chunk(Sequence *sequence, uint16_t n_payload);

/* The record of the chunk, or NULL. */
Record *sequence_find(const Sequence *sequence, uint32_t chunk_id);

/* Makes sure that the next insertion cannot fail. Returns 0 or -ENOMEM. */
int sequence_reserve(Sequence *sequence);

/* Whether a new chunk has a place: it is not further behind than SEQUENCE_REORDER_MAX, and no two ids are so far
 * apart that their order is unclear. */
bool sequence_has_place(const Sequence *sequence, uint32_t chunk_id);

/* Puts the record of a new chunk into its place. Returns whether that was at the end.
 * */
bool sequence_insert(Sequence *sequence, Record *record);

/* Replaces the record of the same chunk, which must be there. */
void sequence_replace(Sequence *sequence, Record *record);

/* Whether all of a late chunk was here already. */
bool sequence_had(const Sequence *sequence, uint32_t chunk_id);

/* Takes the first record out and remembers it as the last. */
void sequence_pop(Sequence *sequence);
