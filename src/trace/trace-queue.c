/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "trace/trace-queue.h"

#define BLOCK_ENTRIES_MIN 32
#define BLOCK_ENTRIES_MAX (32u << 10)

_Static_assert(sizeof(TraceEntry) == 24, "there are many of them");

typedef struct Block {
        struct Block *next;
        size_t n, n_allocated;
        TraceEntry entries[];
} Block;

typedef struct TraceLane {
        Block *first, *last;
        size_t at; /* next one to take, in the first block */
        size_t n;
        uint64_t rank;
        uint64_t last_ns;
        bool is_out_of_order;
        Block *taken; /* whose entries the caller still looks at */
} TraceLane;

static void lane_free(TraceLane *lane) {
        while (lane->first) {
                Block *block = lane->first;

                lane->first = block->next;
                free(block);
        }
        free(lane->taken);
        free(lane);
}

void trace_queue_deinit(TraceQueue *queue) {
        for (size_t i = 0; i < queue->n_lanes; i++)
                lane_free(queue->lanes[i]);
        free(queue->lanes);
        free(queue->heap);
        *queue = (TraceQueue){ 0 };
}

size_t trace_queue_add_lane(TraceQueue *queue, uint64_t rank) {
        TraceLane *lane;

        if (trace_reserve((void **)&queue->lanes,
                          &queue->n_allocated,
                          queue->n_lanes + 1,
                          sizeof(*queue->lanes)))
                return TRACE_LANE_NONE;
        lane = calloc(1, sizeof(*lane));
        if (!lane)
                return TRACE_LANE_NONE;
        lane->rank = rank;
        queue->lanes[queue->n_lanes] = lane;
        return queue->n_lanes++;
}

static Block *block_new(size_t n_allocated) {
        Block *block = malloc(sizeof(*block) + n_allocated * sizeof(*block->entries));

        if (block) {
                block->next = NULL;
                block->n = 0;
                block->n_allocated = n_allocated;
        }
        return block;
}

static int lane_grow(TraceQueue *queue, TraceLane *lane) {
        size_t n = lane->last ? lane->last->n_allocated * 2 : BLOCK_ENTRIES_MIN;
        Block *block = block_new(MIN(n, (size_t)BLOCK_ENTRIES_MAX));

        if (!block)
                return -ENOMEM;
        queue->n_bytes += block->n_allocated * sizeof(TraceEntry);
        if (lane->last)
                lane->last->next = block;
        else
                lane->first = block;
        lane->last = block;
        return 0;
}

int trace_queue_add(TraceQueue *queue, size_t number, const TraceEntry *entry) {
        TraceLane *lane = queue->lanes[number];

        if (UNLIKELY(!lane->last || lane->last->n == lane->last->n_allocated) &&
            lane_grow(queue, lane) < 0)
                return -ENOMEM;
        lane->last->entries[lane->last->n++] = *entry;
        lane->is_out_of_order |= entry->at_ns < lane->last_ns;
        lane->last_ns = entry->at_ns;
        lane->n++;
        return 0;
}

/*
 * Sorting: a merge sort from below, whose first runs are those that the file has
 */

typedef struct Run {
        size_t from, to;
} Run;

static void merge(TraceEntry *to, const TraceEntry *from, Run x, Run y) {
        TraceEntry *at = to + x.from;

        while (x.from < x.to && y.from < y.to)
                *at++ = from[y.from].at_ns < from[x.from].at_ns ? from[y.from++] : from[x.from++];
        memcpy(at, from + x.from, (x.to - x.from) * sizeof(*at));
        at += x.to - x.from;
        memcpy(at, from + y.from, (y.to - y.from) * sizeof(*at));
}

static int find_runs(const TraceEntry *entries, size_t n, Run **ret, size_t *ret_n) {
        size_t n_allocated = 0, n_runs = 0, from = 0;
        Run *runs = NULL;

        for (size_t i = 1; i <= n; i++) {
                if (i < n && entries[i].at_ns >= entries[i - 1].at_ns)
                        continue;
                if (trace_reserve((void **)&runs, &n_allocated, n_runs + 1, sizeof(*runs))) {
                        free(runs);
                        return -ENOMEM;
                }
                runs[n_runs++] = (Run){ from, i };
                from = i;
        }
        *ret = runs;
        *ret_n = n_runs;
        return 0;
}

/* Merges neighbours until one is left; the result is in *entries. */
static void merge_runs(TraceEntry **entries, TraceEntry **other, Run *runs, size_t n_runs) {
        while (n_runs > 1) {
                size_t n = 0;
                TraceEntry *swap = *entries;

                for (size_t i = 0; i < n_runs; i += 2) {
                        Run y = i + 1 < n_runs ? runs[i + 1] : (Run){ runs[i].to, runs[i].to };

                        merge(*other, *entries, runs[i], y);
                        runs[n++] = (Run){ runs[i].from, y.to };
                }
                n_runs = n;
                *entries = *other;
                *other = swap;
        }
}

static int entries_sort(TraceEntry *entries, size_t n) {
        TraceEntry *other, *sorted = entries, *spare;
        size_t n_runs;
        Run *runs;

        if (find_runs(entries, n, &runs, &n_runs))
                return -ENOMEM;
        other = reallocarray(NULL, n, sizeof(*other));
        if (!other) {
                free(runs);
                return -ENOMEM;
        }
        spare = other;
        merge_runs(&sorted, &spare, runs, n_runs);
        if (sorted != entries)
                memcpy(entries, sorted, n * sizeof(*entries));
        free(other);
        free(runs);
        return 0;
}

/* All events of a lane in one block. */
static int lane_flatten(TraceLane *lane) {
        Block *whole = block_new(lane->n);

        if (!whole)
                return -ENOMEM;
        while (lane->first) {
                Block *block = lane->first;

                memcpy(whole->entries + whole->n, block->entries, block->n * sizeof(TraceEntry));
                whole->n += block->n;
                lane->first = block->next;
                free(block);
        }
        lane->first = whole;
        lane->last = whole;
        return 0;
}

static int lane_sort(TraceLane *lane) {
        int r;

        if (!lane->is_out_of_order)
                return 0;
        r = lane_flatten(lane);
        return r ? r : entries_sort(lane->first->entries, lane->first->n);
}

/*
 * Taking: a heap of lanes by the time of their next event, which is copied there, since it is looked at often
 */

typedef struct TraceHead {
        uint64_t at_ns, rank;
        size_t lane;
} TraceHead;

static inline bool head_before(const TraceHead *x, const TraceHead *y) {
        return x->at_ns < y->at_ns || (x->at_ns == y->at_ns && x->rank < y->rank);
}

static void heap_sink(TraceQueue *queue, size_t i) {
        TraceHead *heap = queue->heap, moved = heap[i];

        for (;;) {
                size_t child = 2 * i + 1;

                if (child >= queue->n_heap)
                        break;
                if (child + 1 < queue->n_heap && head_before(&heap[child + 1], &heap[child]))
                        child++;
                if (!head_before(&heap[child], &moved))
                        break;
                heap[i] = heap[child];
                i = child;
        }
        heap[i] = moved;
}

static TraceHead lane_head(const TraceQueue *queue, size_t number) {
        const TraceLane *lane = queue->lanes[number];

        return (TraceHead){ lane->first->entries[lane->at].at_ns, lane->rank, number };
}

int trace_queue_sort(TraceQueue *queue) {
        free(queue->heap);
        queue->n_heap = 0;
        queue->heap = reallocarray(NULL, queue->n_lanes + 1, sizeof(*queue->heap));
        if (!queue->heap)
                return -ENOMEM;
        for (size_t i = 0; i < queue->n_lanes; i++) {
                int r = lane_sort(queue->lanes[i]);

                if (r)
                        return r;
                if (queue->lanes[i]->n)
                        queue->heap[queue->n_heap++] = lane_head(queue, i);
        }
        for (size_t i = queue->n_heap / 2; i > 0; i--)
                heap_sink(queue, i - 1);
        return 0;
}

/* Up to which time the first lane may be read: the earliest time of the others. */
static uint64_t heap_second(const TraceQueue *queue) {
        if (queue->n_heap > 2)
                return MIN(queue->heap[1].at_ns, queue->heap[2].at_ns);
        return queue->n_heap > 1 ? queue->heap[1].at_ns : UINT64_MAX;
}

/* Goes to the next block; what was in this one is kept until the next call. */
static void lane_advance(TraceLane *lane) {
        if (LIKELY(lane->at < lane->first->n))
                return;
        lane->taken = lane->first;
        lane->first = lane->first->next;
        lane->at = 0;
        if (!lane->first)
                lane->last = NULL;
}

bool trace_queue_next(TraceQueue *queue, size_t *ret_lane, const TraceEntry **ret, size_t *ret_n) {
        const TraceEntry *entries;
        uint64_t until;
        TraceLane *lane;
        size_t n = 1, n_left;

        if (queue->n_heap == 0)
                return false;
        lane = queue->lanes[queue->heap[0].lane];
        until = heap_second(queue);
        if (UNLIKELY(lane->taken))
                free(TAKE(lane->taken));
        entries = &lane->first->entries[lane->at];
        n_left = lane->first->n - lane->at;
        while (n < n_left && entries[n].at_ns <= until)
                n++;
        *ret_lane = queue->heap[0].lane;
        *ret = entries;
        *ret_n = n;
        lane->at += n;
        lane_advance(lane);
        if (lane->first)
                queue->heap[0].at_ns = lane->first->entries[lane->at].at_ns;
        else
                queue->heap[0] = queue->heap[--queue->n_heap];
        heap_sink(queue, 0);
        return true;
}
