/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The writer's thread says that it is busy with a plain store, and looks whether the private thread has claimed
 * the writer. The private thread claims it, then looks whether it is busy. Each must see the other's store if
 * its own came too late to be seen: the expensive half of that, the full barrier between store and load, is put on
 * the private thread alone by membarrier(2), which executes one on every CPU that runs this process. Without
 * it (a kernel before 4.14, a seccomp filter) the writer's store becomes a seq_cst exchange.
 */

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/pool.h"
#include "lib/writer.h"
#include "wire/wire-writer.h"

enum {
        FIELD_PREVIOUS_PACKET_DROPPED = 42,
        FIELD_FIRST_PACKET_ON_SEQUENCE = 87,
};

/* The mark that Perfetto's writers use when the shared memory was full: dropped by the producer. */
#define DROPPED_BY_PRODUCER 257

#define MARKS_BYTES_MAX 16
#define PACKET_ON_STACK 1024
#define BUSY_POLL_NS    100000

bool writers_have_membarrier;

void writers_prepare(void) {
        writers_have_membarrier =
                syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static void barrier_in_all_threads(void) {
        if (writers_have_membarrier)
                syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/*
 * The writer's thread
 */

/* Returns false if the writer has ended. Otherwise smb is ours until writer_leave(). */
static inline bool enter(dt_writer *writer) {
        writer_set_busy(writer);
        /* acquire: pairs with the private thread's giving it back. */
        while (UNLIKELY(atomic_load_explicit(&writer->claimed, memory_order_acquire))) {
                atomic_store_explicit(&writer->busy, false, memory_order_release);
                sched_yield(); /* the private thread does not wait for us here, and takes only one chunk */
                if (library_inert())
                        return false;
                writer_set_busy(writer);
        }
        if (LIKELY(!atomic_load_explicit(&writer->over, memory_order_relaxed)))
                return true;
        atomic_store_explicit(&writer->busy, false, memory_order_release);
        return false;
}

void writer_leave(dt_writer *writer) {
        /* The writer was ended while this thread was in it for longer than the private thread waits. */
        if (UNLIKELY(atomic_load_explicit(&writer->over, memory_order_relaxed)))
                smb_writer_deinit(&writer->smb);
        atomic_store_explicit(&writer->busy, false, memory_order_release);
}

void writer_count_lost(const dt_writer *writer) {
        SmbProducer *producer = &writer->memory->producer;

        if (!atomic_load_explicit(&writer->over, memory_order_relaxed) &&
            !atomic_load_explicit(&producer->closed, memory_order_relaxed))
                smb_producer_count_dropped(producer, 1);
}

/*
 * The private thread
 */

static bool wait_until_idle(dt_writer *writer, uint64_t deadline_ns) {
        static const struct timespec poll_time = { .tv_nsec = BUSY_POLL_NS };

        for (;;) {
                /* acquire: what the thread did to smb. */
                if (!atomic_load_explicit(&writer->busy, memory_order_acquire))
                        return true;
                if (library_now_ns() >= deadline_ns)
                        return false;
                nanosleep(&poll_time, NULL);
        }
}

static void return_chunk(dt_writer *writer, bool end) {
        if (end)
                smb_writer_deinit(&writer->smb);
        else
                smb_writer_flush(&writer->smb);
}

void writers_return_chunks(List *writers, bool end) {
        uint64_t deadline_ns = library_now_ns() + WRITER_BUSY_WAIT_NS;
        dt_writer *writer;

        list_for_each (writer, writers, link) {
                if (end)
                        atomic_store(&writer->over, true);
                atomic_store(&writer->claimed, true);
        }
        barrier_in_all_threads();
        list_for_each (writer, writers, link) {
                /* A writer that is still busy is waiting for room: its finished fragments are already counted in
                 * shared memory, and the service reads them there. */
                if (wait_until_idle(writer, deadline_ns))
                        return_chunk(writer, end);
                atomic_store_explicit(&writer->claimed, false, memory_order_release);
                if (end)
                        list_unlink(&writer->link);
        }
}

/*
 * Public
 */

static SmbFullPolicy choose_policy(const dt_instance *instance, dt_full_policy policy) {
        switch (policy) {
        case DT_FULL_DROP:
                return SMB_FULL_DROP;
        case DT_FULL_STALL:
                return SMB_FULL_STALL;
        default:
                return instance->full_policy;
        }
}

static int attach(dt_writer *writer, dt_instance *instance, dt_full_policy policy) {
        int r;

        if (instance->over)
                return -ESHUTDOWN;
        r = smb_writer_init(&writer->smb,
                            &instance->memory->producer,
                            instance->target_buffer,
                            choose_policy(instance, policy),
                            WRITER_STALL_NS);
        if (r > 0)
                return -EMFILE;
        writer->memory = memory_ref(instance->memory);
        list_append(&instance->writers, &writer->link);
        return 0;
}

DT_EXPORT int dt_writer_new(dt_writer **ret, dt_instance *instance, dt_full_policy policy) {
        dt_writer *writer;
        int r;

        if (library_inert())
                return -ESHUTDOWN;
        writer = pool_new(sizeof(*writer));
        if (!writer)
                return -ENOMEM;
        list_init(&writer->link);
        library_lock();
        r = attach(writer, instance, policy);
        library_unlock();
        if (r < 0) {
                pool_free(writer);
                return r;
        }
        *ret = writer;
        return 0;
}

DT_EXPORT dt_writer *dt_writer_free(dt_writer *writer) {
        if (!writer)
                return NULL;
        if (!library_inert()) {
                /* While we hold the lock, the private thread has no claim. */
                library_lock();
                list_unlink(&writer->link);
                smb_writer_deinit(&writer->smb);
                library_unlock();
                memory_unref(writer->memory);
        }
        writer_state_deinit(writer);
        return pool_free(writer);
}

/* Writes the packet and its marks as one. */
static int put_marked(dt_writer *writer, const void *packet, size_t n_bytes) {
        _cleanup_(pool_freep) uint8_t *allocated = NULL;
        uint8_t on_stack[PACKET_ON_STACK];
        uint8_t *copy = on_stack;
        WireWriter wire;

        if (n_bytes > sizeof(on_stack) - MARKS_BYTES_MAX) {
                copy = allocated = pool_take(n_bytes + MARKS_BYTES_MAX);
                if (!copy)
                        return SMB_WRITER_E_FULL;
        }
        memcpy(copy, packet, n_bytes);
        wire_writer_init(&wire, copy + n_bytes, MARKS_BYTES_MAX);
        if (smb_writer_lost(&writer->smb))
                wire_put_uint(&wire, FIELD_PREVIOUS_PACKET_DROPPED, DROPPED_BY_PRODUCER);
        if (!writer->begun)
                wire_put_bool(&wire, FIELD_FIRST_PACKET_ON_SEQUENCE, true);
        return smb_writer_try(&writer->smb, copy, n_bytes + wire_writer_size(&wire));
}

static inline int put(dt_writer *writer, const void *packet, size_t n_bytes, bool is_counted) {
        int r;

        if (UNLIKELY(!enter(writer)))
                return -ESHUTDOWN;
        if (LIKELY(writer->begun && smb_writer_put_small(&writer->smb, packet, n_bytes)))
                r = 0;
        else if (writer->begun && !smb_writer_lost(&writer->smb))
                r = smb_writer_try(&writer->smb, packet, n_bytes);
        else
                r = put_marked(writer, packet, n_bytes);
        if (UNLIKELY(r != 0 && is_counted))
                r = smb_writer_drop(&writer->smb);
        writer->begun |= r == 0;
        writer_leave(writer);
        return r == 0 ? 0 : r == SMB_WRITER_E_CLOSED ? -ESHUTDOWN : -ENOBUFS;
}

int writer_write(dt_writer *writer, const void *packet, size_t n_bytes) {
        return put(writer, packet, n_bytes, true);
}

int writer_try(dt_writer *writer, const void *packet, size_t n_bytes) {
        return put(writer, packet, n_bytes, false);
}

DT_EXPORT int dt_writer_write(dt_writer *writer, const void *packet, size_t n_bytes) {
        return library_inert() ? -ESHUTDOWN : writer_write(writer, packet, n_bytes);
}

DT_EXPORT void dt_writer_flush(dt_writer *writer) {
        if (library_inert() || !enter(writer))
                return;
        smb_writer_flush(&writer->smb);
        writer_leave(writer);
}
