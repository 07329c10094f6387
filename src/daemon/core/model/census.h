/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Census: counts by user
 *
 * Users are told how many producers, sessions and the like they may see, never how many there are.
 * A user is counted while there is a producer or a session of theirs, and forgotten afterwards. The list is the
 * service's.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/model/service-info.h"
#include "shared/list.h"

typedef enum CensusWhat {
        CENSUS_PRODUCERS,
        CENSUS_PRODUCERS_SEEN, /* also those that are gone */
        CENSUS_SOURCES,
        CENSUS_SOURCES_SEEN,
        CENSUS_SESSIONS,
        CENSUS_BUFFERS,
        _CENSUS_N,
} CensusWhat;

typedef struct CensusRow {
        List link;
        uid_t uid;
        size_t n_members;
        uint64_t n[_CENSUS_N];
} CensusRow;

/* The user's row, for one more member: 0 or -ENOMEM. */
int census_join(CensusRow **ret, List *census, uid_t uid);
/* Returns NULL. The member takes back what it counted for itself. */
CensusRow *census_leave(CensusRow *row);

/* Counts what the viewer may see: their own and the system's producers and sources, and their own sessions and
 * buffers. */
uint64_t
census_count(const List *census, const ServiceInfo *info, const Identity *viewer, CensusWhat what);
