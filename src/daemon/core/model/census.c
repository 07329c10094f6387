/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counting by user; the totals of what a viewer may see. */

#include <errno.h>
#include <stdlib.h>

#include "core/model/policy.h"
#include "core/model/service.h"

static CensusRow *census_find(const List *census, uid_t uid) {
        CensusRow *row;

        list_for_each (row, census, link)
                if (row->uid == uid)
                        return row;
        return NULL;
}

int census_join(CensusRow **ret, List *census, uid_t uid) {
        CensusRow *row = census_find(census, uid);

        if (!row) {
                row = calloc(1, sizeof(*row));
                if (!row)
                        return -ENOMEM;
                row->uid = uid;
                list_append(census, &row->link);
        }
        row->n_members++;
        *ret = row;
        return 0;
}

CensusRow *census_leave(CensusRow *row) {
        if (row && --row->n_members == 0) {
                list_unlink(&row->link);
                free(row);
        }
        return NULL;
}

static bool
is_counted(const ServiceInfo *info, const Identity *viewer, uid_t uid, CensusWhat what) {
        if (what == CENSUS_SESSIONS || what == CENSUS_BUFFERS)
                return viewer->uid == uid || policy_sees_all(info, viewer);
        return policy_may_see(info, viewer, uid);
}

uint64_t
census_count(const List *census, const ServiceInfo *info, const Identity *viewer, CensusWhat what) {
        const CensusRow *row;
        uint64_t n = 0;

        list_for_each (row, census, link)
                if (is_counted(info, viewer, row->uid, what))
                        n += row->n[what];
        return n;
}

uint64_t service_count_visible(const Service *service, const Identity *viewer, CensusWhat what) {
        return census_count(&service->census, &service->info, viewer, what);
}

size_t service_n_visible_sessions(const Service *service, const Identity *viewer) {
        return service_count_visible(service, viewer, CENSUS_SESSIONS);
}

size_t service_n_visible_producers(const Service *service, const Identity *viewer) {
        return service_count_visible(service, viewer, CENSUS_PRODUCERS);
}
