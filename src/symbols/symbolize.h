/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Symbolize: names for the functions in a trace
 *
 * A recording has addresses in files, because to look names up costs time that nobody has while it runs. Afterwards
 * the names go behind it as ModuleSymbols packets, which is where Perfetto's tools put them, too. What was recorded is
 * never written again.
 */

#include "symbols/symbol-search.h"
#include "trace/trace-store.h"

#define SYMBOL_PACKET_BYTES_MAX (256u << 10)

typedef struct SymbolCounts {
        uint64_t n_addresses; /* that have no name */
        uint64_t n_named;     /* of them, now */
        uint64_t n_places;    /* that have no name, or no line where these are wanted */
        uint64_t n_with_line; /* of them, now */
        bool lacks_tool;      /* for lines, which were wanted and could have been there */
        uint64_t n_modules;
        uint64_t n_modules_named; /* at least one function of them */
} SymbolCounts;

/* Writes packets of a trace file to a descriptor, each with one call. 0 or an errno. */
int symbolize(const TraceStore *store, SymbolSearch *search, int fd, SymbolCounts *counts);
