/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Owners are a short list: users with a live session, producer or connection. One is made with its first charge
 * and goes with its last, so a user who is not there costs nothing.
 */

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "core/model/quota.h"
#include "core/model/service-limits.h"

/* Shares of what all users may have together. */
#define KEPT_FOR_ROOT_SHARE  8
#define KEPT_FOR_FIRST_SHARE 4

struct Owner {
        List link;
        uid_t user;
        size_t n_charges;
        uint64_t used[_QUOTA_SLOT_N];
};

/* Either a number, or a share of the machine's memory and a minimum. */
typedef struct Amount {
        uint64_t n, ram_share;
} Amount;

typedef struct Limit {
        Amount user, total, first;
        const char *name, *total_name;
        const char *what, *remedy;
        uint64_t unit;    /* what one unit of the shown number stands for; 0: one */
        bool spares_root; /* only the limit of all together holds for root */
} Limit;

#define COUNT(n) \
        { (n), 0 }
#define MEMORY(of) \
        { of##_MIN, of##_SHARE }
#define NAMES(of) .name = #of "_PER_USER_MAX", .total_name = #of "_MAX"

static const Limit limits[_QUOTA_SLOT_N] = {
        [QUOTA_SESSIONS] = { COUNT(SERVICE_SESSIONS_PER_USER_MAX),
                             COUNT(SERVICE_SESSIONS_MAX),
                             COUNT(SERVICE_SESSIONS_FIRST),
                             NAMES(SERVICE_SESSIONS),
                             .what = N_("sessions"),
                             .remedy = N_("free one first") },
        [QUOTA_PRODUCERS] = { COUNT(SERVICE_PRODUCERS_PER_USER_MAX),
                              COUNT(SERVICE_PRODUCERS_MAX),
                              COUNT(SERVICE_PRODUCERS_FIRST),
                              NAMES(SERVICE_PRODUCERS),
                              .what = N_("producers"),
                              .remedy = N_("end a program that is recorded") },
        [QUOTA_CONNECTIONS] = { COUNT(SERVICE_CONNECTIONS_PER_USER_MAX),
                                COUNT(SERVICE_CONNECTIONS_MAX),
                                COUNT(SERVICE_CONNECTIONS_FIRST),
                                NAMES(SERVICE_CONNECTIONS),
                                .spares_root = true,
                                .what = N_("connections"),
                                .remedy = N_("close some") },
        [QUOTA_BUFFER_BYTES] = { MEMORY(SERVICE_BUFFER_BYTES_PER_USER),
                                 MEMORY(SERVICE_BUFFER_BYTES_TOTAL),
                                 MEMORY(SERVICE_BUFFER_BYTES_FIRST),
                                 NAMES(SERVICE_BUFFER_BYTES),
                                 .what = N_("KiB of buffers"),
                                 .unit = 1024,
                                 .remedy = N_("use smaller ones, or free a session") },
        [QUOTA_MEMORY_BYTES] = { MEMORY(SERVICE_MEMORY_BYTES_PER_USER),
                                 MEMORY(SERVICE_MEMORY_BYTES_TOTAL),
                                 MEMORY(SERVICE_MEMORY_BYTES_FIRST),
                                 NAMES(SERVICE_MEMORY_BYTES),
                                 .what = N_("KiB of memory shared with programs"),
                                 .unit = 1024,
                                 .remedy = N_(
                                         "record fewer programs, or with smaller shared memory") },
        [QUOTA_DESCRIPTOR_BYTES] = { MEMORY(SERVICE_DESCRIPTOR_BYTES_PER_USER),
                                     MEMORY(SERVICE_DESCRIPTOR_BYTES_TOTAL),
                                     MEMORY(SERVICE_DESCRIPTOR_BYTES_FIRST),
                                     NAMES(SERVICE_DESCRIPTOR_BYTES),
                                     .what = N_("KiB of descriptions of data sources"),
                                     .unit = 1024,
                                     .remedy = N_("offer fewer") },
        [QUOTA_MESSAGE_BYTES] = { MEMORY(SERVICE_MESSAGE_BYTES_PER_USER),
                                  MEMORY(SERVICE_MESSAGE_BYTES_TOTAL),
                                  MEMORY(SERVICE_MESSAGE_BYTES_FIRST),
                                  NAMES(SERVICE_MESSAGE_BYTES),
                                  .spares_root = true,
                                  .what = N_("KiB of messages that wait"),
                                  .unit = 1024,
                                  .remedy = N_("read the replies") },
        [QUOTA_CALL_BYTES] = { MEMORY(SERVICE_CALL_BYTES_PER_USER),
                               MEMORY(SERVICE_CALL_BYTES_TOTAL),
                               MEMORY(SERVICE_CALL_BYTES_FIRST),
                               NAMES(SERVICE_CALL_BYTES),
                               .spares_root = true,
                               .what = N_("KiB of calls to programs"),
                               .unit = 1024,
                               .remedy = N_("end a program that does not answer") },
        [QUOTA_RECENT_SESSIONS] = { COUNT(SERVICE_RECENT_SESSIONS_PER_USER_MAX),
                                    COUNT(SERVICE_RECENT_SESSIONS_MAX),
                                    COUNT(SERVICE_RECENT_SESSIONS_FIRST),
                                    NAMES(SERVICE_RECENT_SESSIONS),
                                    .what = N_(
                                            "sessions with enable_extra_guardrails within 300 s"),
                                    .remedy = N_("wait") },
};

static uint64_t amount(const Quota *quota, const Amount *amount) {
        return amount->ram_share ? MAX(quota->ram_bytes / amount->ram_share, amount->n) : amount->n;
}

void quota_init(Quota *quota, uint64_t ram_bytes) {
        *quota = (Quota){ .ram_bytes = ram_bytes };
        list_init(&quota->owners);
}

void quota_deinit(Quota *quota) {
        assert(list_is_empty(&quota->owners));
        for (size_t i = 0; i < _QUOTA_SLOT_N; i++)
                assert(quota->used[i] == 0);
}

static Owner *quota_find(const Quota *quota, uid_t user) {
        Owner *owner;

        list_for_each (owner, &quota->owners, link)
                if (owner->user == user)
                        return owner;
        return NULL;
}

static Owner *quota_add(Quota *quota, uid_t user) {
        Owner *owner = calloc(1, sizeof(*owner));

        if (!owner)
                return NULL;
        owner->user = user;
        list_append(&quota->owners, &owner->link);
        return owner;
}

uint64_t quota_user_max(const Quota *quota, QuotaSlot slot) {
        return amount(quota, &limits[slot].user);
}

uint64_t quota_total_max(const Quota *quota, QuotaSlot slot) {
        return amount(quota, &limits[slot].total);
}

uint64_t quota_first(const Quota *quota, QuotaSlot slot) {
        return amount(quota, &limits[slot].first);
}

/* What all users may have before this one is refused more than it has then. */
static uint64_t quota_total_for(const Quota *quota, uid_t user, QuotaSlot slot, uint64_t n_then) {
        const uint64_t total = quota_total_max(quota, slot);

        if (user == 0)
                return total;
        if (n_then <= quota_first(quota, slot))
                return total - total / KEPT_FOR_ROOT_SHARE;
        return total - total / KEPT_FOR_ROOT_SHARE - total / KEPT_FOR_FIRST_SHARE;
}

static bool
quota_exceeds_user(const Quota *quota, uid_t user, QuotaSlot slot, uint64_t n, uint64_t *ret_then) {
        const Owner *owner = quota_find(quota, user);
        const uint64_t used = owner ? owner->used[slot] : 0;
        const bool is_spared = user == 0 && limits[slot].spares_root;

        return __builtin_add_overflow(used, n, ret_then) ||
               (*ret_then > quota_user_max(quota, slot) && !is_spared);
}

bool quota_has_room(const Quota *quota, uid_t user, QuotaSlot slot, uint64_t n) {
        uint64_t then, total_then;

        return n == 0 || (!quota_exceeds_user(quota, user, slot, n, &then) &&
                          !__builtin_add_overflow(quota->used[slot], n, &total_then) &&
                          total_then <= quota_total_for(quota, user, slot, then));
}

void quota_explain(const Quota *quota,
                   char ret[static QUOTA_WHY_BYTES],
                   uid_t user,
                   QuotaSlot slot,
                   uint64_t n) {
        const Limit *limit = &limits[slot];
        const uint64_t unit = limit->unit ?: 1;
        uint64_t then;

        if (quota_exceeds_user(quota, user, slot, n, &then))
                snprintf(ret,
                         QUOTA_WHY_BYTES,
                         N_("user %u has %llu %s; %llu more would be over the limit %s, %llu: %s"),
                         (unsigned)user,
                         (unsigned long long)((then - n) / unit),
                         limit->what,
                         (unsigned long long)(n / unit),
                         limit->name,
                         (unsigned long long)(quota_user_max(quota, slot) / unit),
                         limit->remedy);
        else
                snprintf(ret,
                         QUOTA_WHY_BYTES,
                         N_("all users together have nearly all %s that the limit %s, %llu, "
                            "allows; the "
                            "rest is kept for users with less than %llu, and for root: %s, or try "
                            "later"),
                         limit->what,
                         limit->total_name,
                         (unsigned long long)(quota_total_max(quota, slot) / unit),
                         (unsigned long long)(quota_first(quota, slot) / unit),
                         limit->remedy);
}

int quota_charge(Quota *quota, Charge *charge, uid_t user, QuotaSlot slot, uint64_t n) {
        Owner *owner;

        if (!quota_has_room(quota, user, slot, n))
                return QUOTA_E_EXCEEDED;
        owner = quota_find(quota, user) ?: quota_add(quota, user);
        if (!owner)
                return -ENOMEM;

        owner->n_charges++;
        owner->used[slot] += n;
        quota->used[slot] += n;
        *charge = (Charge){ .quota = quota, .owner = owner, .slot = slot, .n = n };
        return 0;
}

int charge_grow(Charge *charge, uint64_t n) {
        Quota *quota = charge->quota;

        if (!quota_has_room(quota, charge->owner->user, charge->slot, n))
                return QUOTA_E_EXCEEDED;
        charge->owner->used[charge->slot] += n;
        quota->used[charge->slot] += n;
        charge->n += n;
        return 0;
}

void charge_shrink(Charge *charge, uint64_t n) {
        assert(charge->n >= n);
        charge->owner->used[charge->slot] -= n;
        charge->quota->used[charge->slot] -= n;
        charge->n -= n;
}

void charge_deinit(Charge *charge) {
        Owner *owner = charge->owner;

        if (!owner)
                return;
        charge_shrink(charge, charge->n);
        assert(owner->n_charges > 0);
        if (--owner->n_charges == 0) {
                for (size_t i = 0; i < ARRAY_SIZE(owner->used); i++)
                        assert(owner->used[i] == 0);
                list_unlink(&owner->link);
                free(owner);
        }
        *charge = (Charge){};
}
