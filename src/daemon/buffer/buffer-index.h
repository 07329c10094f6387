/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Buffer index: what is where in a trace buffer
 *
 * Its slots, records and sequences, and what it has counted, as it lies in memory: of a kept buffer a memfd, which a
 * later process finds, whenever this one was killed. So each change is one store that makes it true, after all that it
 * needs (with release: a killed process has carried out its instructions in their order). Pointers in there are
 * worth nothing to the process that finds them.
 *
 *      head │ slots │ sequences │ records       each from a multiple of MAPPING_ALIGNMENT on
 *
 * Another build may have other structures: their sizes, and BUFFER_INDEX_LAYOUT for what sizes do not show, are in the
 * head, and what differs is not read.
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

/* What a chunk with this much room would take of an empty segment. */
static inline size_t segment_bytes_needed(size_t n_room) {
        return PAYLOAD_SKEW + record_outer_bytes(n_room);
}

/* A place in the ring: a segment for payloads, and beside it the records that say what is where. */
typedef struct Slot {
        List link;        /* in TraceBuffer.used or .free */
        Segment *segment; /* NULL when nothing is to be read from it and it is not written to */
        Record *records;
        uint64_t age;          /* grows with each slot that becomes the newest; 0: never was */
        uint32_t place;        /* of the segment in its file */
        uint32_t n_records;    /* stored last */
        uint32_t n_live;       /* of those, still in a sequence */
        uint32_t n_used;       /* bytes of the segment */
        uint32_t n_cloned;     /* of those, what clones know of, if the segment is shared */
        uint64_t filled_until; /* stats.bytes_written when it was last added to */
        uint64_t ends_at;      /* likewise, when its last record was */
        uint64_t records_at;   /* of a packed buffer in a file: where its records begin */
} Slot;

/* What a buffer was made with; never changes. */
typedef struct BufferShape {
        uint64_t n_bytes, segment_bytes;
        uint32_t policy; /* TraceBufferPolicy */
        uint32_t n_slots;
        uint64_t n_records; /* of all slots */
        uint64_t is_packed; /* a clone: slots have room for no more records than they have */
        uint64_t n_sequences_max;
} BufferShape;

typedef struct BufferIndex {
        uint64_t magic; /* stored last, when the buffer is made */
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

/* Of a clone, how many records and sequences it has is known. Returns 0 or -EINVAL. */
int buffer_shape_init(BufferShape *shape,
                      uint64_t n_bytes,
                      size_t segment_bytes,
                      TraceBufferPolicy policy);

/* A new one, for all its life. is_kept: in a memfd. Returns 0 or a negative errno; to be deinitialised in any case. */
int buffer_index_init(BufferIndexFile *file, const BufferShape *shape, bool is_kept);
void buffer_index_deinit(BufferIndexFile *file);

/* Moves an anonymous one into a memfd, where all has the address that it had; the sequences are left to the caller,
 * for whom there is room. Returns 0 or a negative errno: to be tried again. */
int buffer_index_keep(BufferIndexFile *file, int *ret_fd);

enum {
        _BUFFER_INDEX_E_SUCCESS,
        BUFFER_INDEX_E_LAYOUT, /* another build has made it */
        BUFFER_INDEX_E_BROKEN, /* no index, or not all of one */
};

/* One that another process has made: checks its shape and maps it. Takes the descriptor over on success only. The
 * rest may hold anything. Returns 0, BUFFER_INDEX_E_… or a negative errno; to be deinitialised in any case. */
int buffer_index_find(BufferIndexFile *file, int fd, BufferShape *ret_shape);
