/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel symbols: the names of functions, from /proc/kallsyms, and which of them a bundle has used
 *
 * With symbolize_ksyms, an event that holds the address of a function gets a small number instead, and the bundle's
 * packet says which name it stands for (InternedData.kernel_symbols). The numbers start over with each packet, so that
 * each packet can be read alone. An address that is in no function stays as it is.
 *
 * Reading kallsyms takes a tenth of a second, so a thread does it while the recording starts, and the first address
 * waits for it. All recordings of the process share what was read last. When an address of the kernel is unknown and
 * modules were loaded in the meantime, kallsyms is read again in the same way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "wire/wire-writer.h"

#define KERNEL_SYMBOLS_USED_MAX  256 /* different functions in a bundle; others stay addresses */
#define KERNEL_SYMBOLS_BYTES_MAX (256u << 20) /* of kallsyms, which usually has 5 MB */

typedef struct KernelSymbol {
        uint64_t address;
        const char *name; /* NULL: data, which only marks the end of the function before it */
} KernelSymbol;

#define KERNEL_SYMBOLS_AGAIN_NS UINT64_C(5000000000) /* at least this long between two readings */

/* The result of reading kallsyms once. */
typedef struct SymbolTable {
        unsigned n_references;
        char *text;
        KernelSymbol *symbols; /* by address */
        size_t n_symbols;
        size_t n_modules; /* modules that were loaded at that time */
        uint64_t read_ns;
} SymbolTable;

typedef struct SymbolLoad SymbolLoad;

#define KERNEL_SYMBOLS_RECENT_BITS 6

/* An address for which the current bundle has a number. */
typedef struct RecentSymbol {
        uint64_t address; /* 0: none */
        uint64_t number;
} RecentSymbol;

typedef struct KernelSymbols {
        SymbolTable *table; /* NULL: being read for the first time, or not available */
        SymbolLoad *load;   /* NULL: nobody is reading */
        bool misses;        /* some address has been unknown since the last bundle */
        const KernelSymbol *used[KERNEL_SYMBOLS_USED_MAX];
        size_t n_used;
        /* By a hash of the address: events come from few places, and each search costs a dozen cache misses. */
        RecentSymbol recent[1 << KERNEL_SYMBOLS_RECENT_BITS];
} KernelSymbols;

/* Takes ownership of the text, and changes it. Returns 0, -ENODATA if the kernel hides the addresses, or -ENOMEM. */
int kernel_symbols_new(KernelSymbols **ret, char *text);
/* Whether kallsyms shows us addresses. Returns 0, -ENODATA if the kernel hides them, or another negative errno. */
int kernel_symbols_check(void);
/* Begins to read kallsyms, or shares what another recording has read. Returns 0, -ENODATA if the kernel hides the
 * addresses, or another negative errno. */
int kernel_symbols_load(KernelSymbols **ret);
KernelSymbols *kernel_symbols_free(KernelSymbols *symbols);
DEFINE_CLEANUP(KernelSymbols *, kernel_symbols_free)

/* Returns false if the first address would wait for them. */
bool kernel_symbols_are_read(const KernelSymbols *symbols);

/* The number of symbols; 0 while they are being read. */
static inline size_t kernel_symbols_count(const KernelSymbols *symbols) {
        return symbols->table ? symbols->table->n_symbols : 0;
}

/* The function that contains an address. Returns NULL if none is known. Valid until the symbols are freed, unless
 * they are encoded. */
const KernelSymbol *kernel_symbols_find(KernelSymbols *symbols, uint64_t address);

/* The number of the function that `address` is in, or `address` itself. */
uint64_t kernel_symbols_use(KernelSymbols *symbols, uint64_t address);

/* Appends what a TracePacket needs for the numbers that were given out, if there are any, and forgets them. */
void kernel_symbols_encode(KernelSymbols *symbols, WireWriter *wire);
