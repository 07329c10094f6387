/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Quota: what each user has made the service allocate
 *
 * An Owner is a uid with at least one charge. A Charge is what one object holds of one resource; it is embedded
 * in the object and given back by charge_deinit(), so that nothing can be freed and stay counted. Peers
 * never share a limit with another user's peers.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/list.h"

typedef enum QuotaSlot {
        QUOTA_SESSIONS,
        QUOTA_PRODUCERS,
        QUOTA_BUFFER_BYTES,
        QUOTA_MEMORY_BYTES,
        QUOTA_DESCRIPTOR_BYTES,
        QUOTA_RECENT_SESSIONS,
        _QUOTA_SLOT_N,
} QuotaSlot;

typedef struct Quota {
        List owners;
} Quota;

typedef struct Owner Owner;

typedef struct Charge {
        Owner *owner; /* NULL: nothing charged */
        QuotaSlot slot;
        uint64_t n;
} Charge;

enum {
        _QUOTA_E_SUCCESS,
        QUOTA_E_EXCEEDED,
};

void quota_init(Quota *quota);

/* Charges `n` to the uid. The charge must be empty. 0, QUOTA_E_EXCEEDED or -ENOMEM. */
int quota_charge(Quota *quota, Charge *charge, uid_t uid, QuotaSlot slot, uint64_t n);

/* Whether `n` more would be accepted now. */
bool quota_has_room(const Quota *quota, uid_t uid, QuotaSlot slot, uint64_t n);

/* What one user may have, and what to call it in an error: the name of the limit. */
uint64_t quota_limit(QuotaSlot slot);
const char *quota_limit_name(QuotaSlot slot);

/* Gives back; an empty charge is allowed. */
void charge_deinit(Charge *charge);
