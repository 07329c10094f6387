/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Symbolize: names for the functions in a trace */

#include "symbols/symbolize.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/fd.h"
#include "symbols/demangle.h"
#include "symbols/source-lines.h"
#include "wire/wire-writer.h"

/* perfetto.protos.Trace, TracePacket, ModuleSymbols, AddressSymbols, Line */
enum { TRACE_PACKET = 1, PACKET_MODULE_SYMBOLS = 61 };
enum { SYMBOLS_PATH = 1, SYMBOLS_BUILD_ID = 2, SYMBOLS_ADDRESS = 3 };
enum { ADDRESS_ADDRESS = 1, ADDRESS_LINES = 2 };
enum { LINE_FUNCTION = 1, LINE_FILE = 2, LINE_NUMBER = 3 };

#define NAME_BYTES_MAX 4096u /* limit of a text that is written */
#define PATH_BYTES     8192u /* bytes of a module's message around its addresses */
#define LINE_BYTES     (2 * NAME_BYTES_MAX + 64)
#define LINES_MAX      24u /* of an address; any names fit into a packet */

static_assert(LINES_MAX * LINE_BYTES + PATH_BYTES < SYMBOL_PACKET_BYTES_MAX, "an address fits");

/* Frames without a name, or without a line. */
typedef struct Place {
        uint32_t mapping;
        bool is_named;
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

static void put_text(WireWriter *wire, uint32_t number, const char *text) {
        wire_put_bytes(wire, number, text, strnlen(text, NAME_BYTES_MAX));
}

static void put_line(WireWriter *wire, const SourceLine *line) {
        _cleanup_(freep) char *readable = line->function ? symbol_demangle(line->function) : NULL;
        size_t entry = wire_begin(wire, ADDRESS_LINES);

        if (line->function)
                put_text(wire, LINE_FUNCTION, readable ? readable : line->function);
        if (line->file)
                put_text(wire, LINE_FILE, line->file);
        if (line->line)
                wire_put_uint(wire, LINE_NUMBER, line->line);
        wire_end(wire, entry);
}

static void
put_address(Symbolizer *symbolizer, uint64_t address, const SourceLine *lines, size_t n) {
        WireWriter *wire = &symbolizer->wire;
        size_t entry = wire_begin(wire, SYMBOLS_ADDRESS);

        wire_put_uint(wire, ADDRESS_ADDRESS, address);
        for (size_t i = 0; i < n; i++)
                put_line(wire, &lines[i]);
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

/* What is known about a place, the innermost function first. The outermost one has the name from the symbol table,
 * because that is the only one without line numbers. */
static size_t describe_place(ModuleFunctions *functions,
                             SourceLines *lines,
                             const Place *place,
                             SourceLine ret[static SOURCE_LINES_MAX]) {
        const Function *function = function_table_find(&functions->table, place->address);
        size_t n = source_lines_find(lines, place->address, ret);

        if (n == 0) {
                ret[0] = (SourceLine){ .function = function ? function->name : NULL };
                return function && !place->is_named ? 1 : 0;
        }
        if (function)
                ret[n - 1].function = function->name;
        if (!ret[n - 1].function)
                return 0;
        return MIN(n, (size_t)LINES_MAX);
}

static void name_place(Symbolizer *symbolizer,
                       const char *path,
                       const BuildId *build_id,
                       const Place *place,
                       const SourceLine *lines,
                       size_t n) {
        if (symbolizer->is_open &&
            SYMBOL_PACKET_BYTES_MAX - wire_writer_size(&symbolizer->wire) < n * LINE_BYTES)
                packet_end(symbolizer);
        if (!symbolizer->is_open)
                packet_begin(symbolizer, path, build_id);
        put_address(symbolizer, place->address, lines, n);
        symbolizer->counts->n_named += !place->is_named;
        symbolizer->counts->n_with_line += lines[0].file != NULL;
}

/* Returns none without debug information, or without the tool. */
static void load_lines(SourceLines *ret,
                       SymbolSearch *search,
                       const ModuleFunctions *functions,
                       const Place *places,
                       size_t n) {
        _cleanup_(freep) uint64_t *addresses = NULL;

        *ret = (SourceLines){ 0 };
        if (!search->wants_lines || search->lacks_tool || functions->lines_fd < 0)
                return;
        addresses = reallocarray(NULL, n, sizeof(*addresses));
        for (size_t i = 0; addresses && i < n; i++)
                addresses[i] = places[i].address;
        if (addresses)
                search->lacks_tool =
                        source_lines_load(ret, functions->lines_fd, addresses, n) == -ENOENT;
}

static void name_module(Symbolizer *symbolizer, const Place *places, size_t n) {
        const TraceTable *mappings = &symbolizer->store->tables[TRACE_TABLE_MAPPING];
        const TracePool *pool = &symbolizer->store->pool;
        const uint32_t row = places[0].mapping;
        const char *path = trace_pool_text(pool, trace_table_get(mappings, MAPPED_NAME, row));
        const uint64_t n_before = symbolizer->counts->n_named;
        ModuleFunctions functions;
        SourceLine found[SOURCE_LINES_MAX];
        SourceLines lines;
        BuildId build_id;

        symbolizer->counts->n_modules++;
        parse_build_id(&build_id,
                       trace_pool_text(pool, trace_table_get(mappings, MAPPED_BUILD_ID, row)));
        if (!path)
                return;
        module_functions_load(&functions, symbolizer->search, path, &build_id);
        load_lines(&lines, symbolizer->search, &functions, places, n);
        for (size_t i = 0; i < n; i++) {
                size_t n_found = describe_place(&functions, &lines, &places[i], found);

                if (n_found > 0)
                        name_place(symbolizer, path, &build_id, &places[i], found, n_found);
        }
        packet_end(symbolizer);
        source_lines_deinit(&lines);
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

static bool is_named(const TraceStore *store, uint32_t frame) {
        return trace_table_get(&store->tables[TRACE_TABLE_FRAME], FRAME_SYMBOL_SET, frame) !=
               TRACE_NONE;
}

/* Where nothing is inlined, one row is enough; otherwise all rows have lines. */
static bool has_line(const TraceStore *store, uint32_t frame) {
        const uint32_t set =
                trace_table_get(&store->tables[TRACE_TABLE_FRAME], FRAME_SYMBOL_SET, frame);

        return trace_table_get(&store->tables[TRACE_TABLE_SYMBOL], SYMBOL_FILE, set) != 0;
}

/* Without a build id, the file on disk may differ from the one that was recorded. */
static bool can_have_name(const TraceStore *store, uint32_t frame, bool wants_lines) {
        const TraceTable *frames = &store->tables[TRACE_TABLE_FRAME];
        const uint32_t mapping = trace_table_get(frames, FRAME_MAPPING_ID, frame);

        return trace_table_get(frames, FRAME_NAME, frame) == 0 &&
               (!is_named(store, frame) || (wants_lines && !has_line(store, frame))) &&
               mapping != TRACE_NONE &&
               trace_table_get(&store->tables[TRACE_TABLE_MAPPING], MAPPED_BUILD_ID, mapping) != 0;
}

/* All modules in order; malloc'ed. */
static Place *collect_places(const TraceStore *store, bool wants_lines, size_t *ret_n) {
        const TraceTable *frames = &store->tables[TRACE_TABLE_FRAME];
        Place *places = reallocarray(NULL, frames->n + 1, sizeof(*places));
        size_t n = 0;

        for (uint32_t row = 0; places && row < frames->n; row++)
                if (can_have_name(store, row, wants_lines))
                        places[n++] = (Place){
                                .mapping = trace_table_get(frames, FRAME_MAPPING_ID, row),
                                .is_named = is_named(store, row),
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

        places = collect_places(store, search->wants_lines, &n);
        if (!places || !memory)
                return -ENOMEM;
        symbolizer.memory = memory;
        counts->n_places = n;
        for (size_t i = 0; i < n; i++)
                counts->n_addresses += !places[i].is_named;
        for (size_t i = 0; i < n && !symbolizer.error; i += n_module) {
                for (n_module = 1; i + n_module < n; n_module++)
                        if (places[i + n_module].mapping != places[i].mapping)
                                break;
                name_module(&symbolizer, &places[i], n_module);
        }
        counts->lacks_tool = search->lacks_tool;
        return symbolizer.error;
}
