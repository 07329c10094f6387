/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Files of tracefs and /proc that are text. The first byte says which: printk_formats, an event's filter after a
 * refusal, available_events, kallsyms.
 */

#include "fuzz.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/instance-state.h"
#include "probes/ftrace/kernel-strings.h"
#include "probes/ftrace/kernel-symbols.h"

static void read_strings(char *text) {
        KernelStrings *strings;

        FUZZ_CHECK(kernel_strings_new(&strings, text) == 0);
        for (size_t i = 0; i < strings->n_strings; i++)
                FUZZ_CHECK(kernel_strings_find(strings, strings->strings[i].address));
        kernel_strings_free(strings);
}

static void read_filter(char *text) {
        free(filter_error(text));
        free(text);
}

static void read_events(char *text) {
        static char *patterns[] = { (char *)"*/*", (char *)"sched/*", (char *)"sched_swich" };
        EventSelection selection = {};

        FUZZ_CHECK(event_select(&selection, text, patterns, 3, true, NULL) == 0);
        for (size_t i = 0; i < selection.n_events; i++)
                FUZZ_CHECK(selection.events[i].text[selection.events[i].n_group] == '/');
        event_selection_deinit(&selection);
        free(text);
}

static void read_symbols(char *text) {
        KernelSymbols *symbols;

        if (kernel_symbols_new(&symbols, text) < 0)
                return;
        for (size_t i = 0; i < kernel_symbols_count(symbols); i++)
                (void)kernel_symbols_use(symbols, symbols->table->symbols[i].address + 1);
        kernel_symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static void (*const readers[])(char *) = {
                read_strings,
                read_filter,
                read_events,
                read_symbols,
        };
        FuzzInput input = { data, n_bytes };
        unsigned which = fuzz_take(&input) % (sizeof(readers) / sizeof(readers[0]));
        char *text = malloc(input.n_left + 1);

        if (!text)
                return 0;
        memcpy(text, input.at, input.n_left);
        text[input.n_left] = '\0';
        readers[which](text);
        return 0;
}
