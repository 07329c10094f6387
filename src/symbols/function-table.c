/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Function table: which function an address is in */

#include "symbols/function-table.h"

#include <stdlib.h>
#include <string.h>

#include "shared/bisect.h"
#include "shared/macro.h"

/* Functions may overlap, if rarely: so many candidates before an address are examined. */
#define STEPS_MAX 64

void function_table_deinit(FunctionTable *table) {
        free(table->functions);
        *table = (FunctionTable){ 0 };
}

bool function_table_add(FunctionTable *table, const Function *function) {
        if (table->n == FUNCTIONS_MAX) {
                table->n_refused++;
                return false;
        }
        if (table->n == table->n_allocated) {
                const size_t n = table->n_allocated * 2 + 1024;
                Function *more = reallocarray(table->functions, n, sizeof(*more));

                if (!more)
                        return false;
                table->functions = more;
                table->n_allocated = n;
        }
        table->functions[table->n++] = *function;
        table->is_sorted = false;
        return true;
}

static size_t n_underscores(const char *name) {
        return strspn(name, "_");
}

static int compare_numbers(uint64_t x, uint64_t y) {
        return x < y ? -1 : x > y;
}

/* By address; of several names for one address, the best comes last. */
static int compare(const void *left, const void *right) {
        const Function *x = left, *y = right;
        int r = compare_numbers(x->start, y->start);

        if (r == 0)
                r = compare_numbers(x->has_size, y->has_size);
        if (r == 0)
                r = compare_numbers(x->rank, y->rank);
        if (r == 0) /* internal names begin with underscores, unless they are mangled */
                r = compare_numbers(n_underscores(y->name), n_underscores(x->name));
        if (r == 0)
                r = compare_numbers(strlen(y->name), strlen(x->name));
        return r ? r : strcmp(y->name, x->name);
}

const Function *function_table_find(FunctionTable *table, uint64_t address) {
        size_t n;

        if (!table->is_sorted && table->n > 0)
                qsort(table->functions, table->n, sizeof(*table->functions), compare);
        table->is_sorted = true;
        n = bisect(table->functions, table->n, start, address);
        for (size_t i = n; i > 0 && n - i < STEPS_MAX; i--) {
                const Function *function = &table->functions[i - 1];
                bool is_nearest = function->start == table->functions[n - 1].start;

                if (address < function->end && (function->has_size || is_nearest))
                        return function;
        }
        return NULL;
}
