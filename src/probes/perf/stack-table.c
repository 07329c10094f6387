/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stack table: call stacks as numbers, and what a trace must be told of them */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "probes/perf/stack-table.h"
#include "shared/macro.h"

#define TABLE_BITS    17
#define TABLE_ENTRIES ((size_t)1 << TABLE_BITS)
#define TABLE_FILL    (TABLE_ENTRIES / 4 * 3)

/* Field numbers of perfetto.protos.InternedData and of the messages in it. */
enum {
        INTERNED_FUNCTION_NAMES = 5,
        INTERNED_FRAMES = 6,
        INTERNED_CALLSTACKS = 7,
        INTERNED_BUILD_IDS = 16,
        INTERNED_MAPPING_PATHS = 17,
        INTERNED_MAPPINGS = 19,

        IID = 1,
        STRING = 2,
        MAPPING_BUILD_ID = 2,
        MAPPING_PATHS = 7,
        FRAME_FUNCTION_NAME = 2,
        FRAME_MAPPING = 3,
        FRAME_ADDRESS = 4,
        CALLSTACK_FRAMES = 2,
};

/* An entry is of the generation in which it was made; others are empty. */
struct StackFrameEntry {
        uint64_t address;
        uint32_t module;
        uint32_t generation;
        uint32_t number;
};

struct StackEntry {
        uint64_t hash;
        uint32_t n_frames;
        uint32_t leaf;
        uint32_t generation;
        uint32_t number;
};

int stack_table_init(StackTable *table) {
        *table = (StackTable){ .generation = 1 };
        packet_writer_init(&table->interned, NULL);
        (void)packet_begin(&table->interned);
        table->frames = calloc(TABLE_ENTRIES, sizeof(*table->frames));
        table->stacks = calloc(TABLE_ENTRIES, sizeof(*table->stacks));
        if (!table->frames || !table->stacks)
                return -ENOMEM;
        if (getrandom(&table->secret, sizeof(table->secret), 0) != sizeof(table->secret))
                return -EIO;
        return 0;
}

void stack_table_deinit(StackTable *table) {
        free(table->frames);
        free(table->stacks);
        packet_writer_deinit(&table->interned);
        table->frames = NULL;
        table->stacks = NULL;
}

void stack_table_clear(StackTable *table) {
        table->generation++;
        table->n_modules = 0;
        table->n_frames = 0;
        table->n_stacks = 0;
        (void)packet_begin(&table->interned);
}

bool stack_table_has_room(const StackTable *table) {
        return table->n_frames + STACK_FRAMES_MAX < TABLE_FILL && table->n_stacks < TABLE_FILL;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
        hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
        return hash ^ hash >> 29;
}

/*
 * Frames
 */

static void
intern_text(WireWriter *wire, uint32_t field, uint64_t number, const void *text, size_t n_bytes) {
        size_t begin = wire_begin(wire, field);

        wire_put_uint(wire, IID, number);
        wire_put_bytes(wire, STRING, text, n_bytes);
        wire_end(wire, begin);
}

/* A path and a build id have the number of their mapping: each kind is numbered on its own. */
static void intern_module(StackTable *table, StackModule *module) {
        WireWriter *wire = &table->interned.wire;
        size_t mapping;

        if (module->generation == table->generation)
                return;
        module->generation = table->generation;
        module->number = ++table->n_modules;
        intern_text(
                wire, INTERNED_MAPPING_PATHS, module->number, module->path, strlen(module->path));
        if (module->n_build_id > 0)
                intern_text(wire,
                            INTERNED_BUILD_IDS,
                            module->number,
                            module->build_id,
                            module->n_build_id);
        mapping = wire_begin(wire, INTERNED_MAPPINGS);
        wire_put_uint(wire, IID, module->number);
        if (module->n_build_id > 0)
                wire_put_uint(wire, MAPPING_BUILD_ID, module->number);
        wire_put_uint(wire, MAPPING_PATHS, module->number);
        wire_end(wire, mapping);
}

static void intern_frame(StackTable *table,
                         const StackFrameEntry *entry,
                         StackModule *module,
                         const char *name) {
        WireWriter *wire = &table->interned.wire;
        size_t frame;

        intern_module(table, module);
        if (name)
                intern_text(wire, INTERNED_FUNCTION_NAMES, entry->number, name, strlen(name));
        frame = wire_begin(wire, INTERNED_FRAMES);
        wire_put_uint(wire, IID, entry->number);
        if (name)
                wire_put_uint(wire, FRAME_FUNCTION_NAME, entry->number);
        wire_put_uint(wire, FRAME_MAPPING, module->number);
        wire_put_uint(wire, FRAME_ADDRESS, name ? 0 : entry->address);
        wire_end(wire, frame);
}

static StackFrameEntry *find_frame(StackTable *table, const StackModule *module, uint64_t address) {
        size_t i = (size_t)(mix(mix(table->secret, address), module->id) >> (64 - TABLE_BITS));

        for (;; i = (i + 1) % TABLE_ENTRIES) {
                StackFrameEntry *entry = &table->frames[i];

                if (entry->generation != table->generation ||
                    (entry->address == address && entry->module == module->id))
                        return entry;
        }
}

static uint32_t frame_number(StackTable *table, const StackPart *part) {
        StackFrameEntry *entry = find_frame(table, part->module, part->address);

        if (entry->generation != table->generation) {
                *entry = (StackFrameEntry){
                        .address = part->address,
                        .module = part->module->id,
                        .generation = table->generation,
                        .number = ++table->n_frames,
                };
                intern_frame(table, entry, part->module, part->name);
        }
        return entry->number;
}

void stack_table_begin(StackTable *table) {
        table->n_parts = 0;
        (void)packet_begin(&table->interned);
}

void stack_table_add_named(StackTable *table, StackModule *module, uint64_t key, const char *name) {
        if (table->n_parts < STACK_FRAMES_MAX)
                table->parts[table->n_parts++] = (StackPart){ module, key, name };
}

void stack_table_add(StackTable *table, StackModule *module, uint64_t address) {
        stack_table_add_named(table, module, address, NULL);
}

void stack_table_trim(StackTable *table, bool (*is_left_out)(const StackPart *part)) {
        size_t n = 0;

        while (n < table->n_parts && is_left_out(&table->parts[n]))
                n++;
        table->n_parts -= n;
        memmove(table->parts, table->parts + n, table->n_parts * sizeof(*table->parts));
}

/*
 * Stacks
 */

static StackEntry *find_stack(StackTable *table, uint64_t hash) {
        size_t i = (size_t)(hash >> (64 - TABLE_BITS));

        for (;; i = (i + 1) % TABLE_ENTRIES) {
                StackEntry *entry = &table->stacks[i];

                if (entry->generation != table->generation ||
                    (entry->hash == hash && entry->n_frames == table->n_parts &&
                     entry->leaf == table->stack[0]))
                        return entry;
        }
}

/* The trace wants the outermost frame first. */
static void intern_stack(StackTable *table, uint32_t number) {
        WireWriter *wire = &table->interned.wire;
        size_t callstack = wire_begin(wire, INTERNED_CALLSTACKS);

        wire_put_uint(wire, IID, number);
        for (size_t i = table->n_parts; i > 0; i--)
                wire_put_uint(wire, CALLSTACK_FRAMES, table->stack[i - 1]);
        wire_end(wire, callstack);
}

uint32_t stack_table_end(StackTable *table) {
        uint64_t hash = table->secret;
        StackEntry *entry;

        if (table->n_parts == 0)
                return 0;
        for (size_t i = 0; i < table->n_parts; i++) {
                table->stack[i] = frame_number(table, &table->parts[i]);
                hash = mix(hash, table->stack[i]);
        }
        entry = find_stack(table, hash);
        if (entry->generation == table->generation)
                return entry->number;
        *entry = (StackEntry){
                .hash = hash,
                .n_frames = (uint32_t)table->n_parts,
                .leaf = table->stack[0],
                .generation = table->generation,
                .number = ++table->n_stacks,
        };
        intern_stack(table, entry->number);
        return entry->number;
}

const uint8_t *stack_table_interned(const StackTable *table, size_t *ret_n_bytes) {
        *ret_n_bytes = wire_writer_size(&table->interned.wire);
        return *ret_n_bytes > 0 && !wire_writer_failed(&table->interned.wire)
                       ? table->interned.wire.start
                       : NULL;
}
