/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf kernel: the kernel's part of a call stack */

#include <string.h>

#include "probes/perf/perf-kernel.h"
#include "shared/macro.h"

void perf_kernel_init(PerfKernel *kernel, StackModule module) {
        *kernel = (PerfKernel){ .module = module };
}

void perf_kernel_deinit(PerfKernel *kernel) {
        kernel->symbols = kernel_symbols_free(kernel->symbols);
}

int perf_kernel_read(PerfKernel *kernel) {
        return kernel_symbols_load(&kernel->symbols);
}

bool perf_kernel_is_reading(const PerfKernel *kernel) {
        return kernel->symbols && !kernel_symbols_are_read(kernel->symbols);
}

static const KernelSymbol *find(PerfKernel *kernel, uint64_t address) {
        KnownFunction *known = &kernel->known[address * UINT64_C(0x9e3779b97f4a7c15) >>
                                              (64 - PERF_KERNEL_KNOWN_BITS)];

        if (known->address != address)
                *known = (KnownFunction){ address, kernel_symbols_find(kernel->symbols, address) };
        return known->symbol;
}

void perf_kernel_name(PerfKernel *kernel, StackTable *stacks) {
        for (size_t i = 0; i < stacks->n_parts; i++) {
                StackPart *part = &stacks->parts[i];
                const KernelSymbol *symbol;

                if (part->module != &kernel->module || part->name)
                        continue;
                symbol = kernel->symbols ? find(kernel, part->address) : NULL;
                part->name = symbol ? symbol->name : "[unknown]";
                part->address = symbol ? symbol->address : 0;
        }
}

static bool is_among(const char *name, const char *const names[], size_t n_names) {
        const size_t n = strcspn(name, "."); /* a suffix that the compiler has added */

        for (size_t i = 0; i < n_names; i++)
                if (strlen(names[i]) == n && memcmp(name, names[i], n) == 0)
                        return true;
        return false;
}

bool perf_kernel_has_given_up(const PerfKernel *kernel, const StackTable *stacks) {
        static const char *const ends[] = { "begin_new_exec", "bprm_execve", "do_exit" };

        for (size_t i = 0; i < stacks->n_parts; i++)
                if (stacks->parts[i].module == &kernel->module &&
                    is_among(stacks->parts[i].name, ends, ARRAY_SIZE(ends)))
                        return true;
        return false;
}

void perf_kernel_leave_alone(const PerfKernel *kernel, StackTable *stacks) {
        while (stacks->n_parts > 0 && stacks->parts[stacks->n_parts - 1].module != &kernel->module)
                stacks->n_parts--;
}
