/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Source index: the data sources of one config by their names */

#include <stdlib.h>
#include <string.h>

#include "core/model/source-index.h"
#include "shared/macro.h"

void source_index_add(SourceIndex *index, const char *name, size_t at) {
        if (index->n == ARRAY_SIZE(index->all))
                return;
        index->all[index->n].name = name;
        index->all[index->n].at = at;
        index->n++;
}

/* The name comes first in an entry. */
static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void source_index_sort(SourceIndex *index) {
        qsort(index->all, index->n, sizeof(index->all[0]), compare_names);
}

size_t source_index_first(const SourceIndex *index, const char *name) {
        size_t low = 0, high = index->n;

        while (low < high) {
                const size_t middle = low + (high - low) / 2;

                if (strcmp(index->all[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return source_index_is(index, low, name) ? low : index->n;
}

bool source_index_is(const SourceIndex *index, size_t entry, const char *name) {
        return entry < index->n && streq(index->all[entry].name, name);
}
