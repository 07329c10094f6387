/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Owners are a short list: users with a live session or producer. One is made with its first charge
 * and goes with its last, so a uid that is not there costs nothing.
 */

#include <errno.h>

#include "core/quota.h"
#include "core/service.h"

struct Owner {
        List link;
        uid_t uid;
        size_t n_charges;
        uint64_t used[_QUOTA_SLOT_N];
};

static const struct {
        uint64_t max;
        const char *name;
} limits[_QUOTA_SLOT_N] = {
        [QUOTA_SESSIONS] = { SERVICE_SESSIONS_PER_UID_MAX, "SERVICE_SESSIONS_PER_UID_MAX" },
        [QUOTA_PRODUCERS] = { SERVICE_PRODUCERS_PER_UID_MAX, "SERVICE_PRODUCERS_PER_UID_MAX" },
        [QUOTA_BUFFER_BYTES] = { SERVICE_BUFFER_BYTES_PER_UID_MAX,
                                 "SERVICE_BUFFER_BYTES_PER_UID_MAX" },
        [QUOTA_MEMORY_BYTES] = { SERVICE_MEMORY_BYTES_PER_UID_MAX,
                                 "SERVICE_MEMORY_BYTES_PER_UID_MAX" },
        [QUOTA_DESCRIPTOR_BYTES] = { SERVICE_DESCRIPTOR_BYTES_PER_UID_MAX,
                                     "SERVICE_DESCRIPTOR_BYTES_PER_UID_MAX" },
        [QUOTA_RECENT_SESSIONS] = { SERVICE_RECENT_SESSIONS_PER_UID_MAX,
                                    "SERVICE_RECENT_SESSIONS_PER_UID_MAX" },
};

void quota_init(Quota *quota) {
        list_init(&quota->owners);
}

static Owner *quota_find(const Quota *quota, uid_t uid) {
        Owner *owner;

        list_for_each (owner, &quota->owners, link)
                if (owner->uid == uid)
                        return owner;
        return NULL;
}

static Owner *quota_add(Quota *quota, uid_t uid) {
        Owner *owner = calloc(1, sizeof(*owner));

        if (!owner)
                return NULL;
        owner->uid = uid;
        list_append(&quota->owners, &owner->link);
        return owner;
}

bool quota_has_room(const Quota *quota, uid_t uid, QuotaSlot slot, uint64_t n) {
        const Owner *owner = quota_find(quota, uid);
        uint64_t used = owner ? owner->used[slot] : 0;

        /* Never below zero: nothing was charged that went over the limit. */
        return n <= limits[slot].max - used;
}

int quota_charge(Quota *quota, Charge *charge, uid_t uid, QuotaSlot slot, uint64_t n) {
        Owner *owner;

        if (!quota_has_room(quota, uid, slot, n))
                return QUOTA_E_EXCEEDED;
        owner = quota_find(quota, uid) ?: quota_add(quota, uid);
        if (!owner)
                return -ENOMEM;

        owner->n_charges++;
        owner->used[slot] += n;
        *charge = (Charge){ .owner = owner, .slot = slot, .n = n };
        return 0;
}

uint64_t quota_limit(QuotaSlot slot) {
        return limits[slot].max;
}

const char *quota_limit_name(QuotaSlot slot) {
        return limits[slot].name;
}

void charge_deinit(Charge *charge) {
        Owner *owner = charge->owner;

        if (!owner)
                return;
        owner->used[charge->slot] -= charge->n;
        if (--owner->n_charges == 0) {
                list_unlink(&owner->link);
                free(owner);
        }
        *charge = (Charge){};
}
