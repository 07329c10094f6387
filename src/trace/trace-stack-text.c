/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace stack text: the names of frames and call stacks, for everything that shows them */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "trace/trace-stack-text.h"
#include "trace/trace-stacks.h"

#define INLINED_MAX 32u /* the most functions that one frame can show */

static uint32_t get(const TraceStore *store, TraceTableId id, unsigned column, uint32_t row) {
        return trace_table_get(&store->tables[id], column, row);
}

uint32_t trace_frame_name(const TraceStore *store, uint32_t frame) {
        const uint32_t set = get(store, TRACE_TABLE_FRAME, FRAME_SYMBOL_SET, frame),
                       name = set < store->tables[TRACE_TABLE_SYMBOL].n
                                      ? get(store, TRACE_TABLE_SYMBOL, SYMBOL_NAME, set)
                                      : 0;

        return name ? name : get(store, TRACE_TABLE_FRAME, FRAME_NAME, frame);
}

uint32_t trace_frame_file(const TraceStore *store, uint32_t frame) {
        const uint32_t mapping = get(store, TRACE_TABLE_FRAME, FRAME_MAPPING_ID, frame);

        return mapping < store->tables[TRACE_TABLE_MAPPING].n
                       ? get(store, TRACE_TABLE_MAPPING, MAPPED_NAME, mapping)
                       : 0;
}

/* Our heap library names such a frame like this, with a "]" after the thread's name. */
#define THREAD_BEGIN "[thread "

static uint32_t outermost(const TraceStore *store, uint32_t callsite) {
        const size_t n = store->tables[TRACE_TABLE_CALLSITE].n;
        uint32_t at = callsite;

        for (size_t i = 0; i < TRACE_STACK_FRAMES_MAX && callsite < n; i++) {
                at = callsite;
                callsite = get(store, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, callsite);
        }
        return at;
}

/* The thread's name in the outermost frame, which is *ret_n bytes long. Returns NULL if that frame does not name a
 * thread. */
static const char *thread_in(const TraceStore *store, uint32_t callsite, size_t *ret_n) {
        const size_t n_begin = strlen(THREAD_BEGIN);
        const char *text;
        uint32_t frame;
        size_t n;

        if (callsite >= store->tables[TRACE_TABLE_CALLSITE].n)
                return NULL;
        frame = get(store, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, outermost(store, callsite));
        if (frame >= store->tables[TRACE_TABLE_FRAME].n)
                return NULL;
        text = trace_pool_text(&store->pool, get(store, TRACE_TABLE_FRAME, FRAME_NAME, frame));
        n = text ? strlen(text) : 0;
        if (n <= n_begin || strncmp(text, THREAD_BEGIN, n_begin) != 0 || text[n - 1] != ']')
                return NULL;
        *ret_n = n - n_begin - 1;
        return text + n_begin;
}

uint32_t trace_stack_add_thread(TraceStore *store, uint32_t callsite) {
        size_t n = 0;
        const char *text = thread_in(store, callsite, &n);
        _cleanup_(freep) char *name = text ? strndup(text, n) : NULL;

        return name ? trace_pool_add_text(&store->pool, name) : 0;
}

uint32_t trace_stack_thread(const TraceStore *store, uint32_t callsite) {
        size_t n = 0;
        const char *text = thread_in(store, callsite, &n);

        return text ? trace_pool_find(&store->pool, text, n) : 0;
}

const char *trace_file_base_name(const char *path) {
        const char *slash = path ? strrchr(path, '/') : NULL;

        return slash && slash[1] ? slash + 1 : path;
}

static const char *base_name_of(const TraceStore *store, uint32_t frame) {
        return trace_file_base_name(trace_pool_text(&store->pool, trace_frame_file(store, frame)));
}

/* The functions into which a frame's function is inlined. Sets are numbered by their first row. */
static void put_inlined(FILE *stream, const TraceStore *store, uint32_t frame) {
        const uint32_t set = get(store, TRACE_TABLE_FRAME, FRAME_SYMBOL_SET, frame);
        const size_t n = store->tables[TRACE_TABLE_SYMBOL].n;

        for (size_t row = (size_t)set + 1; row < n && row - set < INLINED_MAX; row++) {
                const char *name;

                if (get(store, TRACE_TABLE_SYMBOL, SYMBOL_SET, (uint32_t)row) != set)
                        break;
                name = trace_pool_text(&store->pool,
                                       get(store, TRACE_TABLE_SYMBOL, SYMBOL_NAME, (uint32_t)row));
                fprintf(stream, " < %s", name ? name : "?");
        }
}

static void put_frame(FILE *stream, const TraceStore *store, uint32_t frame) {
        const char *name, *file;

        if (frame >= store->tables[TRACE_TABLE_FRAME].n)
                return;
        name = trace_pool_text(&store->pool, trace_frame_name(store, frame));
        file = base_name_of(store, frame);
        if (name)
                fputs(name, stream);
        else
                fprintf(stream,
                        "%s+0x%" PRIx64,
                        file ? file : "",
                        (uint64_t)trace_table_i64(
                                &store->tables[TRACE_TABLE_FRAME], FRAME_REL_PC, frame));
        put_inlined(stream, store, frame);
}

static bool is_kernel(const TraceStore *store, uint32_t callsite) {
        const uint32_t frame = get(store, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, callsite);
        const char *file =
                frame < store->tables[TRACE_TABLE_FRAME].n ? base_name_of(store, frame) : NULL;

        return file && streq(file, "kernel");
}

/* The next frame outwards that is shown. */
static uint32_t next_shown(const TraceStore *store, uint32_t callsite, bool one_of_kernel) {
        const size_t n = store->tables[TRACE_TABLE_CALLSITE].n;
        const bool skips = one_of_kernel && is_kernel(store, callsite);

        for (size_t i = 0; i < TRACE_STACK_FRAMES_MAX; i++) {
                callsite = get(store, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, callsite);
                if (callsite >= n || !skips || !is_kernel(store, callsite))
                        break;
        }
        return callsite;
}

/* In a file, the parents may form a circle. */
static void put_stack(FILE *stream,
                      const TraceStore *store,
                      uint32_t callsite,
                      size_t n_frames_max,
                      bool one_of_kernel) {
        const size_t n = store->tables[TRACE_TABLE_CALLSITE].n;

        n_frames_max = MIN(n_frames_max, (size_t)TRACE_STACK_FRAMES_MAX);
        for (size_t i = 0; i < n_frames_max && callsite < n; i++) {
                if (i > 0)
                        fputs(" < ", stream);
                put_frame(
                        stream, store, get(store, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, callsite));
                callsite = next_shown(store, callsite, one_of_kernel);
        }
        if (callsite < n)
                fputs(" < …", stream);
}

char *trace_stack_text(const TraceStore *store,
                       uint32_t callsite,
                       size_t n_frames_max,
                       bool one_of_kernel) {
        _cleanup_(freep) char *text = NULL;
        size_t n_bytes;
        FILE *stream = open_memstream(&text, &n_bytes);

        if (!stream)
                return NULL;
        put_stack(stream, store, callsite, n_frames_max, one_of_kernel);
        return fclose(stream) ? NULL : TAKE(text);
}
