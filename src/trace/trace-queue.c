/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace queue: takes the events of many writers, and returns them in order of time */

#include <errno.h>
#include <string.h>

#include "trace/trace-queue.h"

#define BLOCK_ENTRIES_MIN 32
#define BLOCK_ENTRIES_MAX (32u << 10)
#define CHUNK_BYTES       (1u << 20)
#define LANES_MAX         (1u << 30)
#define UNPACK_ENTRIES    64 /* at a time, so that they stay in the processor's cache */

_Static_assert(sizeof(TraceEntry) == 24, "there are many of them");

/* Packed bytes of several blocks, and of several lanes. */
typedef struct TraceChunk {
        size_t n_users;
        size_t n, n_allocated;
        uint8_t bytes[];
} TraceChunk;

typedef struct Block {
        struct Block *next;
        TraceChunk *chunk; /* that has its events, which are packed; NULL: they are here */
        const uint8_t *bytes;
        size_t n, n_allocated; /* events, or n bytes */
        TraceEntry entries[];
} Block;

typedef struct TraceLane {
        Block *first, *last;
        size_t n, number;
        uint64_t rank;
        uint64_t last_ns;
        bool is_out_of_order;
} TraceLane;

#define NO_HEAD UINT32_MAX

typedef struct TraceHead {
        const TraceEntry *next, *end;
        Block *block; /* the block of the events; NULL: no events are left */
        uint32_t lane;
        uint64_t rank;
        TraceEntry *unpacked; /* some events of a packed block */
} TraceHead;

static void chunk_unref(TraceChunk *chunk) {
        if (chunk && --chunk->n_users == 0)
                free(chunk);
}

static void block_free(Block *block) {
        chunk_unref(block->chunk);
        free(block);
}

static void blocks_free(Block *block) {
        while (block) {
                Block *next = block->next;

                block_free(block);
                block = next;
        }
}

static void queue_free_heads(TraceQueue *queue) {
        for (size_t i = 0; queue->heads && i < queue->n_heads; i++) {
                blocks_free(queue->heads[i].block);
                free(queue->heads[i].unpacked);
        }
        free(queue->heads);
        free(queue->losers);
        queue->heads = NULL;
        queue->losers = NULL;
}

void trace_queue_deinit(TraceQueue *queue) {
        for (size_t i = 0; i < queue->n_lanes; i++) {
                blocks_free(queue->lanes[i]->first);
                free(queue->lanes[i]);
        }
        free(queue->lanes);
        queue_free_heads(queue);
        chunk_unref(queue->chunk);
        *queue = (TraceQueue){ 0 };
}

size_t trace_queue_add_lane(TraceQueue *queue, uint64_t rank) {
        TraceLane *lane;

        if (queue->n_lanes == LANES_MAX || trace_reserve((void **)&queue->lanes,
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
                block->chunk = NULL;
                block->n = 0;
                block->n_allocated = n_allocated;
        }
        return block;
}

static void lane_append(TraceLane *lane, Block *block) {
        if (lane->last)
                lane->last->next = block;
        else
                lane->first = block;
        lane->last = block;
}

static int lane_grow(TraceQueue *queue, TraceLane *lane) {
        size_t n =
                lane->last && !lane->last->chunk ? lane->last->n_allocated * 2 : BLOCK_ENTRIES_MIN;
        Block *block = block_new(MIN(n, (size_t)BLOCK_ENTRIES_MAX));

        if (!block)
                return -ENOMEM;
        queue->n_bytes += block->n_allocated * sizeof(TraceEntry);
        lane_append(lane, block);
        return 0;
}

static inline int lane_add(TraceQueue *queue, TraceLane *lane, const TraceEntry *entry) {
        if (UNLIKELY(!lane->last || lane->last->chunk ||
                     lane->last->n == lane->last->n_allocated) &&
            lane_grow(queue, lane) < 0)
                return -ENOMEM;
        lane->last->entries[lane->last->n++] = *entry;
        lane->n++;
        return 0;
}

int trace_queue_add(TraceQueue *queue, size_t number, const TraceEntry *entry) {
        TraceLane *lane = queue->lanes[number];

        if (lane_add(queue, lane, entry) < 0)
                return -ENOMEM;
        lane->is_out_of_order |= entry->at_ns < lane->last_ns;
        lane->last_ns = entry->at_ns;
        return 0;
}

/*
 * Packed events
 */

static int queue_make_room(TraceQueue *queue, size_t n_bytes) {
        const size_t n_allocated = MAX(n_bytes, (size_t)CHUNK_BYTES);
        TraceChunk *chunk = queue->chunk;

        if (chunk && chunk->n_allocated - chunk->n >= n_bytes)
                return 0;
        chunk = malloc(sizeof(*chunk) + n_allocated);
        if (!chunk)
                return -ENOMEM;
        *chunk = (TraceChunk){ .n_users = 1, .n_allocated = n_allocated };
        chunk_unref(queue->chunk);
        queue->chunk = chunk;
        queue->n_bytes += n_allocated;
        return 0;
}

int trace_queue_add_packed(TraceQueue *queue,
                           size_t number,
                           const void *bytes,
                           size_t n_bytes,
                           uint64_t first_ns,
                           uint64_t last_ns) {
        TraceLane *lane = queue->lanes[number];
        TraceChunk *chunk;
        Block *block;

        block = queue_make_room(queue, n_bytes) < 0 ? NULL : block_new(0);
        if (!block)
                return -ENOMEM;
        queue->n_bytes += sizeof(*block);
        chunk = queue->chunk;
        chunk->n_users++;
        memcpy(chunk->bytes + chunk->n, bytes, n_bytes);
        block->chunk = chunk;
        block->bytes = chunk->bytes + chunk->n;
        block->n = n_bytes;
        chunk->n += n_bytes;
        lane_append(lane, block);
        lane->is_out_of_order |= first_ns < lane->last_ns;
        lane->last_ns = last_ns;
        return 0;
}

static size_t block_unpack(const TraceQueue *queue,
                           const Block *block,
                           uint64_t rank,
                           bool is_first,
                           TraceEntry *ret) {
        return queue->unpack(
                queue->user_data, rank, block->bytes, block->n, is_first, ret, UNPACK_ENTRIES);
}

static int lane_add_unpacked(TraceQueue *queue, TraceLane *lane, const Block *packed) {
        TraceEntry entries[UNPACK_ENTRIES];
        bool is_first = true;
        size_t n;

        for (; (n = block_unpack(queue, packed, lane->rank, is_first, entries)); is_first = false)
                for (size_t i = 0; i < n; i++)
                        if (lane_add(queue, lane, &entries[i]) < 0)
                                return -ENOMEM;
        return 0;
}

/* Replaces packed blocks by their events, in the same order. */
static int lane_unpack(TraceQueue *queue, TraceLane *lane) {
        Block *block = TAKE(lane->first), *next;
        int r = 0;

        lane->last = NULL;
        lane->n = 0;
        for (; block && r == 0; block = next) {
                next = TAKE(block->next);
                if (block->chunk) {
                        r = lane_add_unpacked(queue, lane, block);
                        block_free(block);
                } else {
                        lane->n += block->n;
                        lane_append(lane, block);
                }
        }
        blocks_free(block);
        return r;
}

/*
 * Sorting: a bottom-up merge sort, which starts with the runs that are already in order in the file
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

/* Merges neighbours until one run is left. The result is in *entries. */
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

/* Collects all events of a lane in one block. */
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

static int lane_sort(TraceQueue *queue, TraceLane *lane) {
        int r;

        if (!lane->is_out_of_order)
                return 0;
        r = lane_unpack(queue, lane);
        if (r || lane->n == 0)
                return r;
        r = lane_flatten(lane);
        return r ? r : entries_sort(lane->first->entries, lane->first->n);
}

/*
 * Taking: the lanes play a tournament by the time of their next event. No branch of the program depends on which lane
 * wins, because a processor could not predict it.
 *
 * A key is the time since base_ns, and below it the number of the head plus one, so that comparing two keys also says
 * whose rank is lower. Of a time that is too far off only the maximum fits in. When such a key wins, the others are no
 * earlier, and all are counted from a later base.
 */

#define KEY_NONE          UINT64_MAX /* of a head without an event */
#define KEY_HEAD_BITS_MAX 32

/* The largest time of a key. */
static inline uint64_t late_time(unsigned n_head_bits) {
        return (UINT64_MAX >> n_head_bits) - 1;
}

static inline uint64_t
head_key(const TraceHead *head, uint32_t number, uint64_t base_ns, unsigned n_head_bits) {
        return MIN(head->next->at_ns - base_ns, late_time(n_head_bits)) << n_head_bits |
               (number + 1);
}

/* Its number is missing in the least key of all, which the last head has where it goes on. */
static inline uint32_t head_of(const TraceQueue *queue, uint64_t key) {
        const uint32_t number = (uint32_t)(key & ((UINT64_C(1) << queue->n_head_bits) - 1));

        return key == KEY_NONE ? NO_HEAD : number ? number - 1 : queue->last;
}

static bool head_unpack(const TraceQueue *queue, TraceHead *head, bool is_first) {
        size_t n = block_unpack(queue, head->block, head->rank, is_first, head->unpacked);

        head->next = head->unpacked;
        head->end = head->unpacked + n;
        return n > 0;
}

/* Frees packed blocks without an event. */
static void head_take_block(const TraceQueue *queue, TraceHead *head, Block *block) {
        while ((head->block = block) && block->chunk) {
                if (head_unpack(queue, head, true))
                        return;
                block = block->next;
                block_free(head->block);
        }
        head->next = block ? block->entries : NULL;
        head->end = block ? block->entries + block->n : NULL;
}

/* Replays the matches of the winner, which has another key now, from its leaf to the root. Returns the winner's key.
 * The head goes on where times are equal, whatever its rank, so then all is put back as it was. */
static inline uint64_t replay(uint64_t *losers, size_t leaf, unsigned n_head_bits, uint64_t key) {
        uint64_t before[KEY_HEAD_BITS_MAX], winner = key;
        unsigned n = 0;

        for (size_t i = leaf / 2; i > 0; i /= 2) {
                const uint64_t other = before[n++] = losers[i];

                losers[i] = MAX(other, winner);
                winner = MIN(other, winner);
        }
        if (LIKELY(winner == key || winner >> n_head_bits != key >> n_head_bits))
                return winner;
        n = 0;
        for (size_t i = leaf / 2; i > 0; i /= 2)
                losers[i] = before[n++];
        return key;
}

/* Plays all matches below a node. The last head goes on if no event is earlier than its next one. */
static uint64_t play(TraceQueue *queue, size_t i) {
        uint64_t left, right;

        if (i >= queue->n_heads) {
                const uint32_t number = (uint32_t)(i - queue->n_heads);
                const TraceHead *head = &queue->heads[number];

                if (!head->block)
                        return KEY_NONE;
                if (number == queue->last && head->next->at_ns == queue->base_ns)
                        return 0;
                return head_key(head, number, queue->base_ns, queue->n_head_bits);
        }
        left = play(queue, 2 * i);
        right = play(queue, 2 * i + 1);
        queue->losers[i] = MAX(left, right);
        return MIN(left, right);
}

/* Counts keys from the earliest event on. Returns the key of the winner. */
static uint64_t queue_rebase(TraceQueue *queue) {
        queue->base_ns = UINT64_MAX;
        for (size_t i = 0; i < queue->n_heads; i++)
                if (queue->heads[i].block)
                        queue->base_ns = MIN(queue->base_ns, queue->heads[i].next->at_ns);
        return play(queue, 1);
}

static int compare_ranks(const void *x, const void *y) {
        const TraceLane *const *a = x, *const *b = y;

        return (*a)->rank < (*b)->rank ? -1 : (*a)->rank > (*b)->rank;
}

/* The numbers of the lanes that have an event, by rank. */
static size_t lanes_by_rank(TraceQueue *queue, TraceLane **lanes) {
        size_t n = 0;

        for (size_t i = 0; i < queue->n_lanes; i++) {
                queue->lanes[i]->number = i;
                if (queue->lanes[i]->first)
                        lanes[n++] = queue->lanes[i];
        }
        if (n)
                qsort(lanes, n, sizeof(TraceLane *), compare_ranks);
        return n;
}

static int heads_make(TraceQueue *queue, size_t n) {
        queue_free_heads(queue);
        queue->n_heads = 1;
        queue->n_head_bits = 1;
        while (queue->n_heads < n) {
                queue->n_heads *= 2;
                queue->n_head_bits++;
        }
        queue->heads = calloc(queue->n_heads, sizeof(*queue->heads));
        queue->losers = calloc(queue->n_heads, sizeof(*queue->losers));
        return queue->heads && queue->losers ? 0 : -ENOMEM;
}

static int head_init(TraceQueue *queue, TraceHead *head, TraceLane *lane) {
        if (queue->unpack) {
                head->unpacked = reallocarray(NULL, UNPACK_ENTRIES, sizeof(*head->unpacked));
                if (!head->unpacked)
                        return -ENOMEM;
        }
        head->lane = (uint32_t)lane->number;
        head->rank = lane->rank;
        head_take_block(queue, head, TAKE(lane->first));
        return 0;
}

static int heads_fill(TraceQueue *queue, TraceLane **lanes) {
        size_t n = lanes_by_rank(queue, lanes);

        if (heads_make(queue, n))
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (head_init(queue, &queue->heads[i], lanes[i]) < 0)
                        return -ENOMEM;
        queue->last = NO_HEAD;
        return 0;
}

int trace_queue_sort(TraceQueue *queue) {
        _cleanup_(freep) TraceLane **lanes = NULL;

        for (size_t i = 0; i < queue->n_lanes; i++) {
                int r = lane_sort(queue, queue->lanes[i]);

                if (r)
                        return r;
        }
        lanes = reallocarray(NULL, queue->n_lanes + 1, sizeof(TraceLane *));
        return lanes ? heads_fill(queue, lanes) : -ENOMEM;
}

/* Moves on to the event after the one that was given. A block is freed after its last event. */
static inline void head_advance(const TraceQueue *queue, TraceHead *head) {
        Block *block = head->block;

        if (LIKELY(++head->next < head->end))
                return;
        if (block->chunk && head_unpack(queue, head, false))
                return;
        head_take_block(queue, head, block->next);
        block_free(block);
}

/* Begins with the earliest event, or counts from a later one. Returns false at the end. */
static bool queue_find(TraceQueue *queue) {
        const uint64_t key = queue_rebase(queue);

        queue->last = head_of(queue, key);
        return key != KEY_NONE;
}

static inline void taken_set(TraceTaken *ret, const TraceHead *head) {
        ret->entry = *head->next;
        ret->lane = head->lane;
}

/* What does not change from event to event is kept in variables: a compiler cannot know that it does not. */
size_t trace_queue_take(TraceQueue *queue, TraceTaken *ret, size_t n_max) {
        TraceHead *const heads = queue->heads;
        uint64_t *const losers = queue->losers;
        const size_t n_heads = queue->n_heads;
        const unsigned bits = queue->n_head_bits;
        const uint64_t late = late_time(bits), late_key = late << bits;
        const uint64_t mask = (UINT64_C(1) << bits) - 1;
        uint32_t last = queue->last;
        size_t n = 0;

        for (; n < n_max; n++) {
                uint64_t key = KEY_NONE;

                if (LIKELY(last != NO_HEAD)) {
                        head_advance(queue, &heads[last]);
                        if (LIKELY(heads[last].block))
                                key = head_key(&heads[last], last, queue->base_ns, bits);
                        key = replay(losers, n_heads + last, bits, key);
                }
                if (LIKELY(key < late_key))
                        last = (uint32_t)(key & mask) - 1;
                else if (queue_find(queue))
                        last = queue->last;
                else
                        break;
                taken_set(&ret[n], &heads[last]);
                queue->last = last;
        }
        return n;
}
