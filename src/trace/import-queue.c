/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What every import uses: it queues events for the second pass
 */

#include <string.h>

#include "trace/import.h"

/* The rows that are made of it will take about as much memory again, but only as fast as the queue is released. */
static inline bool import_is_full(const TraceImport *import) {
        const uint64_t held = import->queue.n_bytes + import->arena.n_bytes + import->n_bytes_later;

        return import->ran_out || held > import->store->budget.n_bytes_max;
}

void import_queue(TraceImport *import, size_t lane, const TraceEntry *entry) {
        if (UNLIKELY(import_is_full(import)) || trace_queue_add(&import->queue, lane, entry))
                import->ran_out = true;
}

void import_queue_packed(TraceImport *import,
                         size_t lane,
                         const WireField *bytes,
                         uint64_t first_ns,
                         uint64_t last_ns) {
        if (import_is_full(import) ||
            trace_queue_add_packed(
                    &import->queue, lane, bytes->data, bytes->n_bytes, first_ns, last_ns))
                import->ran_out = true;
}

void import_keep_bytes(TraceImport *import, TraceEntry *entry, const WireField *bytes) {
        uint64_t place;

        if (trace_arena_add(&import->arena, bytes->data, bytes->n_bytes, &place)) {
                import->ran_out = true;
                place = 0;
        }
        memcpy(&entry->b, &place, sizeof(place));
}

void import_queue_bytes(TraceImport *import,
                        size_t lane,
                        TraceEntry *entry,
                        const WireField *bytes) {
        import_keep_bytes(import, entry, bytes);
        import_queue(import, lane, entry);
}

WireField import_bytes(const TraceImport *import, const TraceEntry *entry) {
        WireField bytes = { .type = WIRE_BYTES };
        uint64_t place;

        memcpy(&place, &entry->b, sizeof(place));
        bytes.data = trace_arena_at(&import->arena, place, &bytes.n_bytes);
        return bytes;
}

bool import_boottime(TraceImport *import, uint64_t *at_ns) {
        if (trace_clocks_convert(import->clocks, at_ns, 0, TRACE_CLOCK_BOOTTIME, *at_ns) == 0)
                return true;
        import->n_without_clock++;
        return false;
}
