/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel names: names of events, from the running kernel's symbols, which everybody may read */

#include <stdlib.h>
#include <string.h>

#include "client/kernel-names.h"
#include "shared/macro.h"

#define SYMBOLS_PATH "/proc/kallsyms"
#define SYMBOLS_MAX  4000000 /* lines; a kernel with all modules has some 300,000 */

static void add(GPtrArray *list, GHashTable *set, char *name) {
        if (g_hash_table_contains(set, name)) {
                g_free(name);
                return;
        }
        g_hash_table_add(set, name); /* which is the list's */
        g_ptr_array_add(list, name);
}

static void take_syscall(KernelNames *names, const char *symbol) {
        static const char *const prefixes[] = {
                "__do_sys_", "__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "sys_",
        };

        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
                if (g_str_has_prefix(symbol, prefixes[i])) {
                        const char *call = symbol + strlen(prefixes[i]);

                        add(names->events, names->is_event, g_strconcat("sys_enter_", call, NULL));
                        add(names->events, names->is_event, g_strconcat("sys_exit_", call, NULL));
                        return;
                }
}

static void take_symbol(KernelNames *names, const char *symbol) {
        static const char event[] = "__traceiter_", group[] = "str__",
                          group_end[] = "__trace_system_name";

        if (g_str_has_prefix(symbol, event))
                add(names->events, names->is_event, g_strdup(symbol + strlen(event)));
        else if (g_str_has_prefix(symbol, group) && g_str_has_suffix(symbol, group_end))
                add(names->groups,
                    names->is_group,
                    g_strndup(symbol + strlen(group),
                              strlen(symbol) - strlen(group) - strlen(group_end)));
        else
                take_syscall(names, symbol);
}

/* The groups that have no symbol of their own. */
static void add_nameless_groups(KernelNames *names) {
        static const char *const groups[] = { "syscalls", "ftrace" };

        for (size_t i = 0; names->groups->len > 0 && i < ARRAY_SIZE(groups); i++)
                add(names->groups, names->is_group, g_strdup(groups[i]));
}

/* "ADDRESS TYPE SYMBOL", and behind a tab the module. */
bool kernel_names_read_file(KernelNames *ret, FILE *symbols) {
        char *line = NULL;
        size_t n_line = 0, n_lines = 0;

        *ret = (KernelNames){
                .events = g_ptr_array_new_with_free_func(g_free),
                .groups = g_ptr_array_new_with_free_func(g_free),
                .is_event = g_hash_table_new(g_str_hash, g_str_equal),
                .is_group = g_hash_table_new(g_str_hash, g_str_equal),
        };
        while (n_lines++ < SYMBOLS_MAX && getline(&line, &n_line, symbols) > 0) {
                const char *type = strchr(line, ' ');

                line[strcspn(line, "\t\n")] = 0;
                if (type && strlen(type) > 3)
                        take_symbol(ret, type + 3);
        }
        free(line);
        add_nameless_groups(ret);
        if (ret->events->len > 0)
                return true;
        kernel_names_deinit(ret);
        return false;
}

bool kernel_names_read(KernelNames *ret) {
        FILE *file = fopen(SYMBOLS_PATH, "re");
        bool is_known;

        *ret = (KernelNames){ 0 };
        if (!file)
                return false;
        is_known = kernel_names_read_file(ret, file);
        fclose(file);
        return is_known;
}

void kernel_names_deinit(KernelNames *names) {
        g_clear_pointer(&names->is_event, g_hash_table_unref);
        g_clear_pointer(&names->is_group, g_hash_table_unref);
        g_clear_pointer(&names->events, g_ptr_array_unref);
        g_clear_pointer(&names->groups, g_ptr_array_unref);
}

bool kernel_names_has_event(const KernelNames *names, const char *event) {
        return g_hash_table_contains(names->is_event, event);
}

bool kernel_names_has_group(const KernelNames *names, const char *group) {
        g_autofree char *as_symbol = g_strdelimit(g_strdup(group), "-", '_');

        return g_hash_table_contains(names->is_group, as_symbol);
}
