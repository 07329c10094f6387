/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writer state: what a writer of packets has interned, and when it has to start over */

#include <errno.h>

#include "lib/pool.h"
#include "lib/writer.h"

#define KEY_ON_STACK 512

void writers_clear_state(List *writers) {
        dt_writer *writer;

        list_for_each (writer, writers, link)
                atomic_store_explicit(&writer->cleared, true, memory_order_relaxed);
}

void writer_state_deinit(dt_writer *writer) {
        if (writer->interned)
                intern_deinit(writer->interned);
        pool_free(writer->interned);
        writer->interned = NULL;
}

DT_EXPORT bool dt_writer_lost(const dt_writer *writer) {
        return smb_writer_lost(&writer->smb);
}

DT_EXPORT bool dt_writer_begins(dt_writer *writer) {
        bool cleared = atomic_exchange_explicit(&writer->cleared, false, memory_order_relaxed);

        if (!cleared && writer->begun && !dt_writer_lost(writer))
                return false;
        if (writer->interned)
                intern_clear(writer->interned);
        return true;
}

/* One table for all kinds: each text is stored behind the number of its kind, so the same text in two kinds has
 * two numbers. */
static int intern_of_kind(Intern *interned,
                          uint32_t kind,
                          const void *data,
                          size_t n_bytes,
                          uint32_t *ret_number) {
        _cleanup_(pool_freep) uint8_t *allocated = NULL;
        uint8_t on_stack[KEY_ON_STACK];
        uint8_t *key = on_stack;

        if (n_bytes > sizeof(on_stack) - sizeof(kind)) {
                key = allocated = pool_take(sizeof(kind) + n_bytes);
                if (!key)
                        return INTERN_E_FULL;
        }
        memcpy(key, &kind, sizeof(kind));
        if (n_bytes > 0)
                memcpy(key + sizeof(kind), data, n_bytes);
        return intern_number(interned, key, sizeof(kind) + n_bytes, ret_number);
}

DT_EXPORT int dt_writer_intern(dt_writer *writer,
                               uint32_t kind,
                               const void *data,
                               size_t n_bytes,
                               uint64_t *ret_number) {
        uint32_t number;
        int r;

        if (n_bytes > INTERN_BYTES_MAX)
                return -EINVAL;
        if (!writer->interned)
                writer->interned = pool_new(sizeof(*writer->interned));
        if (!writer->interned)
                return -ENOBUFS;
        r = intern_of_kind(writer->interned, kind, data, n_bytes, &number);
        if (r == INTERN_E_FULL)
                return -ENOBUFS;
        *ret_number = number;
        return r == INTERN_E_NEW ? DT_INTERNED_NEW : 0;
}
