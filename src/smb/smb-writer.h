/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Shared memory, the producer's side
 *
 * SmbProducer is one process's end of one shared memory; all its threads share it. SmbWriter is one
 * thread's stream of packets (a sequence) through it: never used by two threads at a time. Writing
 * neither locks nor makes a system call, but for the doorbell when the service sleeps, and for the
 * futex when the memory is full and the writer may wait. libc only; async-signal behaviour is the
 * caller's.
 *
 * A packet is given whole and is cut into fragments where chunks end. So lengths are always known
 * and native writers never need patches. A fragment is counted when it is complete and, unless it
 * is the packet's last, when the chunk for the next one is at hand: a packet that finds no room
 * leaves no trace, or, if earlier chunks of it are on their way, is ended by SMB_PACKET_DROPPED.
 *
 * Few writers partition each page as one chunk, which spares commits. With more writers, pages are partitioned so
 * that there are CHUNKS_PER_WRITER for each. If a writer finds no chunk, while more chunks are partly filled in the
 * hands of writers than wait for the service, it asks with `starving` for the partly filled ones to be returned:
 * most belong to threads that write nothing at the moment.
 */

#include <string.h>

#include "shared/macro.h"
#include "smb/smb.h"

typedef enum SmbFullPolicy {
        SMB_FULL_DROP, /* drop the packet, count it, and mark the next one */
        SMB_FULL_STALL, /* wait for the service for up to stall_ns, then drop packets until there is room */
} SmbFullPolicy;

/* A writer id that is reused continues its chunk ids, so that readers do not mistake the change for a loss. */
typedef struct SmbWriterPast {
        _Atomic uint32_t next_chunk_id;
        _Atomic uint16_t target_buffer; /* 0: never used */
} SmbWriterPast;

typedef struct SmbProducer SmbProducer;

struct SmbProducer {
        SmbArea area;
        int doorbell_fd;              /* not owned */
        _Atomic uint32_t n_acquired;  /* chunks ever taken; minus n_freed: outstanding */
        _Atomic uint32_t page_hint;   /* where the next search starts */
        _Atomic uint32_t next_writer; /* where the next search for a writer id starts */
        _Atomic uint32_t n_writers;   /* living ones */
        _Atomic uint64_t full_at;     /* n_freed when a search failed, plus FULL_AT_KNOWN */
        _Atomic uint32_t starved_at;  /* n_freed when starving() was last called */
        _Atomic bool is_divided;      /* some page has or had several chunks */
        void (*starving)(
                SmbProducer *
                        producer); /* NULL: no chunks can be returned. Called on any writer's thread */
        _Atomic uint32_t rung_head; /* the ring's head when it was last rung for filling */
        _Atomic bool closed;        /* the connection is lost: writers drop everything */

        /* By writer id, for the id's next writer. Written only by the id's current writer. */
        SmbWriterPast pasts[SMB_NATIVE_WRITERS_MAX];

        /* A bit for each id whose retirement found the ring full; the retirement is repeated when ids run out. */
        _Atomic uint64_t unretired[SMB_NATIVE_WRITERS_MAX / 64];
};

typedef struct SmbWriter {
        SmbProducer *producer;
        uint16_t writer_id;
        uint16_t target_buffer;
        SmbFullPolicy full_policy;
        uint64_t stall_ns;
        uint32_t next_chunk_id;
        uint32_t page, chunk; /* the chunk at hand, if header is set */
        SmbChunkHeader *header;
        uint8_t *at, *end;
        uint16_t packets; /* what header->packets has */
        uint8_t layout;   /* SmbLayout of the page of the chunk at hand */
        bool lost;        /* packets were dropped since the last one written */
} SmbWriter;

enum {
        _SMB_WRITER_E_SUCCESS,
        SMB_WRITER_E_FULL,   /* dropped, and counted */
        SMB_WRITER_E_CLOSED, /* dropped: the connection is gone */
        SMB_WRITER_E_NO_ID,  /* all writer ids are in use */
};

/* `producer` must be zeroed: most of it is for writers that will never exist, and stays untouched. A producer
 * without a control area, or whose control area other producers use as well, is not possible. */
void smb_producer_init(SmbProducer *producer, const SmbArea *area, int doorbell_fd);

/* Call it when the connection is lost: from now on all writers drop their packets and leave the memory alone;
 * waiting writers are woken. Any thread. */
void smb_producer_close(SmbProducer *producer);

/* Takes a writer id and declares its target buffer, which must not be 0. Returns 0 or SMB_WRITER_E_NO_ID. */
int smb_writer_init(SmbWriter *writer,
                    SmbProducer *producer,
                    uint16_t target_buffer,
                    SmbFullPolicy full_policy,
                    uint64_t stall_ns);

/* Returns the current chunk and the writer id. May be called twice, or on a zeroed writer. */
void smb_writer_deinit(SmbWriter *writer);

/* Writes one packet, the bytes of a TracePacket; an empty packet is ignored. Returns 0, SMB_WRITER_E_FULL or
 * SMB_WRITER_E_CLOSED. After a drop, the next packet that gets through must report the loss: check smb_writer_lost()
 * before encoding the packet. */
int smb_writer_write(SmbWriter *writer, const void *packet, size_t n_bytes);

/* The same for packets whose loss does not matter, such as marks: if there is no room for one, it is not counted
 * as dropped, and the next packet does not report a loss. */
int smb_writer_try(SmbWriter *writer, const void *packet, size_t n_bytes);

#define SMB_WRITER_SMALL_MIN 8
#define SMB_WRITER_SMALL_MAX 127 /* its size takes one byte */

/* Most packets are so small that memcpy() takes longer to decide how to copy them than to copy them. So they are
 * copied in pieces, of which the last two may overlap. */
static inline void smb_copy_small(uint8_t *at, const uint8_t *data, size_t n) {
        if (LIKELY(n >= 16 && n <= 32)) {
                memcpy(at, data, 16);
                memcpy(at + n - 16, data + n - 16, 16);
        } else if (n < 16) {
                memcpy(at, data, 8);
                memcpy(at + n - 8, data + n - 8, 8);
        } else {
                /* Not memcpy(): the compiler knows that n is small and would emit a string instruction. */
                for (size_t i = 0; i < n - 16; i += 16)
                        memcpy(at + i, data + i, 16);
                memcpy(at + n - 16, data + n - 16, 16);
        }
}

/* The fast path of smb_writer_write(), for nearly all packets. Returns false if it does not apply to this packet,
 * and nothing was written. */
static inline bool smb_writer_put_small(SmbWriter *writer, const void *packet, size_t n) {
        if (UNLIKELY(n < SMB_WRITER_SMALL_MIN || n > SMB_WRITER_SMALL_MAX || !writer->header ||
                     (size_t)(writer->end - writer->at) <= n ||
                     (writer->packets & SMB_COUNT_MASK) == SMB_FRAGMENTS_MAX || writer->lost ||
                     atomic_load_explicit(&writer->producer->closed, memory_order_relaxed)))
                return false;
        *writer->at = (uint8_t)n;
        smb_copy_small(writer->at + 1, packet, n);
        writer->at += 1 + n;
        writer->packets++;
        /* Stored last, with release: a reader of the count finds the bytes. */
        atomic_store_explicit(&writer->header->packets, writer->packets, memory_order_release);
        return true;
}

/* Returns where the caller may itself encode a packet of at most SMB_WRITER_SMALL_MAX bytes, to be written with
 * smb_writer_put_placed() or abandoned. Returns NULL if there is no such place, and nothing was written. */
static inline uint8_t *smb_writer_place_small(const SmbWriter *writer) {
        if (UNLIKELY(!writer->header || writer->end - writer->at <= SMB_WRITER_SMALL_MAX ||
                     (writer->packets & SMB_COUNT_MASK) == SMB_FRAGMENTS_MAX || writer->lost ||
                     atomic_load_explicit(&writer->producer->closed, memory_order_relaxed)))
                return NULL;
        return writer->at + 1;
}

/* `n_bytes` is at least 1; the bytes are where smb_writer_place_small() pointed. */
static inline void smb_writer_put_placed(SmbWriter *writer, size_t n) {
        *writer->at = (uint8_t)n;
        writer->at += 1 + n;
        writer->packets++;
        /* Last, with release: see above. */
        atomic_store_explicit(&writer->header->packets, writer->packets, memory_order_release);
}

/* Counts a packet that the caller drops, and marks the next one. SMB_WRITER_E_FULL or SMB_WRITER_E_CLOSED. */
int smb_writer_drop(SmbWriter *writer);

/* Counts packets of this producer that were lost elsewhere. */
void smb_producer_count_dropped(SmbProducer *producer, uint64_t n);

static inline bool smb_writer_lost(const SmbWriter *writer) {
        return writer->lost;
}

/* Commits the current chunk, so that the service gets it now. */
void smb_writer_flush(SmbWriter *writer);

typedef struct SmbAsked {
        unsigned place;
        SmbRequestKind kind;
        size_t n_instances;
        uint64_t instances[SMB_REQUEST_INSTANCES_MAX];
} SmbAsked;

/* Takes the service's next request, for one thread to carry out; false if no request waits. Each request is answered
 * once. */
bool smb_take_request(SmbProducer *producer, SmbAsked *ret);
void smb_answer(SmbProducer *producer, unsigned place);

/* Publishes a patch for a chunk that was committed earlier: see SmbSlot. Returns false if the ring is full. */
bool smb_post_patch(SmbProducer *producer,
                    uint16_t writer_id,
                    uint32_t chunk_id,
                    uint16_t offset,
                    const uint8_t data[static 4],
                    bool more_patches);
