/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Each clock knows the first step of its shortest path to trace time: a group, and a clock in that group which is one
 * step nearer. A new group can only shorten paths, so the steps are updated outwards from there, and conversions never
 * search. The steps are computed from scratch only if another clock becomes trace time, or if a clock on the paths of
 * others ran backwards.
 */

#include "trace/trace-clock.h"

#include <limits.h>
#include <string.h>

#include "shared/siphash.h"
#include "trace/trace-map.h"

#define STEPS_NONE UINT_MAX

typedef struct Clock Clock;

/* The snapshots that have the same set of clocks. */
typedef struct Group {
        size_t n_clocks;
        Clock *clocks[TRACE_CLOCK_SNAPSHOT_MAX]; /* ordered by key */
        uint64_t *readings;                      /* in ns: n_clocks for each snapshot */
        size_t n_readings, n_allocated;
        struct Group *next; /* the next group with the same hash */
} Group;

struct Clock {
        uint64_t key;
        uint64_t unit_ns;
        bool is_incremental;
        bool ran_backwards;
        bool is_changed; /* is in the list of clocks whose neighbours come next */
        uint64_t now_ns; /* last value of an incremental clock */
        Group **groups;  /* the groups that it is in */
        size_t n_groups, n_groups_allocated;
        unsigned n_steps; /* how many steps to trace time; STEPS_NONE: there is no path */
        Group *group;     /* the first step, */
        size_t from, to;  /* and the indexes there of this clock and the next one */
        Clock *next_changed;
};

struct TraceClocks {
        TraceMap clocks; /* key → index in `all` */
        Clock **all;
        size_t n_clocks, n_clocks_allocated;
        TraceMap
                groups; /* hash of a group's clocks → index in `all_groups` of the first group in its chain */
        Group **all_groups;
        size_t n_groups, n_groups_allocated;
        uint64_t n_readings;
        unsigned n_rebuilt;
        uint32_t trace_time;
        bool is_settled; /* a time was converted, so trace time must not change anymore */
};

/* The clocks whose number of steps has changed, in the order of the changes. */
typedef struct Changed {
        Clock *first, *last;
} Changed;

static void changed_push(Changed *changed, Clock *clock) {
        if (clock->is_changed)
                return;
        clock->is_changed = true;
        clock->next_changed = NULL;
        if (changed->last)
                changed->last->next_changed = clock;
        else
                changed->first = clock;
        changed->last = clock;
}

static Clock *changed_pop(Changed *changed) {
        Clock *clock = changed->first;

        if (!clock)
                return NULL;
        changed->first = clock->next_changed;
        if (!changed->first)
                changed->last = NULL;
        clock->is_changed = false;
        return clock;
}

static uint64_t group_hash(const Group *group) {
        return siphash_keyed(group->clocks, group->n_clocks * sizeof(*group->clocks));
}

static bool group_equal(const Group *x, const Group *y) {
        return x->n_clocks == y->n_clocks &&
               memcmp(x->clocks, y->clocks, x->n_clocks * sizeof(*x->clocks)) == 0;
}

static Group *group_free(Group *group) {
        free(group->readings);
        free(group);
        return NULL;
}

static Clock *clock_free(Clock *clock) {
        free(clock->groups);
        free(clock);
        return NULL;
}

TraceClocks *trace_clocks_new(void) {
        TraceClocks *clocks = calloc(1, sizeof(*clocks));

        if (clocks)
                clocks->trace_time = TRACE_CLOCK_BOOTTIME;
        return clocks;
}

TraceClocks *trace_clocks_free(TraceClocks *clocks) {
        if (!clocks)
                return NULL;

        for (size_t i = 0; i < clocks->n_groups; i++)
                group_free(clocks->all_groups[i]);
        for (size_t i = 0; i < clocks->n_clocks; i++)
                clock_free(clocks->all[i]);
        free(clocks->all_groups);
        free(clocks->all);
        trace_map_deinit(&clocks->groups);
        trace_map_deinit(&clocks->clocks);
        free(clocks);
        return NULL;
}

static uint64_t clock_key(uint32_t sequence_id, uint32_t id) {
        return (trace_clock_is_of_sequence(id) ? (uint64_t)sequence_id << 32 : 0) | id;
}

static Clock *clocks_find(const TraceClocks *clocks, uint64_t key) {
        uint64_t place = trace_map_find(&clocks->clocks, key);

        return place == TRACE_MAP_NONE ? NULL : clocks->all[place];
}

static int clocks_insert(TraceClocks *clocks, Clock *clock) {
        int r = trace_reserve((void **)&clocks->all,
                              &clocks->n_clocks_allocated,
                              clocks->n_clocks + 1,
                              sizeof(*clocks->all));

        if (r == 0)
                r = trace_map_set(&clocks->clocks, clock->key, clocks->n_clocks);
        if (r == 0)
                clocks->all[clocks->n_clocks++] = clock;
        return r;
}

/* Returns NULL if there are too many. */
static Clock *clocks_obtain(TraceClocks *clocks, uint64_t key, const TraceClockReading *reading) {
        Clock *clock = clocks_find(clocks, key);

        if (clock || clocks->n_clocks == TRACE_CLOCK_CLOCKS_MAX)
                return clock;
        clock = calloc(1, sizeof(*clock));
        if (!clock)
                return NULL;
        clock->key = key;
        clock->unit_ns = reading->unit_ns ? reading->unit_ns : 1;
        clock->is_incremental = reading->is_incremental;
        clock->n_steps = key == clocks->trace_time ? 0 : STEPS_NONE;
        return clocks_insert(clocks, clock) == 0 ? clock : clock_free(clock);
}

/*
 * Paths to trace time
 */

static void clock_try_step(Clock *clock, Group *group, size_t from, size_t to, Changed *changed) {
        unsigned n_steps = group->clocks[to]->n_steps + 1;

        if (clock->ran_backwards || n_steps > TRACE_CLOCK_STEPS_MAX || n_steps >= clock->n_steps)
                return;
        clock->n_steps = n_steps;
        clock->group = group;
        clock->from = from;
        clock->to = to;
        changed_push(changed, clock);
}

/* The clocks of a group that are one step from the clock at `to`. */
static void group_spread(Group *group, size_t to, Changed *changed) {
        if (group->clocks[to]->n_steps >= TRACE_CLOCK_STEPS_MAX)
                return;
        for (size_t from = 0; from < group->n_clocks; from++)
                if (from != to)
                        clock_try_step(group->clocks[from], group, from, to, changed);
}

static size_t group_place(const Group *group, const Clock *clock) {
        size_t i = 0;

        while (group->clocks[i] != clock)
                i++;
        return i;
}

static void clocks_spread(Changed *changed) {
        Clock *clock;

        while ((clock = changed_pop(changed)))
                for (size_t i = 0; i < clock->n_groups; i++) {
                        Group *group = clock->groups[i];

                        group_spread(group, group_place(group, clock), changed);
                }
}

static void clocks_add_ways(Group *group) {
        Changed changed = { 0 };

        for (size_t to = 0; to < group->n_clocks; to++)
                group_spread(group, to, &changed);
        clocks_spread(&changed);
}

static void clocks_find_ways(TraceClocks *clocks) {
        Changed changed = { 0 };

        for (size_t i = 0; i < clocks->n_clocks; i++) {
                Clock *clock = clocks->all[i];

                clock->n_steps = clock->key == clocks->trace_time ? 0 : STEPS_NONE;
                if (clock->n_steps == 0)
                        changed_push(&changed, clock);
        }
        clocks_spread(&changed);
}

/* A hostile file must not make this cost the square of its size. Past the limit, times of clocks whose paths went
 * through this one count as unknown. */
static void clocks_lose_way(TraceClocks *clocks, Clock *clock) {
        if (clock->ran_backwards)
                return;
        clock->ran_backwards = true;
        clock->n_steps = STEPS_NONE;
        if (clock->n_groups > 1 && clocks->n_rebuilt++ < TRACE_CLOCK_ROUTES_REBUILT_MAX)
                clocks_find_ways(clocks);
}

uint32_t trace_clocks_trace_time(const TraceClocks *clocks) {
        return clocks->trace_time;
}

void trace_clocks_set_trace_time(TraceClocks *clocks, uint32_t id) {
        if (clocks->is_settled || id == clocks->trace_time || id == 0 ||
            trace_clock_is_of_sequence(id) || clocks->n_rebuilt++ >= TRACE_CLOCK_ROUTES_REBUILT_MAX)
                return;
        clocks->trace_time = id;
        clocks_find_ways(clocks);
}

/*
 * Snapshots
 */

static size_t group_n_snapshots(const Group *group) {
        return group->n_readings / group->n_clocks;
}

static uint64_t group_reading(const Group *group, size_t snapshot, size_t place) {
        return group->readings[snapshot * group->n_clocks + place];
}

/* The clocks in order of their keys, and their readings. */
typedef struct Snapshot {
        Group group; /* without readings */
        uint64_t ns[TRACE_CLOCK_SNAPSHOT_MAX];
} Snapshot;

static int snapshot_insert(Snapshot *snapshot, Clock *clock, uint64_t ns) {
        Group *group = &snapshot->group;
        size_t i = group->n_clocks;

        for (; i > 0 && group->clocks[i - 1]->key >= clock->key; i--) {
                if (group->clocks[i - 1] == clock)
                        return TRACE_CLOCK_E_INVALID;
                group->clocks[i] = group->clocks[i - 1];
                snapshot->ns[i] = snapshot->ns[i - 1];
        }
        group->clocks[i] = clock;
        snapshot->ns[i] = ns;
        group->n_clocks++;
        return 0;
}

static int snapshot_take(Snapshot *snapshot,
                         TraceClocks *clocks,
                         uint32_t sequence_id,
                         const TraceClockReading *reading) {
        Clock *clock = clocks_obtain(clocks, clock_key(sequence_id, reading->id), reading);
        uint64_t ns;

        if (!clock)
                return TRACE_CLOCK_E_TOO_MANY;
        if (clock->unit_ns != (reading->unit_ns ? reading->unit_ns : 1) ||
            clock->is_incremental != reading->is_incremental ||
            __builtin_mul_overflow(reading->timestamp, clock->unit_ns, &ns) || ns > INT64_MAX)
                return TRACE_CLOCK_E_INVALID;
        return snapshot_insert(snapshot, clock, ns);
}

static Group *clocks_find_group(const TraceClocks *clocks, const Group *like, uint64_t hash) {
        uint64_t place = trace_map_find(&clocks->groups, hash);
        Group *group = place == TRACE_MAP_NONE ? NULL : clocks->all_groups[place];

        while (group && !group_equal(group, like))
                group = group->next;
        return group;
}

static int clock_add_group(Clock *clock, Group *group) {
        int r = trace_reserve((void **)&clock->groups,
                              &clock->n_groups_allocated,
                              clock->n_groups + 1,
                              sizeof(*clock->groups));

        if (r == 0)
                clock->groups[clock->n_groups++] = group;
        return r;
}

static int clocks_insert_group(TraceClocks *clocks, Group *group, uint64_t hash) {
        uint64_t place = trace_map_find(&clocks->groups, hash);
        int r = trace_reserve((void **)&clocks->all_groups,
                              &clocks->n_groups_allocated,
                              clocks->n_groups + 1,
                              sizeof(*clocks->all_groups));

        if (r == 0)
                r = trace_map_set(&clocks->groups, hash, clocks->n_groups);
        if (r)
                return r;
        group->next = place == TRACE_MAP_NONE ? NULL : clocks->all_groups[place];
        clocks->all_groups[clocks->n_groups++] = group;
        return 0;
}

/* Returns NULL if there are too many. */
static Group *clocks_obtain_group(TraceClocks *clocks, const Snapshot *snapshot) {
        uint64_t hash = group_hash(&snapshot->group);
        Group *group = clocks_find_group(clocks, &snapshot->group, hash);

        if (group || clocks->n_groups == TRACE_CLOCK_GROUPS_MAX)
                return group;
        group = calloc(1, sizeof(*group));
        if (!group)
                return NULL;
        *group = snapshot->group;
        if (clocks_insert_group(clocks, group, hash))
                return group_free(group);
        for (size_t i = 0; i < group->n_clocks; i++)
                if (clock_add_group(group->clocks[i], group))
                        return NULL;
        clocks_add_ways(group);
        return group;
}

static bool group_runs_backwards(const Group *group, const Snapshot *snapshot, size_t place) {
        size_t n = group_n_snapshots(group);

        return n > 0 && snapshot->ns[place] < group_reading(group, n - 1, place);
}

static int group_append(Group *group, const Snapshot *snapshot) {
        int r = trace_reserve((void **)&group->readings,
                              &group->n_allocated,
                              group->n_readings + group->n_clocks,
                              sizeof(*group->readings));

        if (r)
                return TRACE_CLOCK_E_TOO_MANY;
        memcpy(group->readings + group->n_readings,
               snapshot->ns,
               group->n_clocks * sizeof(*group->readings));
        group->n_readings += group->n_clocks;
        return 0;
}

static int clocks_append(TraceClocks *clocks, Group *group, const Snapshot *snapshot) {
        for (size_t i = 0; i < group->n_clocks; i++)
                if (group->clocks[i]->key == clocks->trace_time &&
                    group_runs_backwards(group, snapshot, i))
                        return TRACE_CLOCK_E_INVALID;
        for (size_t i = 0; i < group->n_clocks; i++)
                if (group_runs_backwards(group, snapshot, i))
                        clocks_lose_way(clocks, group->clocks[i]);
        if (group_append(group, snapshot))
                return TRACE_CLOCK_E_TOO_MANY;
        clocks->n_readings += group->n_clocks;
        for (size_t i = 0; i < group->n_clocks; i++)
                group->clocks[i]->now_ns = snapshot->ns[i];
        return 0;
}

int trace_clocks_add_snapshot(TraceClocks *clocks,
                              uint32_t sequence_id,
                              const TraceClockReading *readings,
                              size_t n_readings) {
        Snapshot snapshot = { 0 };
        Group *group;

        if (n_readings == 0)
                return 0;
        if (n_readings > TRACE_CLOCK_SNAPSHOT_MAX ||
            clocks->n_readings + n_readings > TRACE_CLOCK_READINGS_MAX)
                return TRACE_CLOCK_E_TOO_MANY;
        for (size_t i = 0; i < n_readings; i++) {
                int r = snapshot_take(&snapshot, clocks, sequence_id, &readings[i]);

                if (r)
                        return r;
        }
        group = clocks_obtain_group(clocks, &snapshot);
        return group ? clocks_append(clocks, group, &snapshot) : TRACE_CLOCK_E_TOO_MANY;
}

/*
 * Conversion
 */

/* The newest snapshot in which the clock's reading is not later than this time, or else the first snapshot. */
static size_t group_find(const Group *group, size_t place, uint64_t ns) {
        size_t low = 0, high = group_n_snapshots(group) - 1;

        if (ns >= group_reading(group, high, place))
                return high;
        while (low < high) {
                size_t middle = (low + high) / 2;

                if (group_reading(group, middle, place) <= ns)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low ? low - 1 : 0;
}

/* The reading of the next clock on the path. */
static int clock_step(const Clock *clock, uint64_t ns, uint64_t *ret_ns) {
        const Group *group = clock->group;
        size_t snapshot;
        int64_t delta;

        /* This clock was added for a snapshot that was then refused. */
        if (group_n_snapshots(group) == 0)
                return TRACE_CLOCK_E_UNKNOWN;
        snapshot = group_find(group, clock->from, ns);
        /* Readings and times are limited to INT64_MAX. */
        delta = (int64_t)group_reading(group, snapshot, clock->to) -
                (int64_t)group_reading(group, snapshot, clock->from);
        if (__builtin_add_overflow(ns, delta, ret_ns) || *ret_ns > INT64_MAX)
                return TRACE_CLOCK_E_INVALID;
        return 0;
}

/* The clock's time in ns. Each call advances an incremental clock. */
static int clock_to_ns(Clock *clock, uint64_t timestamp, uint64_t *ret_ns) {
        uint64_t ns;

        if (__builtin_mul_overflow(timestamp, clock->unit_ns, &ns) ||
            (clock->is_incremental && __builtin_add_overflow(ns, clock->now_ns, &ns)) ||
            ns > INT64_MAX)
                return TRACE_CLOCK_E_INVALID;
        if (clock->is_incremental)
                clock->now_ns = ns;
        *ret_ns = ns;
        return 0;
}

int trace_clocks_convert(TraceClocks *clocks,
                         uint64_t *ret_ns,
                         uint32_t sequence_id,
                         uint32_t clock_id,
                         uint64_t timestamp) {
        Clock *clock;
        uint64_t ns;
        int r;

        if (clock_id == clocks->trace_time) {
                *ret_ns = timestamp;
                return 0;
        }
        clocks->is_settled = true;
        clock = clocks_find(clocks, clock_key(sequence_id, clock_id));
        if (!clock)
                return TRACE_CLOCK_E_UNKNOWN;
        r = clock_to_ns(clock, timestamp, &ns);
        for (; r == 0 && clock->n_steps > 0; clock = clock->group->clocks[clock->to]) {
                if (clock->n_steps == STEPS_NONE)
                        return TRACE_CLOCK_E_UNKNOWN;
                r = clock_step(clock, ns, &ns);
        }
        *ret_ns = r == 0 ? ns : 0;
        return r;
}
