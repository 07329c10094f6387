/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "symbols/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/fd.h"
#include "symbols/demangle.h"
#include "wire/wire-writer.h"

/* perfetto.protos.Trace, TracePacket, ModuleSymbols, AddressSymbols, Line */
enum { TRACE_PACKET = 1, PACKET_MODULE_SYMBOLS = 61 };
enum { SYMBOLS_PATH = 1, SYMBOLS_BUILD_ID = 2, SYMBOLS_ADDRESS = 3 };
enum { ADDRESS_ADDRESS = 1, ADDRESS_LINES = 2, LINE_FUNCTION = 1 };

#define NAME_BYTES_MAX 4096u /* that is written of one */
#define ADDRESS_BYTES  (NAME_BYTES_MAX + 64)

/* A frame without a name. */
typedef struct Place {
        uint32_t mapping;
        uint64_t address;
} Place;

typedef struct Symbolizer {
        const TraceStore *store;
        SymbolSearch *search;
        SymbolCounts *counts;
        int fd;
        uint8_t *memory;
        WireWriter wire;
        size_t packet, symbols; /* being written */
        bool is_open;
        int error;
} Symbolizer;

/*
 * Packets
 */

static void packet_end(Symbolizer *symbolizer) {
        if (!symbolizer->is_open)
                return;
        wire_end(&symbolizer->wire, symbolizer->symbols);
        wire_end(&symbolizer->wire, symbolizer->packet);
        symbolizer->is_open = false;
        if (!symbolizer->error)
                symbolizer->error = wire_writer_failed(&symbolizer->wire)
                                            ? -E2BIG
                                            : fd_write_all(symbolizer->fd,
                                                           symbolizer->memory,
                                                           wire_writer_size(&symbolizer->wire));
}

static void packet_begin(Symbolizer *symbolizer, const char *path, const BuildId *build_id) {
        WireWriter *wire = &symbolizer->wire;

        wire_writer_init(wire, symbolizer->memory, SYMBOL_PACKET_BYTES_MAX);
        symbolizer->packet = wire_begin(wire, TRACE_PACKET);
        symbolizer->symbols = wire_begin(wire, PACKET_MODULE_SYMBOLS);
        wire_put_string(wire, SYMBOLS_PATH, path);
        wire_put_bytes(wire, SYMBOLS_BUILD_ID, build_id->bytes, build_id->n);
        symbolizer->is_open = true;
}

static void put_address(Symbolizer *symbolizer, uint64_t address, const char *name) {
        const size_t n = strnlen(name, NAME_BYTES_MAX);
        WireWriter *wire = &symbolizer->wire;
        size_t entry = wire_begin(wire, SYMBOLS_ADDRESS), line;

        wire_put_uint(wire, ADDRESS_ADDRESS, address);
        line = wire_begin(wire, ADDRESS_LINES);
        wire_put_bytes(wire, LINE_FUNCTION, name, n);
        wire_end(wire, line);
        wire_end(wire, entry);
}

/*
 * Modules
 */

static int digit_16(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void parse_build_id(BuildId *ret, const char *text) {
        *ret = (BuildId){ 0 };
        for (; text && ret->n < SYMBOL_BUILD_ID_MAX; text += 2) {
                const int high = digit_16(text[0]), low = high < 0 ? -1 : digit_16(text[1]);

                if (low < 0)
                        return;
                ret->bytes[ret->n++] = (uint8_t)(high << 4 | low);
        }
}

static void name_place(Symbolizer *symbolizer,
                       const char *path,
                       const BuildId *build_id,
                       uint64_t address,
                       const char *name) {
        _cleanup_(freep) char *readable = symbol_demangle(name);

        if (symbolizer->is_open &&
            SYMBOL_PACKET_BYTES_MAX - wire_writer_size(&symbolizer->wire) < ADDRESS_BYTES)
                packet_end(symbolizer);
        if (!symbolizer->is_open)
                packet_begin(symbolizer, path, build_id);
        put_address(symbolizer, address, readable ? readable : name);
        symbolizer->counts->n_named++;
}

static void name_module(Symbolizer *symbolizer, const Place *places, size_t n) {
        const TraceTable *mappings = &symbolizer->store->tables[TRACE_TABLE_MAPPING];
        const TracePool *pool = &symbolizer->store->pool;
        const uint32_t row = places[0].mapping;
        const char *path = trace_pool_text(pool, trace_table_get(mappings, MAPPED_NAME, row));
        const uint64_t n_before = symbolizer->counts->n_named;
        ModuleFunctions functions;
        const Function *function;
        BuildId build_id;

        symbolizer->counts->n_modules++;
        parse_build_id(&build_id,
                       trace_pool_text(pool, trace_table_get(mappings, MAPPED_BUILD_ID, row)));
        if (!path)
                return;
        module_functions_load(&functions, symbolizer->search, path, &build_id);
        for (size_t i = 0; i < n; i++) {
                function = function_table_find(&functions.table, places[i].address);
                if (function)
                        name_place(symbolizer, path, &build_id, places[i].address, function->name);
        }
        packet_end(symbolizer);
        module_functions_deinit(&functions);
        symbolizer->counts->n_modules_named += symbolizer->counts->n_named > n_before;
}

/*
 * Frames
 */

static int compare_places(const void *left, const void *right) {
        const Place *x = left, *y = right;

        if (x->mapping != y->mapping)
                return x->mapping < y->mapping ? -1 : 1;
        return x->address < y->address ? -1 : x->address > y->address;
}

/* Of what has no build id the file that there is may be another one than that which was recorded. */
static bool can_have_name(const TraceStore *store, uint32_t frame) {
        const TraceTable *frames = &store->tables[TRACE_TABLE_FRAME];
        const uint32_t mapping = trace_table_get(frames, FRAME_MAPPING_ID, frame);

        return trace_table_get(frames, FRAME_NAME, frame) == 0 &&
               trace_table_get(frames, FRAME_SYMBOL_SET, frame) == TRACE_NONE &&
               mapping != TRACE_NONE &&
               trace_table_get(&store->tables[TRACE_TABLE_MAPPING], MAPPED_BUILD_ID, mapping) != 0;
}

/* All of them, in the order of their modules; malloc'ed. */
static Place *collect_places(const TraceStore *store, size_t *ret_n) {
        const TraceTable *frames = &store->tables[TRACE_TABLE_FRAME];
        Place *places = reallocarray(NULL, frames->n + 1, sizeof(*places));
        size_t n = 0;

        for (uint32_t row = 0; places && row < frames->n; row++)
                if (can_have_name(store, row))
                        places[n++] = (Place){
                                .mapping = trace_table_get(frames, FRAME_MAPPING_ID, row),
                                .address = (uint64_t)trace_table_i64(frames, FRAME_REL_PC, row),
                        };
        if (places)
                qsort(places, n, sizeof(*places), compare_places);
        *ret_n = n;
        return places;
}

int symbolize(const TraceStore *store, SymbolSearch *search, int fd, SymbolCounts *counts) {
        Symbolizer symbolizer = { .store = store, .search = search, .fd = fd, .counts = counts };
        _cleanup_(freep) uint8_t *memory = malloc(SYMBOL_PACKET_BYTES_MAX);
        _cleanup_(freep) Place *places = NULL;
        size_t n, n_module;

        places = collect_places(store, &n);
        if (!places || !memory)
                return -ENOMEM;
        symbolizer.memory = memory;
        counts->n_addresses = n;
        for (size_t i = 0; i < n && !symbolizer.error; i += n_module) {
                for (n_module = 1; i + n_module < n; n_module++)
                        if (places[i + n_module].mapping != places[i].mapping)
                                break;
                name_module(&symbolizer, &places[i], n_module);
        }
        return symbolizer.error;
}
