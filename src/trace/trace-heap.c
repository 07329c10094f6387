/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace heap: what programs have allocated, by call stack */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace-heap.h"

void trace_heap_deinit(TraceHeap *heap) {
        trace_map_deinit(&heap->writers);
        trace_map_deinit(&heap->heaps);
        trace_map_deinit(&heap->by_key);
        trace_map_deinit(&heap->ended);
        free(heap->sites);
        free(heap->spans);
}

/* The number of a pair. New pairs get the next number. Returns TRACE_MAP_NONE if memory has run out. */
static uint64_t number_of(TraceMap *map, uint32_t *n, uint32_t high, uint32_t low) {
        const uint64_t key = (uint64_t)high << 32 | low;
        uint64_t number = trace_map_find(map, key);

        if (number != TRACE_MAP_NONE)
                return number;
        number = (*n)++;
        return trace_map_set(map, key, number) ? TRACE_MAP_NONE : number;
}

static TraceHeapSite *add_site(TraceHeap *heap, uint64_t key) {
        if (trace_reserve((void **)&heap->sites,
                          &heap->n_allocated,
                          heap->n_sites + 1,
                          sizeof(*heap->sites)) ||
            trace_map_set(&heap->by_key, key, heap->n_sites))
                return NULL;
        heap->sites[heap->n_sites] = (TraceHeapSite){};
        return &heap->sites[heap->n_sites++];
}

/* The number of a writer's heap. Returns TRACE_MAP_NONE if memory has run out. */
static uint64_t heap_number(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name) {
        const uint64_t writer =
                number_of(&heap->writers, &heap->n_writers, sequence, (uint32_t)pid);

        return writer == TRACE_MAP_NONE
                       ? TRACE_MAP_NONE
                       : number_of(&heap->heaps, &heap->n_heaps, (uint32_t)writer, name);
}

int trace_heap_dump(TraceHeap *heap,
                    uint32_t sequence,
                    int32_t pid,
                    uint32_t name,
                    uint64_t start,
                    uint64_t at) {
        const uint32_t n_before = heap->n_heaps;
        const uint64_t number = heap_number(heap, sequence, pid, name);

        if (number == TRACE_MAP_NONE || trace_reserve((void **)&heap->spans,
                                                      &heap->n_spans_allocated,
                                                      heap->n_heaps,
                                                      sizeof(*heap->spans)))
                return -ENOMEM;
        if (heap->n_heaps > n_before)
                heap->spans[number] =
                        (TraceHeapSpan){ .pid = pid, .heap = name, .start = start, .end = at };
        heap->spans[number].start = MIN(heap->spans[number].start, start);
        heap->spans[number].end = MAX(heap->spans[number].end, at);
        return 0;
}

TraceHeapSite *
trace_heap_site(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name, uint32_t callsite) {
        const uint64_t number = heap_number(heap, sequence, pid, name);
        const uint64_t key = number << 32 | callsite;
        const uint64_t place = trace_map_find(&heap->by_key, key);
        TraceHeapSite *site;

        if (number == TRACE_MAP_NONE)
                return NULL;
        if (place != TRACE_MAP_NONE)
                return &heap->sites[place];
        site = add_site(heap, key);
        if (site) {
                site->pid = pid;
                site->number = (uint32_t)number;
                site->heap = name;
                site->callsite = callsite;
        }
        return site;
}

int trace_heap_end(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name) {
        const uint64_t number = heap_number(heap, sequence, pid, name);

        return number == TRACE_MAP_NONE ? -ENOMEM : trace_map_set(&heap->ended, number, 1);
}

static int compare_spans(const void *left, const void *right) {
        const TraceHeapSpan *a = *(TraceHeapSpan *const *)left, *b = *(TraceHeapSpan *const *)right;

        if (a->pid != b->pid)
                return a->pid < b->pid ? -1 : 1;
        if (a->heap != b->heap)
                return a->heap < b->heap ? -1 : 1;
        if (a->start != b->start)
                return a->start < b->start ? -1 : 1;
        return (a > b) - (a < b);
}

/* The first recording that is over. If there are more at a time than there can be, the excess shares the last one. */
static uint32_t find_free(const uint64_t *ends, uint64_t start) {
        uint32_t i = 0;

        while (i < TRACE_HEAP_RECORDINGS_MAX - 1 && ends[i] > start)
                i++;
        return i;
}

int trace_heap_number_recordings(TraceHeap *heap) {
        _cleanup_(freep) TraceHeapSpan **sorted = calloc(heap->n_heaps + 1u, sizeof(*sorted));
        uint64_t ends[TRACE_HEAP_RECORDINGS_MAX];

        if (!sorted)
                return -ENOMEM;
        for (uint32_t i = 0; i < heap->n_heaps; i++)
                sorted[i] = &heap->spans[i];
        qsort(sorted, heap->n_heaps, sizeof(*sorted), compare_spans);
        for (uint32_t i = 0; i < heap->n_heaps; i++) {
                TraceHeapSpan *span = sorted[i];

                if (i == 0 || span->pid != sorted[i - 1]->pid || span->heap != sorted[i - 1]->heap)
                        memset(ends, 0, sizeof(ends));
                span->recording = find_free(ends, span->start);
                ends[span->recording] = span->end;
        }
        return 0;
}

bool trace_heap_has_ended(const TraceHeap *heap, const TraceHeapSite *site) {
        return trace_map_find(&heap->ended, site->number) != TRACE_MAP_NONE;
}
