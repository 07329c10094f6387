/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Quota: what each user has made the service allocate
 *
 * A user is a login user: an account, with all the uids that are subordinate to it (ServiceOps.user_of). An Owner
 * is a user with at least one charge. A Charge is what one object holds of one resource; it is embedded in the
 * object and given back by charge_deinit(), so that nothing can be freed and stay counted.
 *
 * Peers never share a limit with another user's peers, but all users share the machine. So there is a limit for all
 * together, of which one part is kept for root, and one for users who have little: what each user gets first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/list.h"

typedef enum QuotaSlot {
        QUOTA_SESSIONS,
        QUOTA_PRODUCERS,
        QUOTA_CONNECTIONS,
        QUOTA_BUFFER_BYTES,
        QUOTA_MEMORY_BYTES,
        QUOTA_DESCRIPTOR_BYTES,
        QUOTA_MESSAGE_BYTES,
        QUOTA_CALL_BYTES,
        QUOTA_RECENT_SESSIONS,
        _QUOTA_SLOT_N,
} QuotaSlot;

typedef struct Quota {
        List owners;
        uint64_t ram_bytes;
        uint64_t used[_QUOTA_SLOT_N]; /* by all users */
} Quota;

typedef struct Owner Owner;

typedef struct Charge {
        Quota *quota;
        Owner *owner; /* NULL: nothing charged */
        QuotaSlot slot;
        uint64_t n;
} Charge;

enum {
        _QUOTA_E_SUCCESS,
        QUOTA_E_EXCEEDED,
};

/* The limits for a machine with this much memory. */
void quota_init(Quota *quota, uint64_t ram_bytes);
/* All charges have been given back. */
void quota_deinit(Quota *quota);

/* Charges `n` to the user. The charge must be empty. Returns 0, QUOTA_E_EXCEEDED or -ENOMEM. */
int quota_charge(Quota *quota, Charge *charge, uid_t user, QuotaSlot slot, uint64_t n);

/* Makes a charge larger, or smaller by no more than it is. Returns 0 or QUOTA_E_EXCEEDED. */
int charge_grow(Charge *charge, uint64_t n);
void charge_shrink(Charge *charge, uint64_t n);

/* Whether `n` more would be accepted now. */
bool quota_has_room(const Quota *quota, uid_t user, QuotaSlot slot, uint64_t n);

/* What one user may have, what all together may, and what each gets first. */
uint64_t quota_user_max(const Quota *quota, QuotaSlot slot);
uint64_t quota_total_max(const Quota *quota, QuotaSlot slot);
uint64_t quota_first(const Quota *quota, QuotaSlot slot);

/* Why there is no room for `n`: the limit, by its name, and what to do. */
#define QUOTA_WHY_BYTES 320
void quota_explain(const Quota *quota,
                   char ret[static QUOTA_WHY_BYTES],
                   uid_t user,
                   QuotaSlot slot,
                   uint64_t n);

/* Gives back; an empty charge is allowed. */
void charge_deinit(Charge *charge);
