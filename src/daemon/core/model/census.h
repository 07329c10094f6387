/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Census: how much there is of each user
 *
 * What users are told of producers, sessions and the like is how many of them they may see, never how many there are.
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
/* NULL. What the member counted for is for it to take back. */
CensusRow *census_leave(CensusRow *row);

/* Of those whom the viewer may see: of producers and sources the own ones and the system's, of sessions and buffers
 * the own ones. */
uint64_t
census_count(const List *census, const ServiceInfo *info, const Identity *viewer, CensusWhat what);
