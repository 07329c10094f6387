/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Calls and signals on message buses: who called what, how long callers waited for answers, and which signals were sent
 *
 * The bridge gives each peer tracks: a call is a slice of the caller and one of the callee, and only the first is
 * counted. Calls that want no answer, and signals, are instants.
 */

#include <errno.h>
#include <string.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"

#define TRACKS_UP_MAX 8 /* the process of a peer whose calls these are */

static const char call_word[] = N_("call"), send_word[] = N_("call without answer"),
                  signal_word[] = N_("signal");

static const AnswerColumn facts[] = {
        [BUS_FACT_CALLS] = { "calls", NULL, ANSWER_COUNT },
        [BUS_FACT_WAITED] = { "waited_ns", NULL, ANSWER_NS },
        [BUS_FACT_MAX] = { "max_ns", NULL, ANSWER_NS },
        [BUS_FACT_OPEN] = { "not_answered", NULL, ANSWER_COUNT },
        [BUS_FACT_SENT] = { "sent", NULL, ANSWER_COUNT },
};

enum { COLUMN_KIND = BUS_COLUMN_NAME + 1, COLUMN_N, COLUMN_NS, COLUMN_MAX, COLUMN_AT };

static const AnswerColumn columns[] = {
        [BUS_COLUMN_WHO] = { "who", N_("WHO"), ANSWER_TEXT },
        [BUS_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [COLUMN_KIND] = { "kind", N_("WHAT"), ANSWER_WORD },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_NS] = { "waited_ns", N_("WAITED"), ANSWER_NS },
        [COLUMN_MAX] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_AT] = { "longest_at", N_("AT"), ANSWER_TIME },
};

typedef enum BusKind { BUS_KIND_NONE, BUS_KIND_CALL, BUS_KIND_SEND, BUS_KIND_SIGNAL } BusKind;

typedef struct Bus {
        AnswerTally tally; /* by kind, peer and name: place in `keys` */
        TraceMap places;   /* peer and name → index */
        uint64_t *keys;
        size_t n_keys, n_allocated;
        int64_t waited, max;
        uint64_t n_calls, n_open, n_sent;
} Bus;

static void bus_deinit(Bus *bus) {
        answer_tally_deinit(&bus->tally);
        trace_map_deinit(&bus->places);
        free(bus->keys);
}

static uint32_t track_get(const TraceStore *store, uint32_t track, unsigned column) {
        return trace_table_get(&store->tables[TRACE_TABLE_TRACK], column, track);
}

static const char *track_name(const TraceStore *store, uint32_t track) {
        const char *name = trace_pool_text(&store->pool, track_get(store, track, TRACK_NAME));

        return name ? name : "";
}

/* "calls", "calls 2" and so on: the further ones hold simultaneous calls */
static BusKind kind_of(const TraceStore *store, uint32_t track) {
        const char *name = track == TRACE_NONE ? "" : track_name(store, track);

        if (streq(name, "calls without answers"))
                return BUS_KIND_SEND;
        return strncmp(name, "calls", strlen("calls")) == 0 ? BUS_KIND_CALL
               : streq(name, "signals")                     ? BUS_KIND_SIGNAL
                                                            : BUS_KIND_NONE;
}

/* By process, which may have several connections, or else by connection. */
static uint32_t peer_name(const TraceStore *store, uint32_t track) {
        uint32_t peer = track_get(store, track, TRACK_PARENT), up = track;

        for (unsigned i = 0; up != TRACE_NONE && i < TRACKS_UP_MAX; i++) {
                uint32_t upid = track_get(store, up, TRACK_UPID);

                if (upid != TRACE_NONE)
                        return trace_table_get(
                                &store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid);
                up = track_get(store, up, TRACK_PARENT);
        }
        return peer == TRACE_NONE ? 0 : track_get(store, peer, TRACK_NAME);
}

/* The index of a peer and a name, which is added if it is new; TRACE_MAP_NONE: out of memory. */
static uint64_t bus_place(Bus *bus, uint32_t who, uint32_t name) {
        uint64_t key = (uint64_t)who << 32 | name, place = trace_map_find(&bus->places, key);

        if (place != TRACE_MAP_NONE)
                return place;
        if (trace_reserve(
                    (void **)&bus->keys, &bus->n_allocated, bus->n_keys + 1, sizeof(*bus->keys)) ||
            trace_map_set(&bus->places, key, bus->n_keys))
                return TRACE_MAP_NONE;
        bus->keys[bus->n_keys] = key;
        return bus->n_keys++;
}

/* Only the part of a call that lies in the range counts as waiting. */
static int64_t count_slice(Bus *bus, const AnswerQuestion *question, BusKind kind, uint32_t row) {
        int64_t ts = answer_slice_ts(question->store, row),
                dur = answer_slice_dur(question->store, row),
                ns = dur > 0 ? time_overlap(ts, time_add(ts, dur), question->start, question->end)
                             : 0;

        if (kind != BUS_KIND_CALL) {
                bus->n_sent++;
                return 0;
        }
        bus->n_calls++;
        bus->n_open += dur < 0;
        bus->waited = time_add(bus->waited, ns);
        bus->max = MAX(bus->max, ns);
        return ns;
}

static bool is_in_range(const AnswerQuestion *question, uint32_t row) {
        int64_t ts = answer_slice_ts(question->store, row),
                dur = answer_slice_dur(question->store, row);

        return ts <= question->end && time_add(ts, MAX(dur, 0)) >= question->start;
}

static int take_slice(Bus *bus, const AnswerQuestion *question, uint32_t row) {
        const TraceStore *store = question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_SLICE];
        uint32_t track = trace_table_get(table, SLICE_TRACK, row);
        BusKind kind = kind_of(store, track);
        uint64_t place;

        if (!kind || !is_in_range(question, row))
                return 0;
        place = bus_place(bus, peer_name(store, track), trace_table_get(table, SLICE_NAME, row));
        if (place == TRACE_MAP_NONE)
                return -ENOMEM;
        return answer_tally_add(&bus->tally,
                                (uint64_t)kind << 32 | place,
                                answer_slice_ts(store, row),
                                count_slice(bus, question, kind, row));
}

static void put_message(Answer *answer,
                        const AnswerQuestion *question,
                        const Bus *bus,
                        const AnswerTallyItem *item) {
        static const char *const words[] = { [BUS_KIND_CALL] = call_word,
                                             [BUS_KIND_SEND] = send_word,
                                             [BUS_KIND_SIGNAL] = signal_word };
        AnswerValue *cells = answer_add_row(answer);
        uint64_t key = bus->keys[(uint32_t)item->key];
        BusKind kind = (BusKind)(item->key >> 32);

        if (!cells)
                return;
        answer_set_name(answer, &cells[BUS_COLUMN_WHO], question->store, (uint32_t)(key >> 32));
        answer_set_name(answer, &cells[BUS_COLUMN_NAME], question->store, (uint32_t)key);
        answer_set_word(&cells[COLUMN_KIND], words[kind]);
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        if (kind == BUS_KIND_CALL) {
                answer_set(&cells[COLUMN_NS], item->total_ns);
                answer_set(&cells[COLUMN_MAX], item->max_ns);
        }
        answer_set(&cells[COLUMN_AT], time_since(item->max_at, question->zero));
}

static void bus_put(Answer *answer, const AnswerQuestion *question, Bus *bus) {
        answer_tally_sort(&bus->tally);
        for (size_t i = 0; i < bus->tally.n; i++)
                put_message(answer, question, bus, &bus->tally.items[i]);
        answer_set(&answer->facts[BUS_FACT_CALLS], (int64_t)bus->n_calls);
        answer_set(&answer->facts[BUS_FACT_WAITED], bus->waited);
        answer_set(&answer->facts[BUS_FACT_MAX], bus->max);
        answer_set(&answer->facts[BUS_FACT_OPEN], (int64_t)bus->n_open);
        answer_set(&answer->facts[BUS_FACT_SENT], (int64_t)bus->n_sent);
}

static int bus_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SLICE];
        uint32_t category = trace_pool_find(&question->store->pool, "dbus", strlen("dbus"));
        _cleanup_(bus_deinit) Bus bus = { 0 };
        bool is_there = false;
        int r = 0;

        for (uint32_t row = 0; category && r == 0 && row < table->n; row++)
                if (trace_table_get(table, SLICE_CATEGORY, row) == category) {
                        is_there = true;
                        r = take_slice(&bus, question, row);
                }
        if (r == 0 && !is_there)
                return ANSWER_E_NOTHING;
        bus_put(answer, question, &bus);
        return r;
}

const AnswerDef answer_bus = {
        .name = "bus",
        .record = "desktrace record --user -p bus",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = bus_find,
};
