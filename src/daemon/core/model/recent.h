/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recent: unattended sessions (enable_extra_guardrails) that began lately
 *
 * Remembered by user and name, also when they are gone, for SESSION_GUARDED_GAP_NS. Other users' do not count: a
 * name is its user's.
 */

#include "core/model/service.h"

typedef struct Recent {
        List link; /* service->recent */
        uint64_t began_at;
        uid_t uid;
        Charge charge;
        char name[];
} Recent;

/* How long ago such a session of that name began; UINT64_MAX: not lately. */
uint64_t recent_age_ns(const Service *service, uid_t uid, const char *name, uint64_t now);

/* Whether one of the user's can be forgotten. */
bool recent_has_old(const Service *service, uid_t uid, uint64_t now);

/* Forgets the old ones and remembers one more, charged to the user. Returns 0, QUOTA_E_EXCEEDED or -ENOMEM. */
int recent_new(Recent **ret,
               Service *service,
               uid_t uid,
               uid_t user,
               const char *name,
               uint64_t now);
Recent *recent_free(Recent *recent);
DEFINE_CLEANUP(Recent *, recent_free)
