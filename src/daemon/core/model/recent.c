/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Remembering the names of unattended sessions, for as long as the guardrail asks. */

#include <errno.h>

#include "core/model/recent.h"
#include "core/model/service-limits.h"

static bool recent_is_old(const Recent *recent, uint64_t now) {
        return now - recent->began_at >= SESSION_GUARDED_GAP_NS;
}

uint64_t recent_age_ns(const Service *service, uid_t uid, const char *name, uint64_t now) {
        const Recent *recent;

        list_for_each (recent, &service->recent, link)
                if (recent->uid == uid && streq(recent->name, name) && !recent_is_old(recent, now))
                        return now - recent->began_at;
        return UINT64_MAX;
}

bool recent_has_old(const Service *service, uid_t uid, uint64_t now) {
        const Recent *recent;

        list_for_each (recent, &service->recent, link)
                if (recent->uid == uid && recent_is_old(recent, now))
                        return true;
        return false;
}

static void service_forget_old(Service *service, uint64_t now) {
        Recent *recent;

        list_for_each (recent, &service->recent, link)
                if (recent_is_old(recent, now))
                        recent_free(recent);
}

int recent_new(Recent **ret,
               Service *service,
               uid_t uid,
               uid_t user,
               const char *name,
               uint64_t now) {
        Recent *recent;
        int r;

        service_forget_old(service, now);
        recent = calloc(1, sizeof(*recent) + strlen(name) + 1);
        if (!recent)
                return -ENOMEM;
        r = quota_charge(&service->quota, &recent->charge, user, QUOTA_RECENT_SESSIONS, 1);
        if (r) {
                free(recent);
                return r;
        }
        recent->uid = uid;
        recent->began_at = now;
        strcpy(recent->name, name);
        list_append(&service->recent, &recent->link);
        *ret = recent;
        return 0;
}

Recent *recent_free(Recent *recent) {
        if (!recent)
                return NULL;
        list_unlink(&recent->link);
        charge_deinit(&recent->charge);
        free(recent);
        return NULL;
}
