/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A trace file that anybody made: all of it as tables, which have to be consistent, whatever is in it. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "shared/fd.h"
#include "trace/trace-import.h"

#define BYTES_MAX (UINT64_C(64) << 20)

static void
check_ids(const TraceStore *store, TraceTableId table, unsigned column, TraceTableId of) {
        for (uint32_t row = 0; row < store->tables[table].n; row++) {
                uint32_t id = trace_table_get(&store->tables[table], column, row);

                FUZZ_CHECK(id == TRACE_NONE || id < store->tables[of].n);
        }
}

static void check_names(const TraceStore *store) {
        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                for (unsigned column = 0; column < store->tables[i].def->n_columns; column++)
                        for (uint32_t row = 0; row < store->tables[i].n; row++)
                                if (store->tables[i].def->columns[column].type == TRACE_TYPE_NAME)
                                        FUZZ_CHECK(trace_table_get(&store->tables[i], column, row) <
                                                   store->pool.n_texts);
}

static void check_order(const TraceStore *store) {
        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                for (uint32_t row = 1; store->tables[i].def->is_sorted && row < store->tables[i].n;
                     row++)
                        FUZZ_CHECK((uint64_t)trace_table_i64(&store->tables[i], 0, row - 1) <=
                                   (uint64_t)trace_table_i64(&store->tables[i], 0, row));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        _cleanup_(fd_closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);
        int r;

        FUZZ_CHECK(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes &&
                   lseek(fd, 0, SEEK_SET) == 0);
        r = trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX);
        FUZZ_CHECK(r == 0 || r == -EBADMSG);
        if (r)
                return 0;
        check_ids(store, TRACE_TABLE_SLICE, SLICE_TRACK, TRACE_TABLE_TRACK);
        check_ids(store, TRACE_TABLE_SLICE, SLICE_PARENT, TRACE_TABLE_SLICE);
        check_ids(store, TRACE_TABLE_SLICE, SLICE_ARGS, TRACE_TABLE_ARG);
        check_ids(store, TRACE_TABLE_TRACK_STATE, TRACK_STATE_TRACK, TRACE_TABLE_TRACK);
        check_ids(store, TRACE_TABLE_COUNTER, COUNTER_TRACK, TRACE_TABLE_TRACK);
        check_ids(store, TRACE_TABLE_TRACK, TRACK_UTID, TRACE_TABLE_THREAD);
        check_ids(store, TRACE_TABLE_TRACK, TRACK_UPID, TRACE_TABLE_PROCESS);
        check_ids(store, TRACE_TABLE_TRACK, TRACK_PARENT, TRACE_TABLE_TRACK);
        check_ids(store, TRACE_TABLE_THREAD, THREAD_UPID, TRACE_TABLE_PROCESS);
        check_ids(store, TRACE_TABLE_SCHED, SCHED_UTID, TRACE_TABLE_THREAD);
        check_ids(store, TRACE_TABLE_SAMPLE, PERF_UTID, TRACE_TABLE_THREAD);
        check_ids(store, TRACE_TABLE_SAMPLE, PERF_CALLSITE, TRACE_TABLE_CALLSITE);
        check_ids(store, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, TRACE_TABLE_CALLSITE);
        check_ids(store, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, TRACE_TABLE_FRAME);
        check_ids(store, TRACE_TABLE_FRAME, FRAME_MAPPING_ID, TRACE_TABLE_MAPPING);
        check_ids(store, TRACE_TABLE_FRAME, FRAME_SYMBOL_SET, TRACE_TABLE_SYMBOL);
        check_ids(store, TRACE_TABLE_STATE, STATE_UTID, TRACE_TABLE_THREAD);
        check_ids(store, TRACE_TABLE_STATE, STATE_WAKER_ID, TRACE_TABLE_STATE);
        check_names(store);
        check_order(store);
        return 0;
}
