/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Writers, as the private thread sees them
 *
 * A writer belongs to an application's thread, which writes without any lock or atomic exchange. When a
 * session is flushed or stopped the private thread has to return the chunk that the writer has at hand,
 * maybe long after the thread's last packet. See writer.c for how the two keep apart.
 */

#include "lib/intern.h"
#include "lib/source-private.h"

/* How long a flush or stop waits for a thread that is in the middle of a packet. */
#define WRITER_BUSY_WAIT_NS UINT64_C(10000000)

/* How long DT_FULL_STALL waits for room. */
#define WRITER_STALL_NS UINT64_C(1000000000)

struct dt_writer {
        SmbWriter smb;
        Memory *memory;
        List link;  /* in dt_instance.writers, under the lock */
        bool begun; /* a packet got through */

        _Atomic bool cleared; /* the incremental state has to start over */
        Intern *interned;     /* the names that dt_writer_intern() has numbered, or NULL */

        _Atomic bool busy;    /* the writer's thread is in smb */
        _Atomic bool claimed; /* the private thread wants smb, or has it */
        _Atomic bool over;    /* never write again */
};

/* Counts a packet that was not written. Async-signal-safe. */
void writer_count_lost(const dt_writer *writer);

/* dt_writer_write() from inside of the library, in a process that is not a forked child. */
int writer_write(dt_writer *writer, const void *packet, size_t n_bytes);

/* The same for packets that are not events and need none: if there is no room for one, that is not counted as a
 * loss. */
int writer_try(dt_writer *writer, const void *packet, size_t n_bytes);

/* Whether membarrier(2) does the expensive half of the synchronisation. Set by writers_prepare(). */
extern bool writers_have_membarrier;

static inline void writer_set_busy(dt_writer *writer) {
        if (LIKELY(writers_have_membarrier)) {
                atomic_store_explicit(&writer->busy, true, memory_order_relaxed);
                atomic_signal_fence(memory_order_seq_cst);
        } else
                atomic_exchange(&writer->busy, true);
}

/* Releases smb, and cleans up if the private thread could not wait for the release. */
void writer_leave(dt_writer *writer);

/* Room for SMB_WRITER_SMALL_MAX bytes of a packet in shared memory, which writer_put_placed() ends. Returns NULL
 * if nothing was done; writer_write() then finds out why. */
static inline uint8_t *writer_place_small(dt_writer *writer) {
        uint8_t *place = NULL;

        writer_set_busy(writer);
        /* acquire: pairs with the private thread's giving it back. */
        if (LIKELY(!atomic_load_explicit(&writer->claimed, memory_order_acquire) &&
                   !atomic_load_explicit(&writer->over, memory_order_relaxed) && writer->begun))
                place = smb_writer_place_small(&writer->smb);
        if (UNLIKELY(!place))
                atomic_store_explicit(&writer->busy, false, memory_order_release);
        return place;
}

/* The packet has this many bytes; 0: it is dropped. */
static inline void writer_put_placed(dt_writer *writer, size_t n_bytes) {
        if (LIKELY(n_bytes > 0))
                smb_writer_put_placed(&writer->smb, n_bytes);
        if (UNLIKELY(atomic_load_explicit(&writer->over, memory_order_relaxed)))
                writer_leave(writer);
        else
                atomic_store_explicit(&writer->busy, false, memory_order_release);
}

/* Once, before the first writer. */
void writers_prepare(void);

/* What the writer has interned. */
void writer_state_deinit(dt_writer *writer);

/* Makes dt_writer_begins() return true. With the lock held. */
void writers_clear_state(List *writers);

/* Returns the chunks at hand of all writers of an instance; `end` also ends the writers and takes them off the
 * list. With the lock held. */
void writers_return_chunks(List *writers, bool end);
