/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel symbols: names of functions, from /proc/kallsyms, and which of them a bundle has used
 *
 * With symbolize_ksyms, events that hold the address of a function get a small number instead, and the bundle's packet
 * says which name it stands for (InternedData.kernel_symbols). The numbers start over with each packet, so that
 * each can be read alone. An address that is no function's stays what it is.
 *
 * Reading kallsyms takes a tenth of a second, so a thread does it while the recording starts, and the first address
 * waits for it. All recordings of the process share what was read last. When an address of the kernel is unknown and
 * modules were loaded since, it is read again in the same way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "wire/wire-writer.h"

#define KERNEL_SYMBOLS_USED_MAX  256 /* different functions in one bundle; the rest stay addresses */
#define KERNEL_SYMBOLS_BYTES_MAX (256u << 20) /* of kallsyms; 5 MB are usual */

typedef struct KernelSymbol {
        uint64_t address;
        const char *name; /* NULL: data, which only ends the function before it */
} KernelSymbol;

#define KERNEL_SYMBOLS_AGAIN_NS UINT64_C(5000000000) /* at least between two readings */

/* What one reading of kallsyms gave. */
typedef struct SymbolTable {
        unsigned n_references;
        char *text;
        KernelSymbol *symbols; /* by address */
        size_t n_symbols;
        size_t n_modules; /* that were loaded then */
        uint64_t read_ns;
} SymbolTable;

typedef struct SymbolLoad SymbolLoad;

#define KERNEL_SYMBOLS_RECENT_BITS 6

/* An address that the bundle at hand has a number for. */
typedef struct RecentSymbol {
        uint64_t address; /* 0: none */
        uint64_t number;
} RecentSymbol;

typedef struct KernelSymbols {
        SymbolTable *table; /* NULL: being read for the first time, or not to be had */
        SymbolLoad *load;   /* NULL: nothing is being read */
        bool misses;        /* an address was unknown since the last bundle */
        const KernelSymbol *used[KERNEL_SYMBOLS_USED_MAX];
        size_t n_used;
        /* By a hash of the address: events come from few places, and each search is a dozen cache misses. */
        RecentSymbol recent[1 << KERNEL_SYMBOLS_RECENT_BITS];
} KernelSymbols;

/* Takes ownership of the text, and changes it. 0; -ENODATA if the kernel hides the addresses; -ENOMEM. */
int kernel_symbols_new(KernelSymbols **ret, char *text);
/* Whether kallsyms has addresses for us: 0; -ENODATA when the kernel hides them; another negative errno. */
int kernel_symbols_check(void);
/* Begins to read kallsyms, or shares what another recording has. 0; -ENODATA when the kernel hides the addresses;
 * another negative errno. */
int kernel_symbols_load(KernelSymbols **ret);
KernelSymbols *kernel_symbols_free(KernelSymbols *symbols);
DEFINE_CLEANUP(KernelSymbols *, kernel_symbols_free)

/* False: the first address would wait for them. */
bool kernel_symbols_are_read(const KernelSymbols *symbols);

/* How many there are; 0 while they are being read. */
static inline size_t kernel_symbols_count(const KernelSymbols *symbols) {
        return symbols->table ? symbols->table->n_symbols : 0;
}

/* The function that an address is in; NULL: none is known. Valid until the symbols are freed, unless they are encoded.
 * */
const KernelSymbol *kernel_symbols_find(KernelSymbols *symbols, uint64_t address);

/* The number of the function that `address` is in, or `address` itself. */
uint64_t kernel_symbols_use(KernelSymbols *symbols, uint64_t address);

/* Appends what a TracePacket needs for the numbers given out, if any, and forgets them. */
void kernel_symbols_encode(KernelSymbols *symbols, WireWriter *wire);
