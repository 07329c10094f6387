/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace buffer: where chunks wait to be read
 *
 * It is a ring of reference-counted segments of equal size. Chunks are appended to the newest segment, whole and
 * with their identity; when all segments are in use the oldest is recycled as a whole (ring) or the buffer is sealed
 * (discard). A segment of which everything has been read is used again first, so that a buffer that is read while it
 * is written stays small. A segment that is not the newest changes only by patches and by the rest of a chunk that
 * was incomplete. Clones share the segments, and bytes that a clone may read never change: a copy is changed
 * instead.
 *
 * Reading follows Perfetto's TraceBuffer V2: in buffer order, and within a sequence (one writer of one producer) in
 * the order of chunk ids. A packet in several chunks is put together; half a packet is never returned. A sequence
 * whose next chunk waits for a patch, is incomplete, or begins a packet whose rest has not come, pauses for this
 * pass; others go on. Losses are reported once, on the next packet of the sequence, with their reasons. Reading
 * consumes.
 *
 * The bytes of the buffer are those of the payloads and of what is needed to find them (TRACE_BUFFER_RECORD_BYTES a
 * chunk), so that many small chunks do not take more memory than few large ones, apart from rounding up to huge
 * pages. The memory for each writer comes on top, up to the size of the buffer once more; the owner is asked first
 * (trace_buffer_set_may_grow()).
 *
 * Untrusted: all of a chunk's contents, and the order and ids in which they come. Patches are found
 * in constant time whatever their age.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "shared/identity.h"
#include "shared/macro.h"
#include "smb/smb.h"

typedef struct TraceBuffer TraceBuffer;

typedef enum TraceBufferPolicy {
        TRACE_BUFFER_RING,    /* overwrite the oldest */
        TRACE_BUFFER_DISCARD, /* keep the oldest: once full, refuse for good */
} TraceBufferPolicy;

#define TRACE_BUFFER_BYTES_MIN          (128u << 10)
#define TRACE_BUFFER_BYTES_MAX          (UINT64_C(4) << 30)
#define TRACE_BUFFER_RECORD_BYTES       40    /* taken by each chunk besides its payload */
#define TRACE_BUFFER_CHUNK_BYTES_MAX    32768 /* of one payload */
#define TRACE_BUFFER_IDLE_SEQUENCES_MAX 1024  /* kept to tell gaps from beginnings */
#define TRACE_BUFFER_HISTOGRAM_BUCKETS  11

/* The cost of a writer that has something in the buffer, or had until recently. There may be as many as fit into
 * the size of the buffer, and at least TRACE_BUFFER_SEQUENCES_MIN; a sixteenth of that is taken without asking. */
#define TRACE_BUFFER_SEQUENCE_BYTES 512
#define TRACE_BUFFER_SEQUENCES_MIN  2048
#define TRACE_BUFFER_SEQUENCES_FREE 16 /* one in 16 */
#define TRACE_BUFFER_SEQUENCES_STEP 64 /* asked for at once */

/* Why something is missing before a packet: Perfetto's TracePacket.previous_packet_dropped. */
enum {
        LOSS_PRESENT = 1, /* set with any other */
        LOSS_READ_GAP = 2,
        LOSS_CHUNK_CORRUPTED = 4,
        LOSS_ORPHAN_CONTINUATION = 8,
        LOSS_REASSEMBLY_GAP = 16,
        LOSS_REASSEMBLY_BROKEN_CHAIN = 32,
        LOSS_OVERWRITE = 64,
        LOSS_WRITER_ABORT = 128,
        LOSS_ALL = 255,
};

/* The writer of a chunk, as the service knows it. producer_id is never reused within a buffer's life.
 */
typedef struct ChunkOrigin {
        uint64_t producer_id;
        uint16_t writer_id;
        Identity identity;
} ChunkOrigin;

/*
 * A chunk as it lies in shared memory.
 *
 * complete == false: the writer may still add to it. The counted fragments are read, and then the
 * sequence waits; a later put of the same id brings what is new and repeats nothing. Every counted
 * fragment must be finished: of Perfetto's writers, which count a fragment before they write it,
 * the caller leaves out the last one of an incomplete chunk, and with it SMB_CHUNK_TO_BE_CONTINUED
 * and SMB_CHUNK_NEEDS_PATCHING, which are about that one.
 */
typedef struct ChunkData {
        uint32_t chunk_id;
        uint16_t n_fragments;
        uint8_t flags; /* SMB_CHUNK_… */
        bool complete;
        const void *payload; /* shared memory: copied once, then parsed */
        size_t n_payload;    /* room; only what the fragments use is stored when complete */
} ChunkData;

/* The numbers have the meanings that perfetto.protos.TraceStats.BufferStats gives them. */
typedef struct TraceBufferStats {
        uint64_t buffer_bytes;
        uint64_t bytes_written, bytes_overwritten, bytes_read;
        uint64_t chunks_written, chunks_overwritten, chunks_read;
        uint64_t chunks_discarded; /* for lack of room, or too late; not those against the rules */
        uint64_t chunks_rewritten; /* the rest of an incomplete chunk, put where it was */
        uint64_t chunks_relocated; /* likewise, stored again: no room there, or it is gone */
        uint64_t chunks_committed_out_of_order; /* also those that a flush had taken before */
        uint64_t write_wrap_count;
        uint64_t patches_succeeded, patches_failed;
        uint64_t abi_violations; /* chunks refused, or cut short, because they are invalid */
        uint64_t trace_writer_packet_loss;
        uint64_t padding_bytes_written; /* bytes left over at the ends of segments */
        uint64_t padding_bytes_cleared; /* of these, in segments that were used again */
        uint64_t packets_read;
        uint64_t readaheads_succeeded; /* packets put together from several chunks */
        uint64_t readaheads_failed;    /* attempts that found a part of the packet missing */
} TraceBufferStats;

/* A writer's complete and accepted chunks by the bytes in them, as in perfetto.protos.TraceStats: one bucket up
 * to and including each bound, and a last one beyond. */
typedef struct WriterStats {
        ChunkOrigin origin;
        uint64_t n_chunks[TRACE_BUFFER_HISTOGRAM_BUCKETS];
        uint64_t n_bytes[TRACE_BUFFER_HISTOGRAM_BUCKETS];
} WriterStats;

extern const uint16_t trace_buffer_histogram_bounds[TRACE_BUFFER_HISTOGRAM_BUCKETS - 1];

/* The position of a walk through the writers; zero-initialised is before the first. */
typedef struct WriterCursor {
        size_t i;
} WriterCursor;

/* A packet, read. Slices point into segments; they and the array stay valid until the next call on
 * the buffer. */
typedef struct TracePacket {
        const struct iovec *slices;
        size_t n_slices;
        size_t n_bytes;
        const ChunkOrigin *origin;
        uint32_t loss; /* LOSS_… */
} TracePacket;

enum {
        _TRACE_BUFFER_E_SUCCESS,
        TRACE_BUFFER_E_END,       /* nothing more to read in this pass */
        TRACE_BUFFER_E_DISCARDED, /* full, too late, too big or against the rules; counted */
        TRACE_BUFFER_E_NOT_FOUND, /* the chunk is gone, or the offset is outside; counted */
        TRACE_BUFFER_E_LAYOUT,    /* another build's files */
        TRACE_BUFFER_E_BROKEN,    /* not the files of a buffer, or incomplete ones */
        TRACE_BUFFER_E_MORE,      /* not finished: call it again */
};

/* `segment_bytes` 0: chosen from the size, which must be within the limits. Otherwise n_bytes are rounded down to
 * whole segments, at least two. Memory is used when it is written to. Returns 0, -EINVAL or -ENOMEM. */
int trace_buffer_new(TraceBuffer **ret,
                     uint64_t n_bytes,
                     size_t segment_bytes,
                     TraceBufferPolicy policy);
TraceBuffer *trace_buffer_free(TraceBuffer *buffer);

/*
 * The same in two memfds, the index and the segments. Another process that has them can continue the buffer, at
 * whatever instruction this one was killed: everything that was put and not yet read or overwritten is there, once
 * and in order, and a chunk that was being put is there completely or not at all. It is slower where the kernel
 * gives such memory no huge pages. Clones share the segments, but belong to this process alone until they are kept
 * themselves.
 */
int trace_buffer_new_kept(TraceBuffer **ret,
                          uint64_t n_bytes,
                          size_t segment_bytes,
                          TraceBufferPolicy policy);

/*
 * Turns a buffer in use into a kept one, with its contents; a clone gets memory of its own for that. Each call
 * copies about this many bytes, so that others have their turns. Returns 0 when the buffer is kept;
 * TRACE_BUFFER_E_MORE; or -ENOMEM, after which it may be tried again.
 */
int trace_buffer_keep(TraceBuffer *buffer, size_t max_bytes);

/* Gets the descriptors, which still belong to the buffer. Returns false if it is not kept. */
bool trace_buffer_files(const TraceBuffer *buffer, int *ret_index_fd, int *ret_segments_fd);

/* The same as trace_buffer_free(), but everything stays in the files: for a process that leaves. Clones must be
 * freed before. */
TraceBuffer *trace_buffer_leave(TraceBuffer *buffer);

/* Damage that was found in the files of a buffer. */
typedef struct TraceBufferFound {
        uint32_t n_slots_broken;   /* slots, with all of their chunks */
        uint32_t n_records_broken; /* chunks that are lost */
} TraceBufferFound;

/*
 * Makes a kept buffer from its files, after the process that wrote to it has ended. The files may contain anything:
 * whatever is impossible is dropped and counted. Takes the descriptors over on success only, and changes nothing
 * that another try would need. Sequences wait for missing chunks until trace_buffer_producer_gone().
 *
 * 0, TRACE_BUFFER_E_LAYOUT, TRACE_BUFFER_E_BROKEN, -ENOMEM.
 */
int trace_buffer_adopt(TraceBuffer **ret,
                       int index_fd,
                       int segments_fd,
                       TraceBufferFound *ret_found);
DEFINE_CLEANUP(TraceBuffer *, trace_buffer_free)

/* Sets the function that decides whether another n_bytes may be taken for writers; NULL: up to the limit. The
 * bytes are never given back. */
typedef bool (*TraceBufferMayGrow)(void *userdata, size_t n_bytes);
void trace_buffer_set_may_grow(TraceBuffer *buffer, TraceBufferMayGrow may_grow, void *userdata);

/* Returns 0, TRACE_BUFFER_E_DISCARDED or -ENOMEM. Putting a chunk that is already there returns 0. A chunk is
 * discarded if there is no room for its writer. */
int trace_buffer_put(TraceBuffer *buffer, const ChunkOrigin *origin, const ChunkData *chunk);

/* Overwrites four bytes of a chunk's payload. Without more_patches the chunk no longer waits. Returns 0 or
 * TRACE_BUFFER_E_NOT_FOUND. */
int trace_buffer_patch(TraceBuffer *buffer,
                       uint64_t producer_id,
                       uint16_t writer_id,
                       uint32_t chunk_id,
                       uint32_t offset,
                       const uint8_t data[static 4],
                       bool more_patches);

/* Nothing more will come from this producer: its sequences no longer wait for what is missing. */
void trace_buffer_producer_gone(TraceBuffer *buffer, uint64_t producer_id);

/* Of an adopted buffer: all who wrote to it are gone, and their numbers may be those of others from now on; but for
 * those that stay. Returns 0 or -ENOMEM. */
int trace_buffer_retire_producers(TraceBuffer *buffer, const uint64_t *staying, size_t n_staying);
/* The number that a producer had before it was retired, if it was. */
uint64_t trace_buffer_number_before(uint64_t producer_id);

/* A pass begins at the oldest chunk; paused sequences are tried again. Chunks may be put in during
 * a pass. */
void trace_buffer_begin_read(TraceBuffer *buffer);

/* Returns 0, TRACE_BUFFER_E_END or -ENOMEM. */
int trace_buffer_read(TraceBuffer *buffer, TracePacket *ret);

/*
 * A snapshot, frozen: what the buffer holds and has not read, from the same place on. No payload is
 * copied: both refer to the same segments. The buffer itself is not disturbed and goes on, and
 * keeps what was there when the clone was made from changing under it. Counts of reading begin
 * again.
 *
 * keep_from: a position of stats.bytes_written. Chunks that were complete before it are left out,
 * and with them what is earlier in their sequences, as if a ring had overwritten them; but
 * nothing is said to be lost, nor counted, because it was not wanted. 0: all.
 *
 * 0, -ENOMEM.
 */
int trace_buffer_clone(TraceBuffer **ret, TraceBuffer *buffer, uint64_t keep_from);

/* Nothing more will come: what is put is refused, sequences stop waiting for what is missing,
 * and memory is given back as soon as it has been read. */
void trace_buffer_freeze(TraceBuffer *buffer);

/* Drops what was not read. It is not said to be lost, nor counted, and the rest of a packet that
 * began before is dropped silently. A buffer that refused because it was full takes chunks again. */
void trace_buffer_clear(TraceBuffer *buffer);

/* The next writer of which chunks came, in no order; false after the last. Nothing may be put or
 * read in between. Long silent ones beyond TRACE_BUFFER_IDLE_SEQUENCES_MAX are forgotten. */
bool trace_buffer_next_writer(const TraceBuffer *buffer, WriterCursor *cursor, WriterStats *ret);

/* Bytes of payload that have not been read, also of paused sequences. */
uint64_t trace_buffer_unread_bytes(const TraceBuffer *buffer);

const TraceBufferStats *trace_buffer_stats(const TraceBuffer *buffer);
