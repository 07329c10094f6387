/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * SMB writer: takes chunks, fills them, and returns them, without a lock
 *
 * Each shared word has one rule. A compare-and-exchange on a page's state takes one of its free chunks. Until the
 * chunk is returned, its bytes belong to the thread that took it. Of all that the thread writes there, the number of
 * packets is stored last, with release: the service may read a chunk that nobody has returned, because its program
 * has crashed or sleeps, and finds as many whole packets as the number says.
 *
 * A returned chunk goes into the commit ring, which many threads fill and the service alone empties. A ring without
 * room loses nothing: `rescan` has the service look at all pages. The number of freed chunks is what everybody waits
 * for: a thread that may wait sleeps on it as a futex, and a failed search of all pages is not repeated until it
 * changes.
 *
 * The service may be slow, stopped or hostile. So nobody waits for longer than stall_ns, and only once until a chunk
 * is found; and what the control area says is never used as an index without a bound.
 */

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared/assert-in-tests.h"
#include "shared/fd.h"
#include "shared/macro.h"
#include "shared/monotonic.h"
#include "smb/smb-writer.h"

/* Less room than this is not worth a fragment, which costs a size and splits the packet. */
#define FRAGMENT_ROOM_MIN 12
#define CROWDED_DIVISOR   8 /* more than this part of the pages is taken: see search_start() */
#define CHUNKS_PER_WRITER 4 /* one at hand, the others on their way */
#define FULL_AT_KNOWN     (UINT64_C(1) << 32)
#define NS_PER_SEC        UINT64_C(1000000000)

void smb_producer_init(SmbProducer *producer, const SmbArea *area, int doorbell_fd) {
        producer->area = *area;
        producer->doorbell_fd = doorbell_fd;
        fd_mark(doorbell_fd);
        atomic_init(&producer->rung_head, UINT32_MAX);
        atomic_init(&producer->starved_at, UINT32_MAX);
}

static void wake_writers(SmbControl *control) {
        syscall(SYS_futex, &control->n_freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void smb_producer_close(SmbProducer *producer) {
        SmbControl *control = producer->area.control;

        atomic_store(&producer->closed, true);
        /* A thread that has checked `closed` but does not wait yet must find a changed value. */
        atomic_fetch_add(&control->n_freed, 1);
        wake_writers(control);
}

/*
 * The ring
 */

static void ring_doorbell(SmbProducer *producer) {
        /* The eventfd's counter cannot be full: while awake the service reads it every few milliseconds, and a
         * sleeping service has already emptied it. The descriptor may be gone, if the program has closed descriptors
         * that it does not own. */
        fd_ring_marked(producer->doorbell_fd);
}

static void ring_if_sleeping(SmbProducer *producer) {
        SmbControl *control = producer->area.control;

        /* seq_cst, after the seq_cst store that published: see SmbControl. */
        if (atomic_load(&control->sleeping) && atomic_exchange(&control->sleeping, 0))
                ring_doorbell(producer);
}

/* Vyukov's enqueue. Returns false if the ring is full. */
static bool ring_put(SmbProducer *producer, uint32_t what, uint32_t a, uint32_t b) {
        SmbControl *control = producer->area.control;
        uint32_t position = atomic_load_explicit(&control->tail, memory_order_relaxed);

        for (;;) {
                uint32_t place = position & (producer->area.n_slots - 1), lap = position - place;
                SmbSlot *slot = &control->slots[place];
                /* Pairs with pass_slot(): the reader is done with the slot. */
                uint32_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
                int32_t ahead = (int32_t)(turn - lap);

                if (ahead < 0)
                        return false;
                if (ahead > 0) {
                        uint32_t tail = atomic_load_explicit(&control->tail, memory_order_relaxed);

                        /* The thread that filled the slot has moved tail before. If tail is elsewhere, the memory is
                         * hostile. */
                        if (tail == position)
                                return false;
                        position = tail;
                        continue;
                }
                if (!atomic_compare_exchange_weak_explicit(&control->tail,
                                                           &position,
                                                           position + 1,
                                                           memory_order_relaxed,
                                                           memory_order_relaxed))
                        continue;
                atomic_store_explicit(&slot->what, what, memory_order_relaxed);
                atomic_store_explicit(&slot->a, a, memory_order_relaxed);
                atomic_store_explicit(&slot->b, b, memory_order_relaxed);
                atomic_store(&slot->turn, lap + 1);
                return true;
        }
}

static uint32_t n_outstanding(SmbProducer *producer) {
        return atomic_load_explicit(&producer->n_acquired, memory_order_relaxed) -
               atomic_load_explicit(&producer->area.control->n_freed, memory_order_relaxed);
}

/* How a free page is to be partitioned. */
static SmbLayout choose_layout(SmbProducer *producer) {
        uint32_t n = CHUNKS_PER_WRITER *
                     atomic_load_explicit(&producer->n_writers, memory_order_relaxed);
        SmbLayout layout = SMB_LAYOUT_DIV1;

        while (layout < SMB_LAYOUT_DIV14 && producer->area.n_pages * smb_layout_chunks(layout) < n)
                layout++;
        return layout;
}

/* An estimate of the free chunks of this layout: the counters lag a little, and pages with other layouts make it
 * less exact. */
static uint32_t n_free(SmbProducer *producer, SmbLayout layout) {
        uint32_t n_all = producer->area.n_pages * smb_layout_chunks(layout);
        uint32_t n = n_outstanding(producer);

        return n < n_all ? n_all - n : 0;
}

/* Rings when more chunks wait for the service than a third of the free ones: what is left has to last until the
 * service gets a CPU, which takes milliseconds on a busy machine. Rings once for each position of the ring's head,
 * so that a service that is on its way is not rung again for each chunk. */
static void ring_if_filling(SmbProducer *producer) {
        SmbControl *control = producer->area.control;
        uint32_t head = atomic_load_explicit(&control->head, memory_order_relaxed);
        uint32_t tail = atomic_load_explicit(&control->tail, memory_order_relaxed);
        uint32_t n = n_free(producer, choose_layout(producer));

        if (SMB_RING_SHARE * (int64_t)(int32_t)(tail - head) <= MIN(n, producer->area.n_slots))
                return;
        if (atomic_load_explicit(&producer->rung_head, memory_order_relaxed) == head)
                return;
        if (atomic_exchange_explicit(&producer->rung_head, head, memory_order_relaxed) != head)
                ring_doorbell(producer);
}

bool smb_post_patch(SmbProducer *producer,
                    uint16_t writer_id,
                    uint32_t chunk_id,
                    uint16_t offset,
                    const uint8_t data[static 4],
                    bool more_patches) {
        uint32_t what = (uint32_t)offset << 16 | writer_id;
        uint32_t bytes;

        if (more_patches)
                what |= SMB_SLOT_MORE_PATCHES;
        memcpy(&bytes, data, sizeof(bytes));
        if (!ring_put(producer, what, chunk_id, bytes))
                return false;
        ring_if_sleeping(producer);
        return true;
}

/*
 * Requests of the service
 */

bool smb_take_request(SmbProducer *producer, SmbAsked *ret) {
        for (unsigned place = 0; place < SMB_REQUESTS; place++) {
                SmbRequest *request = &producer->area.control->requests[place];
                uint32_t n;

                /* Pairs with smb_ask(). */
                if (atomic_load_explicit(&request->state, memory_order_acquire) !=
                    SMB_REQUEST_ASKED)
                        continue;
                atomic_store_explicit(&request->state, SMB_REQUEST_TAKEN, memory_order_relaxed);
                n = atomic_load_explicit(&request->n_instances, memory_order_relaxed);
                ret->place = place;
                ret->kind = atomic_load_explicit(&request->kind, memory_order_relaxed);
                ret->n_instances = MIN(n, (uint32_t)SMB_REQUEST_INSTANCES_MAX);
                for (size_t i = 0; i < ret->n_instances; i++)
                        ret->instances[i] =
                                atomic_load_explicit(&request->instances[i], memory_order_relaxed);
                return true;
        }
        return false;
}

void smb_answer(SmbProducer *producer, unsigned place) {
        SmbRequest *request = &producer->area.control->requests[place];

        /* Pairs with smb_take_answer(). */
        atomic_store_explicit(&request->state, SMB_REQUEST_DONE, memory_order_release);
        ring_doorbell(producer);
}

/*
 * Writer ids
 */

static bool take_writer_id(SmbProducer *producer, uint16_t writer_id, uint16_t target_buffer) {
        uint16_t none = 0;

        /* acquire: what the id's last writer left in pasts[] came before its retirement. */
        return atomic_compare_exchange_strong_explicit(
                &producer->area.control->writer_buffer[writer_id],
                &none,
                target_buffer,
                memory_order_acq_rel,
                memory_order_relaxed);
}

/* Finds a free id; unless `any` is set, one that was never used for another buffer. 0: no such id is free. */
static uint16_t find_writer_id(SmbProducer *producer, uint16_t target_buffer, bool any) {
        uint32_t start = atomic_fetch_add_explicit(&producer->next_writer, 1, memory_order_relaxed);

        for (uint32_t i = 0; i < SMB_NATIVE_WRITERS_MAX - 1; i++) {
                uint16_t id = (uint16_t)(1 + (start + i) % (SMB_NATIVE_WRITERS_MAX - 1));
                uint16_t past = atomic_load_explicit(&producer->pasts[id].target_buffer,
                                                     memory_order_relaxed);

                if (!any && past != 0 && past != target_buffer)
                        continue;
                if (take_writer_id(producer, id, target_buffer))
                        return id;
        }
        return 0;
}

static void retire_writer_id(SmbProducer *producer, uint32_t writer_id) {
        if (!ring_put(producer, 0, SMB_SLOT_RETIRE, writer_id))
                atomic_fetch_or(&producer->unretired[writer_id / 64],
                                UINT64_C(1) << (writer_id % 64));
}

static void retire_again(SmbProducer *producer) {
        for (uint32_t i = 0; i < ARRAY_SIZE(producer->unretired); i++) {
                uint64_t bits = atomic_exchange(&producer->unretired[i], 0);

                for (; bits; bits &= bits - 1)
                        retire_writer_id(producer, i * 64 + (uint32_t)__builtin_ctzll(bits));
        }
}

int smb_writer_init(SmbWriter *writer,
                    SmbProducer *producer,
                    uint16_t target_buffer,
                    SmbFullPolicy full_policy,
                    uint64_t stall_ns) {
        SmbWriterPast *past;
        uint16_t id;

        id = find_writer_id(producer, target_buffer, false);
        if (id == 0)
                id = find_writer_id(producer, target_buffer, true);
        if (id == 0) {
                retire_again(producer);
                return SMB_WRITER_E_NO_ID;
        }

        atomic_fetch_add_explicit(&producer->n_writers, 1, memory_order_relaxed);
        past = &producer->pasts[id];
        atomic_store_explicit(&past->target_buffer, target_buffer, memory_order_relaxed);
        *writer = (SmbWriter){
                .producer = producer,
                .writer_id = id,
                .target_buffer = target_buffer,
                .full_policy = full_policy,
                .stall_ns = stall_ns,
                .next_chunk_id = atomic_load_explicit(&past->next_chunk_id, memory_order_relaxed),
        };
        return 0;
}

/*
 * Chunks
 */

static void set_packets(SmbWriter *writer, uint16_t packets) {
        writer->packets = packets;
        /* Stored last, with release: a reader of the count finds the ids and the bytes. */
        atomic_store_explicit(&writer->header->packets, packets, memory_order_release);
}

/* Grows only; nothing to do for any page that was used before. */
static void note_used_page(SmbProducer *producer, uint32_t page) {
        _Atomic uint32_t *n_used = &producer->area.control->n_used_pages;
        uint32_t n = atomic_load_explicit(n_used, memory_order_relaxed);

        while (UNLIKELY(page >= n) &&
               !atomic_compare_exchange_weak_explicit(
                       n_used, &n, page + 1, memory_order_relaxed, memory_order_relaxed))
                ;
}

/* Where a chunk is. */
typedef struct Place {
        uint32_t page;
        uint32_t chunk;
        SmbLayout layout;
} Place;

/* While few pages are taken, the search begins at the first page: the other pages then need no memory, and the
 * service need not look at them. When many are taken, it would take long to find a free page from there. */
static uint32_t search_start(SmbProducer *producer) {
        if (n_outstanding(producer) <= producer->area.n_pages / CROWDED_DIVISOR)
                return 0;
        return atomic_load_explicit(&producer->page_hint, memory_order_relaxed);
}

/* The page's state with one more chunk taken. 0: no chunk of that layout (with SMB_LAYOUT_NONE: of any layout) is
 * free. */
static uint32_t state_with_taken(uint32_t state, SmbLayout layout, Place *ret) {
        SmbLayout here = smb_state_layout(state);

        if (state == 0 && layout != SMB_LAYOUT_NONE) {
                *ret = (Place){ .layout = layout };
                return (uint32_t)layout << 28 | SMB_CHUNK_BEING_WRITTEN;
        }
        if (here == SMB_LAYOUT_DIV1 || (layout != SMB_LAYOUT_NONE && here != layout))
                return 0;
        for (uint32_t i = 0; i < smb_layout_chunks(here); i++)
                if (smb_state_chunk(state, i) == SMB_CHUNK_FREE) {
                        *ret = (Place){ .chunk = i, .layout = here };
                        return state | (uint32_t)SMB_CHUNK_BEING_WRITTEN << (2 * i);
                }
        return 0;
}

static bool take_in_page(SmbProducer *producer, uint32_t page, SmbLayout layout, Place *ret) {
        _Atomic uint32_t *word = &smb_page(&producer->area, page)->state;
        uint32_t state = atomic_load_explicit(word, memory_order_relaxed), taken;

        while ((taken = state_with_taken(state, layout, ret)) != 0)
                /* acquire: the service has cleared the chunk's header. */
                if (atomic_compare_exchange_weak_explicit(
                            word, &state, taken, memory_order_acquire, memory_order_relaxed)) {
                        ret->page = page;
                        return true;
                }
        return false;
}

/* With SMB_LAYOUT_NONE, takes any free chunk of a page that is already partitioned. */
static bool search_chunk(SmbProducer *producer, SmbLayout layout, Place *ret) {
        uint32_t n_pages = producer->area.n_pages, start = search_start(producer);

        for (uint32_t i = 0; i < n_pages; i++)
                if (take_in_page(producer, (start + i) % n_pages, layout, ret))
                        return true;
        return false;
}

static void note_taken(SmbProducer *producer, const Place *place) {
        /* The same page again if it has more chunks. */
        uint32_t hint = place->page + (place->layout == SMB_LAYOUT_DIV1);

        atomic_fetch_add_explicit(&producer->n_acquired, 1, memory_order_relaxed);
        atomic_store_explicit(&producer->page_hint, hint, memory_order_relaxed);
        if (place->layout != SMB_LAYOUT_DIV1)
                atomic_store_explicit(&producer->is_divided, true, memory_order_relaxed);
        note_used_page(producer, place->page);
}

/* After one thread has searched in vain, the others skip the search until something is freed. */
static bool take_chunk(SmbProducer *producer, Place *ret) {
        /* acquire: what was freed before is seen by the search. */
        uint32_t n_freed =
                atomic_load_explicit(&producer->area.control->n_freed, memory_order_acquire);

        if (atomic_load_explicit(&producer->full_at, memory_order_relaxed) ==
            (FULL_AT_KNOWN | n_freed))
                return false;
        if (!search_chunk(producer, choose_layout(producer), ret) &&
            !(atomic_load_explicit(&producer->is_divided, memory_order_relaxed) &&
              search_chunk(producer, SMB_LAYOUT_NONE, ret))) {
                atomic_store_explicit(
                        &producer->full_at, FULL_AT_KNOWN | n_freed, memory_order_relaxed);
                return false;
        }
        note_taken(producer, ret);
        return true;
}

/* Once for each value of n_freed: if nothing was freed since, no more chunks can be returned. */
static void tell_starving(SmbProducer *producer) {
        SmbControl *control = producer->area.control;
        uint32_t n_freed = atomic_load_explicit(&control->n_freed, memory_order_relaxed);
        uint32_t n_waiting = atomic_load_explicit(&control->tail, memory_order_relaxed) -
                             atomic_load_explicit(&control->head, memory_order_relaxed);

        if (!producer->starving || n_waiting >= n_outstanding(producer) / 2)
                return;
        if (atomic_exchange_explicit(&producer->starved_at, n_freed, memory_order_relaxed) !=
            n_freed)
                producer->starving(producer);
}

static void wait_for_chunk(SmbProducer *producer, uint32_t n_freed, uint64_t deadline_ns) {
        SmbControl *control = producer->area.control;
        /* The system call's own type: where `long` is narrow, its time_t is narrow as well, unlike libc's. */
        struct __kernel_old_timespec until = {
                .tv_sec = (__kernel_long_t)(deadline_ns / NS_PER_SEC),
                .tv_nsec = (long)(deadline_ns % NS_PER_SEC),
        };
        int saved_errno = errno;

        atomic_fetch_add(&control->n_waiting, 1);
        ring_doorbell(producer);
        /* The bitset form has an absolute deadline, on CLOCK_MONOTONIC. */
        syscall(SYS_futex,
                &control->n_freed,
                FUTEX_WAIT_BITSET,
                n_freed,
                &until,
                NULL,
                FUTEX_BITSET_MATCH_ANY);
        atomic_fetch_sub(&control->n_waiting, 1);
        errno = saved_errno;
}

static bool take_chunk_or_wait(SmbWriter *writer, Place *ret) {
        SmbProducer *producer = writer->producer;
        uint64_t deadline_ns = 0;

        for (;;) {
                uint32_t n_freed = atomic_load(&producer->area.control->n_freed);
                uint64_t ns;

                if (take_chunk(producer, ret))
                        return true;
                /* After waiting in vain the writer does not wait again until it gets a chunk: a service that hangs
                 * costs a thread one wait, not one for each packet. */
                if (writer->full_policy == SMB_FULL_DROP || writer->lost ||
                    atomic_load(&producer->closed))
                        return false;
                ns = monotonic_ns();
                if (deadline_ns == 0)
                        deadline_ns = ns + writer->stall_ns;
                if (ns >= deadline_ns)
                        return false;
                tell_starving(producer);
                wait_for_chunk(producer, n_freed, deadline_ns);
        }
}

/* Makes it the chunk at hand. */
static void open_chunk(SmbWriter *writer, const Place *place, unsigned flags) {
        SmbArea *area = &writer->producer->area;
        uint32_t n_chunk = smb_chunk_bytes(area->page_bytes, place->layout);
        uint8_t *start = (uint8_t *)smb_page(area, place->page) + SMB_PAGE_HEADER_BYTES +
                         place->chunk * n_chunk;

        writer->page = place->page;
        writer->chunk = place->chunk;
        writer->layout = (uint8_t)place->layout;
        writer->header = (SmbChunkHeader *)start;
        writer->at = start + SMB_CHUNK_HEADER_BYTES;
        writer->end = start + n_chunk;
        atomic_store_explicit(&writer->header->writer_id, writer->writer_id, memory_order_relaxed);
        atomic_store_explicit(
                &writer->header->chunk_id, writer->next_chunk_id++, memory_order_relaxed);
        set_packets(writer, (uint16_t)(flags << SMB_FLAGS_SHIFT));
}

static void commit_chunk(SmbWriter *writer) {
        SmbProducer *producer = writer->producer;
        _Atomic uint32_t *word = &smb_page(&producer->area, writer->page)->state;

        /* release: everything in it. */
        if (LIKELY(writer->layout == SMB_LAYOUT_DIV1)) /* nobody else's word */
                atomic_store_explicit(word,
                                      (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE,
                                      memory_order_release);
        else
                atomic_fetch_or_explicit(word,
                                         (uint32_t)SMB_CHUNK_COMPLETE << (2 * writer->chunk),
                                         memory_order_release);
        writer->header = NULL;
        if (!ring_put(producer, 0, writer->page, writer->chunk))
                atomic_store(&producer->area.control->rescan, 1);
        ring_if_sleeping(producer);
        ring_if_filling(producer);
}

/*
 * Packets
 */

static unsigned n_fragments(const SmbWriter *writer) {
        return writer->packets & SMB_COUNT_MASK;
}

static size_t room(const SmbWriter *writer) {
        if (!writer->header || n_fragments(writer) == SMB_FRAGMENTS_MAX)
                return 0;
        return (size_t)(writer->end - writer->at);
}

static size_t varint_bytes(size_t n) {
        return n < 1u << 7 ? 1 : n < 1u << 14 ? 2 : n < 1u << 21 ? 3 : 4;
}

static uint8_t *put_varint(uint8_t *at, size_t n) {
        for (; n >= 0x80; n >>= 7)
                *at++ = (uint8_t)(n | 0x80);
        *at++ = (uint8_t)n;
        return at;
}

static void put_fragment(SmbWriter *writer, const uint8_t *data, size_t n) {
        uint8_t *at = put_varint(writer->at, n);

        memcpy(at, data, n);
        writer->at = at + n;
}

static void put_give_up(SmbWriter *writer) {
        /* A chunk that was opened to continue has room. */
        writer->at = put_varint(writer->at, SMB_PACKET_DROPPED);
        set_packets(writer, writer->packets + 1);
        commit_chunk(writer);
}

void smb_producer_count_dropped(SmbProducer *producer, uint64_t n) {
        atomic_fetch_add_explicit(&producer->area.control->n_dropped, n, memory_order_relaxed);
}

int smb_writer_drop(SmbWriter *writer) {
        writer->lost = true;
        if (atomic_load_explicit(&writer->producer->closed, memory_order_relaxed))
                return SMB_WRITER_E_CLOSED;
        smb_producer_count_dropped(writer->producer, 1);
        tell_starving(writer->producer);
        return SMB_WRITER_E_FULL;
}

static bool could_fit(const SmbWriter *writer, size_t n) {
        SmbProducer *producer = writer->producer;
        /* Where pages are divided, overestimate rather than underestimate. */
        SmbLayout layout = atomic_load_explicit(&producer->is_divided, memory_order_relaxed)
                                   ? SMB_LAYOUT_DIV14
                                   : SMB_LAYOUT_DIV1;
        size_t n_payload =
                smb_chunk_bytes(producer->area.page_bytes, layout) - SMB_CHUNK_HEADER_BYTES;

        if (n >= SMB_PACKET_DROPPED)
                return false;
        /* A writer that waits can get more chunks than are free at once. */
        return writer->full_policy == SMB_FULL_STALL ||
               n <= room(writer) + n_payload * n_free(producer, layout);
}

/* Writes as much as fits into the current chunk, which is too small for the rest, and takes the next chunk. */
static int put_some(SmbWriter *writer, const uint8_t **data, size_t *n) {
        size_t n_size = varint_bytes(room(writer));
        size_t n_now = MIN(*n, room(writer) - n_size);
        Place next;

        /* Not counted yet: if there is no next chunk, the fragment does not exist. */
        if (!take_chunk_or_wait(writer, &next))
                return -ENOBUFS;
        put_fragment(writer, *data, n_now);
        set_packets(
                writer,
                (uint16_t)((writer->packets + 1) | SMB_CHUNK_TO_BE_CONTINUED << SMB_FLAGS_SHIFT));
        commit_chunk(writer);
        open_chunk(writer, &next, SMB_CHUNK_CONTINUES);
        *data += n_now;
        *n -= n_now;
        return 0;
}

static int write_in_pieces(SmbWriter *writer, const uint8_t *data, size_t n) {
        Place place;
        bool begun = false;

        /* First commit a full chunk: it may be just what others, or this writer, are short of. */
        if (writer->header && room(writer) < FRAGMENT_ROOM_MIN)
                commit_chunk(writer);
        if (!could_fit(writer, n))
                return SMB_WRITER_E_FULL;
        if (!writer->header) {
                if (!take_chunk_or_wait(writer, &place))
                        return SMB_WRITER_E_FULL;
                open_chunk(writer, &place, 0);
        }

        while (varint_bytes(n) + n > room(writer)) {
                if (put_some(writer, &data, &n) < 0) {
                        if (begun)
                                put_give_up(writer);
                        return SMB_WRITER_E_FULL;
                }
                begun = true;
        }
        put_fragment(writer, data, n);
        set_packets(writer, writer->packets + 1);
        writer->lost = false;
        return 0;
}

int smb_writer_try(SmbWriter *writer, const void *packet, size_t n_bytes) {
        if (n_bytes == 0 || smb_writer_put_small(writer, packet, n_bytes))
                return 0;
        if (UNLIKELY(atomic_load_explicit(&writer->producer->closed, memory_order_relaxed)))
                return SMB_WRITER_E_CLOSED;
        if (UNLIKELY(n_bytes + varint_bytes(n_bytes) > room(writer)))
                return write_in_pieces(writer, packet, n_bytes);

        put_fragment(writer, packet, n_bytes);
        set_packets(writer, writer->packets + 1);
        writer->lost = false;
        return 0;
}

int smb_writer_write(SmbWriter *writer, const void *packet, size_t n_bytes) {
        return smb_writer_try(writer, packet, n_bytes) == 0 ? 0 : smb_writer_drop(writer);
}

void smb_writer_flush(SmbWriter *writer) {
        if (!writer->header)
                return;
        if (atomic_load_explicit(&writer->producer->closed, memory_order_relaxed))
                writer->header = NULL; /* the service is gone */
        else
                commit_chunk(writer);
}

void smb_writer_deinit(SmbWriter *writer) {
        SmbProducer *producer = writer->producer;

        if (!producer)
                return;
        smb_writer_flush(writer);
        assert_in_tests(!writer->header);
        assert_in_tests(atomic_load(&producer->n_writers) > 0);
        writer->producer = NULL;
        atomic_fetch_sub_explicit(&producer->n_writers, 1, memory_order_relaxed);
        if (atomic_load_explicit(&producer->closed, memory_order_relaxed))
                return;
        atomic_store_explicit(&producer->pasts[writer->writer_id].next_chunk_id,
                              writer->next_chunk_id,
                              memory_order_relaxed);
        retire_writer_id(producer, writer->writer_id);
}
