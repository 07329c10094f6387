/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Memory of processes by the kernel's own events: each change of resident memory
 *
 * An event identifies the memory's owner only if the owner is the thread that caused the event. For memory that another
 * thread works on, the event has a number. It leads to the owner if an earlier event has shown whose number that is.
 */

#include "trace/import-kernel.h"

enum { RSS_MEMBER = 1, RSS_BYTES, RSS_IS_OWN, RSS_OWNER };

static const char *const members[] = { "rss.file", "rss.anon", "swap", "rss.shmem" };

static bool is_alive(const TraceImport *import, uint32_t utid) {
        return trace_table_i64(&import->store->tables[TRACE_TABLE_THREAD], THREAD_END, utid) ==
               TRACE_NO_TIME;
}

/* The thread of the process, or TRACE_NONE. */
static uint32_t find_owner(TraceImport *import, const KernelEvent *event) {
        uint64_t utid;

        if (event->numbers[RSS_IS_OWN]) {
                utid = trace_threads_get(&import->threads, event->pid);
                if (utid != TRACE_NONE)
                        trace_map_set(&import->memory_owners, event->numbers[RSS_OWNER], utid);
                return (uint32_t)utid;
        }
        utid = trace_map_find(&import->memory_owners, event->numbers[RSS_OWNER]);
        return utid != TRACE_MAP_NONE && is_alive(import, (uint32_t)utid) ? (uint32_t)utid
                                                                          : TRACE_NONE;
}

static uint32_t
memory_track_make(TraceImport *import, uint32_t utid, uint32_t upid, const char *member) {
        TracePool *pool = &import->store->pool;
        const TracePlainTrack track = {
                .type = "process_memory",
                .name = trace_pool_add_format(pool, "mem.%s", member),
                .kind = TRACK_KIND_COUNTER,
                .utid = upid == TRACE_NONE ? utid : TRACE_NONE,
                .upid = upid,
                .cpu = TRACE_NONE,
                .dimension = "process_memory_key",
                .value = trace_pool_add_text(pool, member),
        };

        return trace_tracks_plain(&import->tracks, &track);
}

/* An allocation is an event, so these are many: to find the track by its texts would take half of the reading. */
static uint32_t memory_track(TraceImport *import, uint32_t utid, uint32_t upid, unsigned member) {
        bool is_of_thread = upid == TRACE_NONE;
        uint64_t key = ((uint64_t)member << 1 | is_of_thread) << 32 | (is_of_thread ? utid : upid);
        uint64_t known = trace_map_find(&import->memory_tracks, key);
        uint32_t track;

        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        track = memory_track_make(import, utid, upid, members[member]);
        if (track != TRACE_NONE)
                trace_map_set(&import->memory_tracks, key, track);
        return track;
}

/* The process of a thread may become known only at the end of the recording, or never. Until then the value belongs
 * to the thread. */
static void set_later(TraceImport *import, uint32_t utid, unsigned member, uint32_t row) {
        if (trace_reserve((void **)&import->memory_later,
                          &import->n_memory_later_allocated,
                          import->n_memory_later + 1,
                          sizeof(*import->memory_later))) {
                import->ran_out = true;
                return;
        }
        import->memory_later[import->n_memory_later++] = (ImportMemory){ utid, member, row };
}

void apply_memory_of_process(TraceImport *import, const KernelEvent *event) {
        const TraceTable *threads = &import->store->tables[TRACE_TABLE_THREAD],
                         *counters = &import->store->tables[TRACE_TABLE_COUNTER];
        uint64_t member = event->numbers[RSS_MEMBER];
        size_t n = counters->n;
        uint32_t utid, upid;

        if (!import_wants(import, TRACE_PART_EVENTS) || member >= ARRAY_SIZE(members) ||
            (int64_t)event->numbers[RSS_BYTES] < 0)
                return;
        utid = find_owner(import, event);
        if (utid == TRACE_NONE)
                return;
        upid = trace_table_get(threads, THREAD_UPID, utid);
        import_value(import,
                     memory_track(import, utid, upid, (unsigned)member),
                     event->at_ns,
                     (double)(int64_t)event->numbers[RSS_BYTES]);
        if (upid == TRACE_NONE && counters->n > n)
                set_later(import, utid, (unsigned)member, (uint32_t)n);
}

void import_finish_memory(TraceImport *import) {
        for (size_t i = 0; i < import->n_memory_later; i++) {
                const ImportMemory *later = &import->memory_later[i];
                uint32_t upid = trace_table_get(
                        &import->store->tables[TRACE_TABLE_THREAD], THREAD_UPID, later->utid);
                uint32_t track;

                if (upid == TRACE_NONE)
                        continue;
                track = memory_track(import, later->utid, upid, later->member);
                if (track != TRACE_NONE)
                        trace_table_set(trace_store_table(import->store, TRACE_TABLE_COUNTER),
                                        COUNTER_TRACK,
                                        later->row,
                                        track);
        }
}
