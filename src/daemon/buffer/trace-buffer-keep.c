/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace buffer, keeping: a buffer in private memory becomes one in files while it is written to
 *
 * The memory is copied into the files piece by piece, and the files are mapped at its address, so all pointers stay
 * valid, including those of clones. The segments come first, some with each call, and new segments are made in the
 * file from then on. When all segments are there, the index follows at once, so that another process finds either
 * the whole buffer or no index.
 *
 * A clone, which shares its segments with the original, gets copies of its own.
 */

#include <errno.h>

#include "buffer/trace-buffer-private.h"
#include "shared/fd.h"

/* Adds the number of copied bytes to *n_bytes. */
static int slot_keep(TraceBuffer *buffer, Slot *slot, size_t *n_bytes) {
        const size_t n_used = slot->n_records > 0 ? slot->n_used : 0;
        int r;

        r = buffer->index->shape.is_packed ? slot_unshare(buffer, slot)
                                           : segment_keep(slot->segment, buffer->segments, n_used);
        if (r < 0)
                return r;
        slot_set_segment(slot, slot->segment);
        *n_bytes += n_used;
        return 0;
}

static int trace_buffer_keep_segments(TraceBuffer *buffer, size_t max_bytes) {
        size_t n_bytes = 0;

        for (size_t i = 0; i < buffer->n_slots; i++) {
                Slot *slot = &buffer->slots[i];
                int r;

                if (!slot->segment || slot->segment->file == buffer->segments)
                        continue;
                if (n_bytes >= max_bytes)
                        return TRACE_BUFFER_E_MORE;
                r = slot_keep(buffer, slot, &n_bytes);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void trace_buffer_say_packed(TraceBuffer *buffer) {
        for (size_t i = 0; i < buffer->n_slots; i++) {
                Slot *slot = &buffer->slots[i];

                slot->records_at =
                        slot->n_records > 0 ? (uint64_t)(slot->records - buffer->file.records) : 0;
        }
        buffer->index->magic = BUFFER_INDEX_MAGIC;
}

static int trace_buffer_keep_index(TraceBuffer *buffer) {
        int r, fd;

        if (buffer->index->shape.is_packed)
                trace_buffer_say_packed(buffer);
        r = buffer_index_keep(&buffer->file, &fd);
        if (r < 0)
                return r;
        r = sequence_pool_keep(&buffer->sequences.pool, fd);
        if (r < 0) {
                fd_close(fd);
                return r;
        }
        buffer->file.fd = fd;
        return 0;
}

int trace_buffer_keep(TraceBuffer *buffer, size_t max_bytes) {
        int r = 0;

        if (buffer->file.fd >= 0)
                return 0;
        if (!buffer->segments)
                r = segment_file_new(&buffer->segments, buffer->segment_bytes);
        if (r == 0)
                r = trace_buffer_keep_segments(buffer, max_bytes);
        if (r == 0)
                r = trace_buffer_keep_index(buffer);
        return r;
}
