/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Buffer index: what lies where in a trace buffer
 *
 * It has the buffer's slots, records and sequences, and its counters. For a kept buffer they lie in a memfd, which a
 * later process finds, whenever this one was killed. So each change takes effect by one store, after everything that
 * it depends on (with release: a killed process has carried out its instructions in order). Pointers in the memfd
 * mean nothing to the process that finds it.
 *
 *      head │ slots │ sequences │ records       each from a multiple of MAPPING_ALIGNMENT on
 *
 * Another build may have other structures: their sizes, and BUFFER_INDEX_LAYOUT for what sizes do not show, are in
 * the head, and an index with other values is not read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/segment.h"
#include "buffer/sequence.h"
#include "buffer/trace-buffer.h"
#include "shared/list.h"
#include "smb/smb.h"

#define BUFFER_INDEX_MAGIC  UINT64_C(0x7865646e69205444) /* "DT index" */
#define BUFFER_INDEX_LAYOUT 3

/* Payloads begin 16 bytes into a cache line, as they do in shared memory of one chunk a page:
 * copying is up to twice as fast when both sides lie alike. */
#define PAYLOAD_ALIGNMENT 64
#define PAYLOAD_SKEW      (SMB_PAGE_HEADER_BYTES + SMB_CHUNK_HEADER_BYTES)

static inline size_t record_outer_bytes(size_t n_room) {
        return ALIGN_UP(n_room, PAYLOAD_ALIGNMENT) + TRACE_BUFFER_RECORD_BYTES;
}

/* How much of an empty segment a chunk with this much room would take. */
static inline size_t segment_bytes_needed(size_t n_room) {
        return PAYLOAD_SKEW + record_outer_bytes(n_room);
}

/* A place in the ring: a segment for payloads, and the records that say what lies where in it. */
typedef struct Slot {
        List link; /* in TraceBuffer.used or .free */
        Segment *
                segment; /* NULL while nothing is to be read from it and nothing is written to it */
        Record *records;
        uint64_t age;          /* grows with each slot that becomes the newest; 0: it never was */
        uint32_t place;        /* of the segment in its file */
        uint32_t n_records;    /* stored last */
        uint32_t n_live;       /* of these, how many are still in a sequence */
        uint32_t n_used;       /* bytes of the segment */
        uint32_t n_cloned;     /* of these, how many clones may read, if the segment is shared */
        uint64_t filled_until; /* stats.bytes_written when data was last added */
        uint64_t ends_at;      /* likewise, when its last record was added */
        uint64_t records_at;   /* in a packed buffer in a file: where its records begin */
} Slot;

/* How a buffer was made; this never changes. */
typedef struct BufferShape {
        uint64_t n_bytes, segment_bytes;
        uint32_t policy; /* TraceBufferPolicy */
        uint32_t n_slots;
        uint64_t n_records; /* of all slots */
        uint64_t is_packed; /* a clone: slots have no room for more records than they contain */
        uint64_t n_sequences_max;
} BufferShape;

typedef struct BufferIndex {
        uint64_t magic; /* stored last, once the buffer is made */
        uint32_t layout;
        uint32_t n_slot, n_record, n_sequence; /* bytes */
        BufferShape shape;

        uint32_t is_sealed; /* discard: full */
        uint32_t n_sequences_ever;
        uint64_t n_ages;
        uint64_t n_rotations;
        TraceBufferStats stats;
} BufferIndex;

typedef struct BufferIndexFile {
        int fd; /* -1: anonymous memory */
        BufferIndex *head;
        size_t n_head; /* bytes, with the slots */
        Slot *slots;
        Record *records;
        size_t n_records; /* bytes */
        uint64_t sequences_at;
} BufferIndexFile;

/* How many writers a buffer of this size may have. */
static inline uint64_t buffer_sequences_max(uint64_t n_bytes) {
        return MAX(n_bytes / TRACE_BUFFER_SEQUENCE_BYTES, (uint64_t)TRACE_BUFFER_SEQUENCES_MIN);
}

/* Computes the shape. For a clone, the numbers of records and sequences are known. Returns 0 or -EINVAL. */
int buffer_shape_init(BufferShape *shape,
                      uint64_t n_bytes,
                      size_t segment_bytes,
                      TraceBufferPolicy policy);

/* Makes a new index. With `is_kept`, it lies in a memfd. Returns 0 or a negative errno; deinitialise it in any
 * case. */
int buffer_index_init(BufferIndexFile *file, const BufferShape *shape, bool is_kept);
void buffer_index_deinit(BufferIndexFile *file);

/* Moves an anonymous index into a memfd; everything keeps its address. The caller moves the sequences, for which
 * there is room. Returns 0, or a negative errno, after which it may be tried again. */
int buffer_index_keep(BufferIndexFile *file, int *ret_fd);

enum {
        _BUFFER_INDEX_E_SUCCESS,
        BUFFER_INDEX_E_LAYOUT, /* made by another build */
        BUFFER_INDEX_E_BROKEN, /* not an index, or not a whole one */
};

/* Checks the shape of an index that another process has made, and maps it. Takes the descriptor over on success
 * only. The contents may be anything. Returns 0, BUFFER_INDEX_E_… or a negative errno; deinitialise it in any
 * case. */
int buffer_index_find(BufferIndexFile *file, int fd, BufferShape *ret_shape);
