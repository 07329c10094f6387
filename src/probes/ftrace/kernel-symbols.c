/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/kernel-symbols.h"
#include "probes/packet-writer.h"

enum {
        INTERNED_KERNEL_SYMBOLS = 26,
        INTERNED_IID = 1,
        INTERNED_STRING = 2,
};

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* "ffffffff81000000 T _stext" or with a tab and "[module]" behind. */
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

/* Of several names of one address the functions come first, and stay in the kernel's order. */
static int compare_symbols(const void *a, const void *b) {
        const KernelSymbol *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        if (!x->name != !y->name)
                return x->name ? -1 : 1;
        return x->name < y->name ? -1 : x->name > y->name;
}

int kernel_symbols_new(KernelSymbols **ret, char *text) {
        _cleanup_(kernel_symbols_freep) KernelSymbols *symbols = calloc(1, sizeof(*symbols));
        char *line, *state = NULL;

        if (!symbols) {
                free(text);
                return -ENOMEM;
        }
        symbols->text = text;
        symbols->symbols = calloc(count_lines(text) + 1, sizeof(*symbols->symbols));
        if (!symbols->symbols)
                return -ENOMEM;
        for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                parse_line(&symbols->symbols[symbols->n_symbols++], line);
        qsort(symbols->symbols, symbols->n_symbols, sizeof(*symbols->symbols), compare_symbols);
        /* kptr_restrict shows zeros to who may not know. */
        if (symbols->n_symbols == 0 || symbols->symbols[symbols->n_symbols - 1].address == 0)
                return -ENODATA;
        *ret = TAKE(symbols);
        return 0;
}

KernelSymbols *kernel_symbols_free(KernelSymbols *symbols) {
        if (!symbols)
                return NULL;
        free(symbols->symbols);
        free(symbols->text);
        free(symbols);
        return NULL;
}

/* The first of the symbols at the greatest address that is not above; NULL when that is data, or nothing. */
static const KernelSymbol *find_function(const KernelSymbols *symbols, uint64_t address) {
        size_t low = 0, high = symbols->n_symbols;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (symbols->symbols[middle].address <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == 0 || low == symbols->n_symbols) /* nothing says where the last one ends */
                return NULL;
        low--;
        while (low > 0 && symbols->symbols[low - 1].address == symbols->symbols[low].address)
                low--;
        return symbols->symbols[low].name ? &symbols->symbols[low] : NULL;
}

uint64_t kernel_symbols_use(KernelSymbols *symbols, uint64_t address) {
        const KernelSymbol *symbol = find_function(symbols, address);

        if (!symbol)
                return address;
        for (size_t i = 0; i < symbols->n_used; i++)
                if (symbols->used[i] == symbol)
                        return i + 1;
        if (symbols->n_used == KERNEL_SYMBOLS_USED_MAX)
                return address;
        symbols->used[symbols->n_used++] = symbol;
        return symbols->n_used;
}

void kernel_symbols_encode(KernelSymbols *symbols, WireWriter *wire) {
        size_t interned, symbol;

        if (symbols->n_used == 0)
                return;
        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_STATE_CLEARED);
        interned = wire_begin(wire, PACKET_INTERNED_DATA);
        for (size_t i = 0; i < symbols->n_used; i++) {
                symbol = wire_begin(wire, INTERNED_KERNEL_SYMBOLS);
                wire_put_uint(wire, INTERNED_IID, i + 1);
                wire_put_string(wire, INTERNED_STRING, symbols->used[i]->name);
                wire_end(wire, symbol);
        }
        wire_end(wire, interned);
        symbols->n_used = 0;
}
