/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel symbols: the names of functions, from /proc/kallsyms, and which of them a bundle has used */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "host/packet-writer.h"
#include "host/probe.h"
#include "probes/ftrace/kernel-symbols.h"
#include "shared/fd.h"

#define VISIBLE_LINES_MAX \
        20000 /* this early there is an address that is not zero, if we may see them */

enum {
        INTERNED_KERNEL_SYMBOLS = 26,
        INTERNED_IID = 1,
        INTERNED_STRING = 2,
};

/* A reading in progress. Its owner waits for the thread before it looks at table and result. */
struct SymbolLoad {
        pthread_t thread;
        atomic_bool is_done;
        SymbolTable *table;
        size_t n_modules; /* before it began */
        int result;
};

static SymbolTable *newest; /* borrowed: gone with its last owner. Of the probes' own thread */

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* "ffffffff81000000 T _stext", perhaps followed by a tab and "[module]". */
static void parse_line(KernelSymbol *ret, char *line) {
        char *at, type;

        ret->address = strtoull(line, &at, 16);
        type = *at == ' ' ? at[1] : '\0';
        ret->name = NULL;
        if (type == '\0' || at[2] != ' ')
                return;
        at += 3;
        at[strcspn(at, "\t ")] = '\0';
        if (strchr("tTwW", type))
                ret->name = at;
}

/* Of several names for one address, functions come first. Otherwise the kernel's order is kept. */
static int compare_symbols(const void *a, const void *b) {
        const KernelSymbol *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        if (!x->name != !y->name)
                return x->name ? -1 : 1;
        return x->name < y->name ? -1 : x->name > y->name;
}

static SymbolTable *table_unref(SymbolTable *table) {
        if (!table || --table->n_references > 0)
                return NULL;
        if (newest == table)
                newest = NULL;
        free(table->symbols);
        free(table->text);
        free(table);
        return NULL;
}

static void table_unrefp(SymbolTable **table) {
        table_unref(*table);
}

/* Takes ownership of the text. No other thread can notice any effect. */
static int table_new(SymbolTable **ret, char *text) {
        SymbolTable *table = calloc(1, sizeof(*table));
        char *line, *state = NULL;

        if (!table) {
                free(text);
                return -ENOMEM;
        }
        *ret = table;
        table->n_references = 1;
        table->text = text;
        table->symbols = calloc(count_lines(text) + 1, sizeof(*table->symbols));
        if (!table->symbols)
                return -ENOMEM;
        for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                parse_line(&table->symbols[table->n_symbols++], line);
        qsort(table->symbols, table->n_symbols, sizeof(*table->symbols), compare_symbols);
        /* With kptr_restrict, unprivileged readers see zeros. */
        if (table->n_symbols == 0 || table->symbols[table->n_symbols - 1].address == 0)
                return -ENODATA;
        return 0;
}

static size_t count_modules(void) {
        _cleanup_(freep) char *text = NULL;

        return fd_read_file(&text, NULL, AT_FDCWD, "/proc/modules", KERNEL_SYMBOLS_BYTES_MAX) == 0
                       ? count_lines(text)
                       : 0;
}

/*
 * Reading
 */

/* The thread that reads rings may have priority over other programs, and this one has inherited that. Names can
 * wait. */
static void give_way(void) {
        if (getpriority(PRIO_PROCESS, 0) < 0)
                (void)setpriority(PRIO_PROCESS, 0, 0);
}

static void *load_run(void *userdata) {
        SymbolLoad *load = userdata;
        SymbolTable *table = NULL;
        char *text;
        int r;

        give_way();
        r = fd_read_file(&text, NULL, AT_FDCWD, "/proc/kallsyms", KERNEL_SYMBOLS_BYTES_MAX);
        if (r == 0)
                r = table_new(&table, text);
        load->table = table;
        load->result = r;
        atomic_store_explicit(&load->is_done, true, memory_order_release);
        return NULL;
}

static int load_new(SymbolLoad **ret) {
        SymbolLoad *load = calloc(1, sizeof(*load));
        int r;

        if (!load)
                return -ENOMEM;
        load->n_modules = count_modules();
        r = pthread_create(&load->thread, NULL, load_run, load);
        if (r != 0) {
                free(load);
                return -r;
        }
        *ret = load;
        return 0;
}

/* Waits for the thread. Returns NULL if it could read nothing. */
static SymbolTable *load_finish(SymbolLoad *load) {
        SymbolTable *table;

        pthread_join(load->thread, NULL);
        table = load->table;
        if (load->result < 0)
                table = table_unref(table);
        if (table) {
                table->n_modules = load->n_modules;
                table->read_ns = probe_now_ns();
                newest = table;
        }
        free(load);
        return table;
}

/* Called between two bundles, because all of a bundle's numbers refer to one table of symbols, or before there is a
 * table. */
static void symbols_settle(KernelSymbols *symbols) {
        SymbolTable *table = load_finish(TAKE(symbols->load));

        if (!table)
                return;
        table_unref(symbols->table);
        symbols->table = table;
}

static bool load_is_done(const SymbolLoad *load) {
        return atomic_load_explicit(&load->is_done, memory_order_acquire);
}

bool kernel_symbols_are_read(const KernelSymbols *symbols) {
        return symbols->table || !symbols->load || load_is_done(symbols->load);
}

static void symbols_read_again(KernelSymbols *symbols) {
        symbols->misses = false;
        if (symbols->load || !symbols->table ||
            probe_now_ns() - symbols->table->read_ns < KERNEL_SYMBOLS_AGAIN_NS)
                return;
        if (count_modules() != symbols->table->n_modules)
                (void)load_new(&symbols->load);
        else
                symbols->table->read_ns = probe_now_ns(); /* what was read is still right */
}

/* The first addresses may really be zero: those of each CPU's own data. */
int kernel_symbols_check(void) {
        char text[4096], *line, *state = NULL;
        FILE *file = fopen("/proc/kallsyms", "re");
        int r = -ENODATA;

        if (!file)
                return -errno;
        for (size_t i = 0; r < 0 && i < VISIBLE_LINES_MAX; i++) {
                line = fgets(text, sizeof(text), file);
                if (!line)
                        break;
                if (strtoull(line, &state, 16) != 0)
                        r = 0;
        }
        fclose(file);
        return r;
}

int kernel_symbols_new(KernelSymbols **ret, char *text) {
        _cleanup_(table_unrefp) SymbolTable *table = NULL;
        KernelSymbols *symbols;
        int r;

        r = table_new(&table, text);
        if (r < 0)
                return r;
        symbols = calloc(1, sizeof(*symbols));
        if (!symbols)
                return -ENOMEM;
        symbols->table = TAKE(table);
        *ret = symbols;
        return 0;
}

int kernel_symbols_load(KernelSymbols **ret) {
        _cleanup_(kernel_symbols_freep) KernelSymbols *symbols = NULL;
        int r;

        r = kernel_symbols_check();
        if (r < 0)
                return r;
        symbols = calloc(1, sizeof(*symbols));
        if (!symbols)
                return -ENOMEM;
        if (newest && newest->n_modules == count_modules()) {
                symbols->table = newest;
                newest->n_references++;
        } else {
                r = load_new(&symbols->load);
                if (r < 0)
                        return r;
        }
        *ret = TAKE(symbols);
        return 0;
}

KernelSymbols *kernel_symbols_free(KernelSymbols *symbols) {
        if (!symbols)
                return NULL;
        if (symbols->load)
                table_unref(load_finish(symbols->load));
        table_unref(symbols->table);
        free(symbols);
        return NULL;
}

/* The first of the symbols at the greatest address that is not above this one. Returns NULL if that is data, or if
 * there is none. */
static const KernelSymbol *find_function(const SymbolTable *symbols, uint64_t address) {
        size_t low = 0, high = symbols->n_symbols;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (symbols->symbols[middle].address <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == 0 || low == symbols->n_symbols) /* nothing tells where the last symbol ends */
                return NULL;
        low--;
        while (low > 0 && symbols->symbols[low - 1].address == symbols->symbols[low].address)
                low--;
        return symbols->symbols[low].name ? &symbols->symbols[low] : NULL;
}

/* The number of a function in the current bundle; 0 if there are too many. */
static uint64_t symbol_number(KernelSymbols *symbols, const KernelSymbol *symbol) {
        for (size_t i = 0; i < symbols->n_used; i++)
                if (symbols->used[i] == symbol)
                        return i + 1;
        if (symbols->n_used == KERNEL_SYMBOLS_USED_MAX)
                return 0;
        symbols->used[symbols->n_used++] = symbol;
        return symbols->n_used;
}

static RecentSymbol *recent_symbol(KernelSymbols *symbols, uint64_t address) {
        return &symbols->recent[address * UINT64_C(0x9e3779b97f4a7c15) >>
                                (64 - KERNEL_SYMBOLS_RECENT_BITS)];
}

const KernelSymbol *kernel_symbols_find(KernelSymbols *symbols, uint64_t address) {
        if (UNLIKELY(symbols->load) && !symbols->table)
                symbols_settle(symbols);
        return symbols->table ? find_function(symbols->table, address) : NULL;
}

uint64_t kernel_symbols_use(KernelSymbols *symbols, uint64_t address) {
        RecentSymbol *recent = recent_symbol(symbols, address);
        const KernelSymbol *symbol;
        uint64_t number;

        if (LIKELY(recent->address == address && address != 0))
                return recent->number;
        if (UNLIKELY(symbols->load) && !symbols->table)
                symbols_settle(symbols);
        if (UNLIKELY(!symbols->table))
                return address;
        symbol = find_function(symbols->table, address);
        if (!symbol) {
                symbols->misses |= address >> 63; /* the kernel's half */
                return address;
        }
        number = symbol_number(symbols, symbol);
        if (number == 0)
                return address;
        *recent = (RecentSymbol){ address, number };
        return number;
}

static void encode_used(const KernelSymbols *symbols, WireWriter *wire) {
        size_t interned, symbol;

        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_STATE_CLEARED);
        interned = wire_begin(wire, PACKET_INTERNED_DATA);
        for (size_t i = 0; i < symbols->n_used; i++) {
                symbol = wire_begin(wire, INTERNED_KERNEL_SYMBOLS);
                wire_put_uint(wire, INTERNED_IID, i + 1);
                wire_put_string(wire, INTERNED_STRING, symbols->used[i]->name);
                wire_end(wire, symbol);
        }
        wire_end(wire, interned);
}

void kernel_symbols_encode(KernelSymbols *symbols, WireWriter *wire) {
        if (symbols->misses)
                symbols_read_again(symbols);
        if (symbols->n_used > 0) {
                encode_used(symbols, wire);
                memset(symbols->recent, 0, sizeof(symbols->recent));
        }
        symbols->n_used = 0;
        if (symbols->table && symbols->load && load_is_done(symbols->load))
                symbols_settle(symbols);
}
