/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Symbolize: names for the functions in a trace
 *
 * A recording has addresses in files, because looking up names costs time that nobody has while it runs. Names are
 * appended afterwards as ModuleSymbols packets, which is where Perfetto's tools put them, too. Nothing that was
 * recorded is ever rewritten.
 */

#include "symbols/symbol-search.h"
#include "trace/trace-store.h"

#define SYMBOL_PACKET_BYTES_MAX (256u << 10)

typedef struct SymbolCounts {
        uint64_t n_addresses; /* without a name */
        uint64_t n_named;     /* of them, now */
        uint64_t n_places;    /* without a name, or without a line if lines are wanted */
        uint64_t n_with_line; /* of them, now */
        bool lacks_tool;      /* tool for lines, if it is missing and would be of use */
        uint64_t n_modules;
        uint64_t n_modules_named; /* modules of which at least one function got a name */
} SymbolCounts;

/* Appends packets to a trace file, each with one call. Returns 0 or an errno. */
int symbolize(const TraceStore *store, SymbolSearch *search, int fd, SymbolCounts *counts);
