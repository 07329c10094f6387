/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The shared-memory ABI
 *
 * One memfd connects a producer process with the service. The service makes it, seals its size and
 * passes it; both map it read-write for as long as the connection lives.
 *
 *      ┌──────────────────────────────┬────────┬────────┬─ … ─┬────────┐
 *      │ control area (native only)   │ page 0 │ page 1 │     │ page N │
 *      └──────────────────────────────┴────────┴────────┴─ … ─┴────────┘
 *
 * Pages and chunks are Perfetto's ABI (include/perfetto/ext/tracing/core/shared_memory_abi.h, in
 * its docs/design-docs/api-and-abi.md), so that the service reads both kinds of producer with one
 * piece of code. The control area is ours: it replaces the RPC that Perfetto sends for each commit.
 *
 * Trust. The service believes nothing in here: the producer can rewrite any word at any time. Each
 * shared word is loaded once into a local, and the local is checked. The producer trusts the
 * service. Threads: any number in the producer, one in the service.
 *
 * A page
 * ------
 * Starts with an 8-byte header, whose first word is the page's state, changed by CAS only:
 *
 *      bit  31  30 29 28  27 26 … 5 4  3 2  1 0
 *            -  [layout]  [13] … [2]  [1]  [0]   <- two bits of state for each chunk
 *
 * All zero means free and not partitioned: a fresh memfd needs no initialisation. Partitioning is a
 * CAS from 0. When the last chunk of a page is freed the whole word returns to 0, and the page can
 * be partitioned again. Chunk i lies at 8 + i * chunk_size, where chunk_size is the equal share of
 * the page behind its header, rounded down to 4 bytes.
 *
 *      Free ──producer──▶ BeingWritten ──producer──▶ Complete ──service──▶ BeingRead ──service──▶ Free
 *
 * The service clears a chunk's header before it frees it, so a chunk that is BeingWritten and whose
 * header is still zero has nothing in it.
 *
 * A chunk
 * -------
 * Starts with an 8-byte header: chunk_id u32 (counts up for each writer, wraps), writer_id u16 (1
 * …), and a word with the number of fragments (bits 0 to 9) and flags (bits 10 to 15). Then the fragments, back to
 * back: a varint size and that number of bytes. Size 0 is an empty fragment, skipped. The size FF FF FF 7F means
 * that the writer gave up on the packet; nothing behind it is read.
 *
 * The number of fragments is stored last, with release: a reader that loads it with acquire sees
 * the bytes of every fragment it counts. Native writers count a fragment only when it is written
 * completely, so that the service can take the finished packets of a chunk whose writer is silent,
 * frozen or dead. (Perfetto's writers count first; with them the last fragment is left out.)
 *
 * The control area
 * ----------------
 * A commit is a store into the ring: no system call, no lock. See SmbControl below.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMB_PAGE_HEADER_BYTES  8
#define SMB_CHUNK_HEADER_BYTES 8
#define SMB_CHUNKS_MAX         14 /* in one page */
#define SMB_FRAGMENTS_MAX      1023
#define SMB_WRITER_MAX         32767                /* highest writer id by the ABI */
#define SMB_PACKET_DROPPED     UINT32_C(0x0fffffff) /* fragment size: the writer gave up */

#define SMB_PAGE_BYTES_MIN      4096
#define SMB_PAGE_BYTES_MAX      32768 /* 4, 8, 16 or 32 KiB */
#define SMB_PAGE_BYTES_DEFAULT  4096
#define SMB_PAGES_BYTES_MAX     (32u << 20) /* of all pages together */
#define SMB_PAGES_BYTES_DEFAULT (1u << 20)

typedef enum SmbLayout {
        SMB_LAYOUT_NONE = 0,
        SMB_LAYOUT_DIV1 = 1,
        SMB_LAYOUT_DIV2 = 2,
        SMB_LAYOUT_DIV4 = 3,
        SMB_LAYOUT_DIV7 = 4,
        SMB_LAYOUT_DIV14 = 5,
        _SMB_LAYOUT_N,
} SmbLayout;

typedef enum SmbChunkState {
        SMB_CHUNK_FREE = 0,
        SMB_CHUNK_BEING_WRITTEN = 1,
        SMB_CHUNK_BEING_READ = 2,
        SMB_CHUNK_COMPLETE = 3,
} SmbChunkState;

/* Flags in the chunk header's last word, shifted down by 10. */
enum {
        SMB_CHUNK_CONTINUES = 1 << 0, /* the first fragment continues the previous chunk's last */
        SMB_CHUNK_TO_BE_CONTINUED = 1 << 1, /* the last fragment continues in the next chunk */
        SMB_CHUNK_NEEDS_PATCHING = 1 << 2,  /* sizes in the payload will be patched later */
};

#define SMB_FLAGS_SHIFT 10
#define SMB_COUNT_MASK  0x3ff

typedef struct SmbPageHeader {
        _Atomic uint32_t state;
        uint32_t reserved;
} SmbPageHeader;

typedef struct SmbChunkHeader {
        _Atomic uint32_t chunk_id;
        _Atomic uint16_t writer_id;
        _Atomic uint16_t packets; /* count | flags << SMB_FLAGS_SHIFT */
} SmbChunkHeader;

static_assert(sizeof(SmbPageHeader) == SMB_PAGE_HEADER_BYTES, "page header is ABI");
static_assert(sizeof(SmbChunkHeader) == SMB_CHUNK_HEADER_BYTES, "chunk header is ABI");

/*
 * One slot of the commit ring: many producer threads, one reader. `turn` says whose turn the slot is. With l for the
 * position at which the lap began, which is a multiple of n_slots: turn == l means free to fill; turn == l + 1 means
 * filled. The reader frees it for the next lap with turn = l + n_slots. (Vyukov's bounded queue, but that fresh memory
 * is an empty ring, of which nothing is touched before it is used.) All numbers wrap.
 *
 * what == 0, a is a page's number: commit the chunk {page a, chunk b}.
 * what == 0, a is SMB_SLOT_RETIRE: writer b is gone for good. Behind all its commits, so when the service
 *            comes to it it stores 0 in writer_buffer[b], and the id can be taken again.
 * else:      patch 4 bytes of a chunk committed earlier: bits 0-14 of what are its writer id, bit 15 says
 *            that more patches will follow, bits 16-31 are the offset from the payload's start; a is the
 *            chunk id, b the four bytes in memory order.
 */
typedef struct SmbSlot {
        _Atomic uint32_t turn;
        _Atomic uint32_t what;
        _Atomic uint32_t a;
        _Atomic uint32_t b;
} SmbSlot;

static_assert(sizeof(SmbSlot) == 16, "slot is ABI");

#define SMB_SLOT_MORE_PATCHES (1u << 15)
#define SMB_SLOT_RETIRE       UINT32_MAX
#define SMB_RING_SHARE        3 /* ring when this many times the waiting chunks exceed the free ones */
#define SMB_SLOTS_MIN         64 /* else the power of two that has these for each page: */
#define SMB_SLOTS_PER_PAGE    16 /* more than there are chunks */

#define SMB_CONTROL_MAGIC      UINT32_C(0x31435444) /* "DTC1" */
#define SMB_CONTROL_VERSION    3
#define SMB_NATIVE_WRITERS_MAX 4096 /* writer ids 1 … 4095; sizes writer_buffer */

/*
 * A request of the service, which spares both sides a D-Bus call and its reply where there is nothing to say but
 * numbers. `state` says whose turn it is. The service fills in a FREE one, makes it ASKED (release) and rings the
 * bell, a descriptor that the producer polls and empties; the producer makes it TAKEN, copies it, and when it has
 * done what was asked makes it DONE (release) and rings the doorbell. Then the service makes it FREE. The service
 * remembers on its own side which requests are pending, and what they mean.
 */
typedef enum SmbRequestKind {
        SMB_REQUEST_FLUSH = 1, /* put everything older of these instances into this memory */
        SMB_REQUEST_STOP,      /* one instance: write its last packet and return its chunks */
        SMB_REQUEST_CLEAR, /* from now on, these write what can be decoded without earlier packets */
        SMB_REQUEST_RELEASE, /* no instance writes here any longer: unmap it. Not answered */
} SmbRequestKind;

typedef enum SmbRequestState {
        SMB_REQUEST_FREE,
        SMB_REQUEST_ASKED,
        SMB_REQUEST_TAKEN,
        SMB_REQUEST_DONE,
} SmbRequestState;

#define SMB_REQUESTS              8 /* pending at a time; further ones are D-Bus calls */
#define SMB_REQUEST_INSTANCES_MAX 6 /* the same */

typedef struct SmbRequest {
        _Atomic uint32_t state;
        _Atomic uint32_t kind;
        _Atomic uint32_t n_instances;
        uint32_t reserved;
        _Alignas(8) _Atomic uint64_t instances[SMB_REQUEST_INSTANCES_MAX];
} SmbRequest;

static_assert(sizeof(SmbRequest) == 64, "request is ABI");

/*
 * The control area. Words that different sides write are 64 bytes apart, so that they do not share a
 * cache line. The layout is the same for 32-bit producers, which would otherwise align 64 bits to 4 bytes.
 *
 * geometry      written by the service before it passes the memory, read once by the producer.
 * sleeping      the service stores 1 before it waits for the doorbell, then looks at the ring and at rescan
 *               once more. A producer thread that has published a slot or set rescan loads it, and if it is 1
 *               exchanges it with 0 and, having got the 1, writes to the eventfd. All of these are seq_cst:
 *               store-then-load on each side must not pass each other. Retirements are published without
 *               looking at it.
 * n_freed       counts chunks given back, by the service; also the futex word (shared) that a writer without a
 *               free chunk waits on. n_waiting says whether a wake-up call is needed at all: the writer counts
 *               itself in, then waits for the value it saw before it searched; the service counts, then looks
 *               at n_waiting. (A producer whose connection is gone adds one itself, to wake its writers.)
 * head          next ring position for the service. A hint: producers compare it with tail to see how many
 *               entries wait, and ring, even if the service is awake, when those are more than a third of the
 *               free chunks, or of the ring's slots if those are less. Where a page is one chunk, and none is partly
 *               filled, that is: when a quarter of the memory waits.
 * tail          next ring position for producer threads; the service does not read it.
 * rescan        a producer thread found the ring full: the service looks at all pages.
 * n_dropped     packets that found no free chunk, counted by the producer.
 * n_used_pages  pages from here on were never used. The service looks for chunks only below, as looking at a
 *               page would give memory to it.
 * writer_buffer for each writer id the target buffer it writes to; 0 is none, and says that the id is free. A
 *               producer takes an id with a CAS from 0, before the writer's first chunk; the service gives it
 *               back, see SMB_SLOT_RETIRE. Says where the chunks of a writer go, also those never committed.
 */
typedef struct SmbControl {
        struct {
                uint32_t magic;
                uint32_t version;
                uint32_t page_bytes;
                uint32_t n_pages;
                uint32_t n_slots;      /* power of two */
                uint32_t pages_offset; /* from the start of the memory */
        } geometry;
        _Alignas(64) _Atomic uint32_t sleeping;
        _Alignas(64) _Atomic uint32_t n_freed;
        _Atomic uint32_t head;
        _Alignas(64) _Atomic uint32_t n_waiting;
        _Alignas(64) _Atomic uint32_t tail;
        _Alignas(64) _Atomic uint32_t rescan;
        _Alignas(8) _Atomic uint64_t n_dropped;
        _Atomic uint32_t n_used_pages;
        _Alignas(64) SmbRequest requests[SMB_REQUESTS];
        _Alignas(64) _Atomic uint16_t writer_buffer[SMB_NATIVE_WRITERS_MAX];
        _Alignas(64) SmbSlot slots[];
} SmbControl;

static_assert(offsetof(SmbControl, sleeping) == 64, "control area is ABI");
static_assert(offsetof(SmbControl, n_freed) == 128, "control area is ABI");
static_assert(offsetof(SmbControl, n_waiting) == 192, "control area is ABI");
static_assert(offsetof(SmbControl, tail) == 256, "control area is ABI");
static_assert(offsetof(SmbControl, rescan) == 320, "control area is ABI");
static_assert(offsetof(SmbControl, n_dropped) == 328, "control area is ABI");
static_assert(offsetof(SmbControl, n_used_pages) == 336, "control area is ABI");
static_assert(offsetof(SmbControl, requests) == 384, "control area is ABI");
static_assert(offsetof(SmbControl, writer_buffer) == 896, "control area is ABI");
static_assert(offsetof(SmbControl, slots) == 896 + 2 * SMB_NATIVE_WRITERS_MAX,
              "control area is ABI");

/* Where things are in one mapping. Kept in private memory on each side. */
typedef struct SmbArea {
        uint8_t *memory;     /* start of the mapping */
        size_t n_bytes;      /* of the mapping */
        SmbControl *control; /* NULL: Perfetto's protocol, no control area */
        uint8_t *pages;
        uint32_t page_bytes;
        uint32_t n_pages;
        uint32_t n_slots;
        uint32_t head;     /* service: next ring position */
        uint32_t n_in_row; /* service: entries since the last SMB_E_EMPTY */
        uint8_t asked;     /* service: a bit for each pending request */
} SmbArea;

/* The size of a native memory with this many bytes of pages; both are multiples of `page_bytes`. */
size_t smb_native_bytes(size_t pages_bytes, uint32_t page_bytes);

/* Whether the pair is allowed: page 4, 8, 16 or 32 KiB, pages a non-zero multiple of it and within
 * limits. */
bool smb_sizes_valid(size_t pages_bytes, uint32_t page_bytes);

/* Service: lays out fresh zeroed memory of smb_native_bytes() and writes the geometry. */
void smb_area_create(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes);

/* Service, for Perfetto's protocol: only pages. */
void smb_area_create_plain(SmbArea *ret, void *memory, size_t pages_bytes, uint32_t page_bytes);

/* Producer: attaches to memory of the service. -EBADMSG when magic, version or sizes do not fit. */
int smb_area_attach(SmbArea *ret, void *memory, size_t n_bytes);

static inline uint32_t smb_layout_chunks(SmbLayout layout) {
        static const uint8_t n_chunks[8] = { 0, 1, 2, 4, 7, 14, 0, 0 };

        return n_chunks[layout & 7];
}

static inline SmbLayout smb_state_layout(uint32_t state) {
        return (SmbLayout)(state >> 28 & 7);
}

static inline SmbChunkState smb_state_chunk(uint32_t state, uint32_t chunk) {
        return (SmbChunkState)(state >> (2 * chunk) & 3);
}

/* Bytes of one chunk with its header; 0 for a layout without chunks. */
static inline uint32_t smb_chunk_bytes(uint32_t page_bytes, SmbLayout layout) {
        uint32_t n = smb_layout_chunks(layout);

        return n ? (page_bytes - SMB_PAGE_HEADER_BYTES) / n & ~3u : 0;
}

/* The number of chunks and where they lie follow from one loaded state word, never from two. */
static inline SmbPageHeader *smb_page(const SmbArea *area, uint32_t page) {
        return (SmbPageHeader *)(area->pages + (size_t)page * area->page_bytes);
}
