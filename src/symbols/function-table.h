/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Function table: which function an address is in
 *
 * An address after a function's end has no name: readers would believe a name that is merely close, and it would be
 * wrong. Only functions without a size, such as those written in assembly, extend to the next one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTIONS_MAX (4u << 20) /* of one module */

/* Of several names for one address, the one with the highest rank is shown. */
typedef enum FunctionRank {
        FUNCTION_RESOLVER, /* the address used to choose a function, which may differ from its own */
        FUNCTION_LOCAL,
        FUNCTION_WEAK,
        FUNCTION_GLOBAL,
} FunctionRank;

typedef struct Function {
        uint64_t start;
        uint64_t end;     /* its end; for a function without a size, the end of its section */
        const char *name; /* borrowed */
        uint8_t rank;
        bool has_size;
} Function;

typedef struct FunctionTable {
        Function *functions;
        size_t n, n_allocated;
        bool is_sorted;
        uint64_t n_refused;
} FunctionTable;

void function_table_deinit(FunctionTable *table);

/* The name must outlive the table. Returns false if memory has run out. */
bool function_table_add(FunctionTable *table, const Function *function);
/* Returns NULL if the address is in no function. Becomes invalid when another function is added. */
const Function *function_table_find(FunctionTable *table, uint64_t address);
