/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Source index: the data sources of one config by their names
 *
 * A user's programs may offer 65,536 data sources, and a config name 256. To compare all of these with each other takes
 * a second, in which nobody else is served.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/model/service-limits.h"

typedef struct SourceIndex {
        size_t n;
        struct {
                const char *name; /* the config's */
                size_t at;        /* index in the config */
        } all[SESSION_SOURCES_MAX];
} SourceIndex;

/* To be sorted before anything is looked for. Sources beyond the limit are refused elsewhere. */
void source_index_add(SourceIndex *index, const char *name, size_t at);
void source_index_sort(SourceIndex *index);

/* The first entry of that name; index->n: no entry has it. */
size_t source_index_first(const SourceIndex *index, const char *name);
/* Whether the entry exists and has that name. */
bool source_index_is(const SourceIndex *index, size_t entry, const char *name);
