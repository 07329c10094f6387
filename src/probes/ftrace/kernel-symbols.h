/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel symbols: names of functions, from /proc/kallsyms, and which of them a bundle has used
 *
 * With symbolize_ksyms, events that hold the address of a function get a small number instead, and the bundle's packet
 * says which name it stands for (InternedData.kernel_symbols). The numbers begin anew with each packet, so that
 * each can be read alone. An address that is no function's stays what it is.
 */

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

typedef struct KernelSymbols {
        char *text;
        KernelSymbol *symbols; /* by address */
        size_t n_symbols;
        const KernelSymbol *used[KERNEL_SYMBOLS_USED_MAX];
        size_t n_used;
} KernelSymbols;

/* Takes the text, which it changes. 0; -ENODATA when the kernel hides the addresses; -ENOMEM. */
int kernel_symbols_new(KernelSymbols **ret, char *text);
KernelSymbols *kernel_symbols_free(KernelSymbols *symbols);
DEFINE_CLEANUP(KernelSymbols *, kernel_symbols_free)

/* The number of the function that `address` is in, or `address` itself. */
uint64_t kernel_symbols_use(KernelSymbols *symbols, uint64_t address);

/* Appends what a TracePacket needs for the numbers given out, if any, and forgets them. */
void kernel_symbols_encode(KernelSymbols *symbols, WireWriter *wire);
