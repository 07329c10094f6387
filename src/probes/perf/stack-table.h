/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack table: call stacks as numbers, and what a trace must be told of them
 *
 * A stack is put together from its innermost frame outwards. When it ends, its parts that the trace does not know yet
 * are appended to `interned`, as perfetto.protos.InternedData, which goes into the packet of the first sample that
 * needs them. When the tables are full, everything is forgotten: the owner then tells the trace that its state is
 * cleared.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/packet-writer.h"

#define STACK_FRAMES_MAX 1024u /* of one stack, with the kernel's frames */

/* A frame's module: a file, or a word for code that is in none. Embedded in its owner's structure. */
typedef struct StackModule {
        uint32_t id; /* of the owner; never 0 */
        const char *path;
        const uint8_t *build_id;
        size_t n_build_id;
        uint32_t generation; /* in which the trace was told of the module */
        uint32_t number;
} StackModule;

/* A frame as it was added, valid as long as its module and its name. */
typedef struct StackPart {
        StackModule *module;
        uint64_t address; /* or the key of the name */
        const char *name; /* NULL: none */
} StackPart;

typedef struct StackFrameEntry StackFrameEntry;
typedef struct StackEntry StackEntry;

typedef struct StackTable {
        StackFrameEntry *frames;
        StackEntry *stacks;
        uint32_t generation;
        uint32_t n_modules;
        uint32_t n_frames;
        uint32_t n_stacks;
        uint64_t secret; /* keeps programs from making two stacks with the same hash */
        StackPart parts[STACK_FRAMES_MAX]; /* of the stack at hand */
        size_t n_parts;
        uint32_t stack[STACK_FRAMES_MAX]; /* the same as numbers of frames */
        PacketWriter interned;            /* has no sink: its bytes are taken */
} StackTable;

int stack_table_init(StackTable *table);
void stack_table_deinit(StackTable *table);

/* Tells that the trace's state was cleared: everything has to be described again. */
void stack_table_clear(StackTable *table);
/* Whether there is room for another stack; if not, the owner clears. */
bool stack_table_has_room(const StackTable *table);

void stack_table_begin(StackTable *table);
void stack_table_add(StackTable *table, StackModule *module, uint64_t address);
/* A frame that has only a name; `key` is any number that identifies it in its module. */
void stack_table_add_named(StackTable *table, StackModule *module, uint64_t key, const char *name);
/* Leaves out the innermost frames for as long as `is_left_out`. */
void stack_table_trim(StackTable *table, bool (*is_left_out)(const StackPart *part));
/* Returns the stack's number; 0: it has no frames. Only from here on does the trace need the frames. */
uint32_t stack_table_end(StackTable *table);

/* Returns what must be written into the trace now, or NULL. Valid until the next stack_table_begin(). */
const uint8_t *stack_table_interned(const StackTable *table, size_t *ret_n_bytes);
