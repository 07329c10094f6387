/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace stacks: the call stacks of samples, with each frame and each path to it stored once */

#include "trace/trace-stacks.h"

#include <errno.h>

#include "trace/import.h"

#define BUILD_ID_BYTES_MAX 64u
#define PATH_BYTES_MAX     4096u

/* perfetto.protos.InternedData */
enum {
        INTERNED_FRAMES = 6,
        INTERNED_CALLSTACKS = 7,
        INTERNED_BUILD_IDS = 16,
        INTERNED_MAPPINGS = 19
};

void trace_stacks_deinit(TraceStacks *stacks) {
        trace_map_deinit(&stacks->mappings);
        trace_map_deinit(&stacks->places);
        trace_map_deinit(&stacks->addresses);
        trace_map_deinit(&stacks->frames);
        trace_map_deinit(&stacks->callsites);
}

static uint64_t pair(uint32_t high, uint32_t low) {
        return (uint64_t)high << 32 | low;
}

static TraceTable *table_of(TraceStacks *stacks, TraceTableId id) {
        return trace_store_table(stacks->store, id);
}

static uint32_t row_of(const TraceMap *map, uint64_t key) {
        const uint64_t row = trace_map_find(map, key);

        return row == TRACE_MAP_NONE ? TRACE_NONE : (uint32_t)row;
}

/* Finds the row with this key, or adds one. Returns TRACE_NONE if there is no room. */
static uint32_t row_add(TraceMap *map, uint64_t key, TraceTable *table, bool *ret_is_new) {
        uint32_t row = row_of(map, key);

        *ret_is_new = row == TRACE_NONE;
        if (row != TRACE_NONE)
                return row;
        row = trace_table_add(table);
        if (row == TRACE_NONE || trace_map_set(map, key, row))
                return TRACE_NONE;
        return row;
}

/* A small number for a key, the same for equal keys. TRACE_NONE if there is no room. */
static uint32_t number_of(TraceMap *map, uint32_t *n, uint64_t key) {
        uint32_t number = row_of(map, key);

        if (number != TRACE_NONE)
                return number;
        if (*n == TRACE_ROWS_MAX || trace_map_set(map, key, *n))
                return TRACE_NONE;
        return (*n)++;
}

/*
 * What writers tell
 */

static uint32_t add_build_id(TracePool *pool, const WireField *id) {
        static const char digits[] = "0123456789abcdef";
        const size_t n = MIN(id->n_bytes, (size_t)BUILD_ID_BYTES_MAX);
        char text[2 * BUILD_ID_BYTES_MAX];

        for (size_t i = 0; i < n; i++) {
                text[2 * i] = digits[id->data[i] >> 4];
                text[2 * i + 1] = digits[id->data[i] & 15];
        }
        return trace_pool_add(pool, text, 2 * n);
}

static int take_build_id(TraceStacks *stacks, TraceSequence *sequence, const WireField *entry) {
        WireField id = { 0 }, field;
        uint64_t iid = 0;
        WireReader reader;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        iid = field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        id = field;
        }
        return trace_map_set(&sequence->interned[TRACE_INTERNED_BUILD_ID],
                             iid,
                             add_build_id(&stacks->store->pool, &id));
}

/* Joins the components with slashes. A single component that is the whole path stays as it is. */
typedef struct Path {
        char text[PATH_BYTES_MAX];
        size_t n;
} Path;

static void path_add(Path *path, const TracePool *pool, uint32_t name) {
        const char *text = trace_pool_text(pool, name);
        size_t n = text ? trace_pool_length(pool, name) : 0;

        if (path->n > 0 && path->n < sizeof(path->text) && path->text[path->n - 1] != '/')
                path->text[path->n++] = '/';
        for (size_t i = 0; i < n && path->n < sizeof(path->text); i++)
                path->text[path->n++] = text[i];
}

/* perfetto.protos.Mapping */
enum {
        MAPPING_IID = 1,
        MAPPING_BUILD_ID = 2,
        MAPPING_START_OFFSET = 3,
        MAPPING_START = 4,
        MAPPING_END = 5,
        MAPPING_LOAD_BIAS = 6,
        MAPPING_PATH = 7,
        MAPPING_EXACT_OFFSET = 8,
        MAPPING_FIELDS,
};

static void set_mapping(TraceTable *table,
                        uint32_t row,
                        uint32_t path,
                        uint32_t build_id,
                        const uint64_t numbers[MAPPING_FIELDS]) {
        static const struct {
                unsigned column, field;
        } columns[] = { { MAPPED_EXACT_OFFSET, MAPPING_EXACT_OFFSET },
                        { MAPPED_START_OFFSET, MAPPING_START_OFFSET },
                        { MAPPED_START, MAPPING_START },
                        { MAPPED_END, MAPPING_END },
                        { MAPPED_LOAD_BIAS, MAPPING_LOAD_BIAS } };

        trace_table_set(table, MAPPED_BUILD_ID, row, build_id);
        trace_table_set(table, MAPPED_NAME, row, path);
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
                trace_table_set_i64(
                        table, columns[i].column, row, (int64_t)numbers[columns[i].field]);
}

static int take_mapping(TraceStacks *stacks, TraceSequence *sequence, const WireField *entry) {
        uint64_t numbers[MAPPING_FIELDS] = { 0 };
        uint32_t name, build_id, row;
        Path path = { .n = 0 };
        WireReader reader;
        WireField field;
        bool is_new;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == MAPPING_PATH && field.type != WIRE_BYTES) {
                        trace_sequence_find(
                                sequence, TRACE_INTERNED_MAPPING_PATH, field.value, &name);
                        path_add(&path, &stacks->store->pool, name);
                } else if (field.number < MAPPING_FIELDS && field.type != WIRE_BYTES) {
                        numbers[field.number] = field.value;
                }
        }
        name = trace_pool_add(&stacks->store->pool, path.text, path.n);
        trace_sequence_find(
                sequence, TRACE_INTERNED_BUILD_ID, numbers[MAPPING_BUILD_ID], &build_id);
        row = row_add(&stacks->mappings,
                      pair(name, build_id),
                      table_of(stacks, TRACE_TABLE_MAPPING),
                      &is_new);
        if (row == TRACE_NONE)
                return -ENOMEM;
        if (is_new)
                set_mapping(table_of(stacks, TRACE_TABLE_MAPPING), row, name, build_id, numbers);
        return trace_map_set(
                &sequence->interned[TRACE_INTERNED_MAPPING], numbers[MAPPING_IID], row);
}

/* perfetto.protos.Frame */
enum { FRAME_IID = 1, FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_ADDRESS = 4, FRAME_FIELDS };

static uint64_t frame_key(TraceStacks *stacks, uint32_t mapping, uint32_t name, uint64_t address) {
        const uint32_t place = number_of(&stacks->places, &stacks->n_places, pair(mapping, name));
        const uint32_t at = number_of(&stacks->addresses, &stacks->n_addresses, address);

        return pair(place, at);
}

static int take_frame(TraceStacks *stacks, TraceSequence *sequence, const WireField *entry) {
        TraceTable *table = table_of(stacks, TRACE_TABLE_FRAME);
        uint64_t numbers[FRAME_FIELDS];
        uint32_t name, mapping, row;
        bool is_new;

        trace_read_numbers(entry, numbers, FRAME_FIELDS);
        trace_sequence_find(sequence, TRACE_INTERNED_FUNCTION_NAME, numbers[FRAME_FUNCTION], &name);
        mapping = row_of(&sequence->interned[TRACE_INTERNED_MAPPING], numbers[FRAME_MAPPING]);
        if (mapping == TRACE_NONE && numbers[FRAME_MAPPING] != 0) {
                stacks->n_bad++;
                return 0;
        }
        row = row_add(&stacks->frames,
                      frame_key(stacks, mapping, name, numbers[FRAME_ADDRESS]),
                      table,
                      &is_new);
        if (row == TRACE_NONE)
                return -ENOMEM;
        if (is_new) {
                trace_table_set(table, FRAME_NAME, row, name);
                trace_table_set(table, FRAME_MAPPING_ID, row, mapping);
                trace_table_set_i64(table, FRAME_REL_PC, row, (int64_t)numbers[FRAME_ADDRESS]);
        }
        return trace_map_set(&sequence->interned[TRACE_INTERNED_FRAME], numbers[FRAME_IID], row);
}

/* Goes one frame further in. Returns TRACE_NONE if there is no room. */
static uint32_t callsite_add(TraceStacks *stacks, uint32_t parent, uint32_t frame) {
        TraceTable *table = table_of(stacks, TRACE_TABLE_CALLSITE);
        bool is_new;
        uint32_t row = row_add(&stacks->callsites, pair(parent, frame), table, &is_new);

        if (row == TRACE_NONE || !is_new)
                return row;
        trace_table_set(table,
                        CALLSITE_DEPTH,
                        row,
                        parent == TRACE_NONE ? 0
                                             : trace_table_get(table, CALLSITE_DEPTH, parent) + 1);
        trace_table_set(table, CALLSITE_PARENT, row, parent);
        trace_table_set(table, CALLSITE_FRAME, row, frame);
        return row;
}

typedef struct StackWalk {
        TraceStacks *stacks;
        const TraceSequence *sequence;
        uint32_t row;
        unsigned n;
        bool is_bad;
        bool ran_out;
} StackWalk;

static void walk_to(StackWalk *walk, uint64_t frame_iid) {
        const uint32_t frame = row_of(&walk->sequence->interned[TRACE_INTERNED_FRAME], frame_iid);

        if (walk->is_bad || walk->ran_out)
                return;
        walk->is_bad = frame == TRACE_NONE || walk->n == TRACE_STACK_FRAMES_MAX;
        if (walk->is_bad)
                return;
        walk->row = callsite_add(walk->stacks, walk->row, frame);
        walk->ran_out = walk->row == TRACE_NONE;
        walk->n++;
}

static void walk_packed(StackWalk *walk, const WireField *packed) {
        WireReader reader;
        uint64_t iid;

        wire_reader_init_field(&reader, packed);
        while (reader.at < reader.end && wire_read_varint(&reader, &iid) == 0)
                walk_to(walk, iid);
}

static int take_callstack(TraceStacks *stacks, TraceSequence *sequence, const WireField *entry) {
        StackWalk walk = { .stacks = stacks, .sequence = sequence, .row = TRACE_NONE };
        uint64_t iid = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type != WIRE_BYTES)
                        iid = field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        walk_packed(&walk, &field);
                else if (field.number == 2)
                        walk_to(&walk, field.value);
        }
        if (walk.ran_out)
                return -ENOMEM;
        if (walk.is_bad || walk.row == TRACE_NONE) {
                stacks->n_bad++;
                return 0;
        }
        return trace_map_set(&sequence->interned[TRACE_INTERNED_CALLSTACK], iid, walk.row);
}

typedef int (*TakeEntry)(TraceStacks *stacks, TraceSequence *sequence, const WireField *entry);

static int take_all(TraceStacks *stacks,
                    TraceSequence *sequence,
                    const WireField *interned,
                    uint32_t number,
                    TakeEntry take) {
        WireReader reader;
        WireField field;
        int r = 0;

        wire_reader_init_field(&reader, interned);
        while (r == 0 && wire_read(&reader, &field) > 0)
                if (field.number == number && field.type == WIRE_BYTES)
                        r = take(stacks, sequence, &field);
        return r;
}

/* A packet may have these in any order, but each must be read before what refers to it. */
int trace_stacks_take_interned(TraceStacks *stacks,
                               TraceSequence *sequence,
                               const WireField *interned) {
        static const struct {
                uint32_t number;
                TakeEntry take;
        } kinds[] = {
                { INTERNED_BUILD_IDS, take_build_id },
                { INTERNED_MAPPINGS, take_mapping },
                { INTERNED_FRAMES, take_frame },
                { INTERNED_CALLSTACKS, take_callstack },
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++)
                r = take_all(stacks, sequence, interned, kinds[i].number, kinds[i].take);
        return r;
}

uint32_t trace_stacks_callsite(const TraceSequence *sequence, uint64_t iid) {
        return row_of(&sequence->interned[TRACE_INTERNED_CALLSTACK], iid);
}

/*
 * Names that were found after the recording
 */

/* perfetto.protos.ModuleSymbols, AddressSymbols, Line */
enum { SYMBOLS_PATH = 1, SYMBOLS_BUILD_ID = 2, SYMBOLS_ADDRESS = 3 };
enum { ADDRESS_ADDRESS = 1, ADDRESS_LINES = 2 };
enum { LINE_FUNCTION = 1, LINE_FILE = 2, LINE_NUMBER = 3 };

/* Returns TRACE_NONE if there is no room. */
static uint32_t add_line(TraceStacks *stacks, const WireField *line) {
        TraceTable *table = table_of(stacks, TRACE_TABLE_SYMBOL);
        const uint32_t row = trace_table_add(table);
        WireReader reader;
        WireField field;

        if (row == TRACE_NONE)
                return row;
        wire_reader_init_field(&reader, line);
        while (wire_read(&reader, &field) > 0) {
                if (field.type == WIRE_BYTES &&
                    (field.number == LINE_FUNCTION || field.number == LINE_FILE))
                        trace_table_set(
                                table,
                                field.number == LINE_FUNCTION ? SYMBOL_NAME : SYMBOL_FILE,
                                row,
                                trace_pool_add(&stacks->store->pool, field.data, field.n_bytes));
                else if (field.number == LINE_NUMBER && field.value < TRACE_NONE)
                        trace_table_set(table, SYMBOL_LINE, row, (uint32_t)field.value);
        }
        return row;
}

static void take_lines(TraceStacks *stacks, uint32_t frame, const WireField *address) {
        TraceTable *symbols = table_of(stacks, TRACE_TABLE_SYMBOL);
        uint32_t set = TRACE_NONE, row;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, address);
        while (wire_read(&reader, &field) > 0) {
                if (field.number != ADDRESS_LINES || field.type != WIRE_BYTES)
                        continue;
                row = add_line(stacks, &field);
                if (row == TRACE_NONE)
                        break;
                if (set == TRACE_NONE)
                        set = row;
                trace_table_set(symbols, SYMBOL_SET, row, set);
        }
        if (set != TRACE_NONE)
                trace_table_set(table_of(stacks, TRACE_TABLE_FRAME), FRAME_SYMBOL_SET, frame, set);
}

static void take_address(TraceStacks *stacks, uint32_t mapping, const WireField *address) {
        const uint32_t place = row_of(&stacks->places, pair(mapping, 0));
        uint64_t numbers[2];
        uint32_t at, frame;

        trace_read_numbers(address, numbers, ARRAY_SIZE(numbers));
        at = row_of(&stacks->addresses, numbers[ADDRESS_ADDRESS]);
        frame = row_of(&stacks->frames, pair(place, at));
        if (place != TRACE_NONE && at != TRACE_NONE && frame != TRACE_NONE)
                take_lines(stacks, frame, address);
}

void trace_stacks_take_symbols(TraceStacks *stacks, const WireField *symbols) {
        WireField path = { .data = (const uint8_t *)"" }, build_id = path, field;
        TracePool *pool = &stacks->store->pool;
        WireReader reader;
        uint32_t mapping;

        wire_reader_init_field(&reader, symbols);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == SYMBOLS_PATH && field.type == WIRE_BYTES)
                        path = field;
                else if (field.number == SYMBOLS_BUILD_ID && field.type == WIRE_BYTES)
                        build_id = field;
        }
        mapping = row_of(
                &stacks->mappings,
                pair(trace_pool_add(pool, path.data, path.n_bytes), add_build_id(pool, &build_id)));
        if (mapping == TRACE_NONE) {
                stacks->n_bad++;
                return;
        }
        wire_reader_init_field(&reader, symbols);
        while (wire_read(&reader, &field) > 0)
                if (field.number == SYMBOLS_ADDRESS && field.type == WIRE_BYTES)
                        take_address(stacks, mapping, &field);
}
