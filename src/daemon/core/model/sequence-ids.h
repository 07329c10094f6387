/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sequence ids of one session
 *
 * Gives each writer of each producer whose packets were read a number of its own, from 2 (1 is the
 * service). Small numbers, because one is in every packet. Embedded in a session; zero-initialised is empty.
 */

#include <stddef.h>
#include <stdint.h>

#include "core/model/quota.h"
#include "shared/bytes.h"

typedef struct SequenceIdsSlot {
        uint64_t key;
        uint32_t sequence; /* 0: empty */
} SequenceIdsSlot;

typedef struct SequenceIds {
        SequenceIdsSlot *slots;
        size_t n_slots; /* power of two, or 0 */
        size_t n;
        uint32_t n_before; /* given by the process before: these are others' */
        Charge charge;     /* of its memory; empty: nobody is charged */
} SequenceIds;

#define SEQUENCE_SERVICE 1 /* of the service's own packets */

enum {
        _SEQUENCE_IDS_E_SUCCESS,
        SEQUENCE_IDS_E_LIMIT, /* SESSION_SEQUENCES_MAX, or the user has no memory left */
};

/* Returns 0, SEQUENCE_IDS_E_LIMIT or -ENOMEM. */
int sequence_ids_get(SequenceIds *ids, uint64_t producer_id, uint16_t writer_id, uint32_t *ret);
/* Into an empty one, which may be charged for as much already: 0, -EDQUOT or -ENOMEM. */
int sequence_ids_copy(SequenceIds *ids, const SequenceIds *from);
uint64_t sequence_ids_bytes(const SequenceIds *ids);

/* As bytes for the process that comes after this one, SEQUENCE_IDS_ENTRY_BYTES each, and from them into an empty one.
 * 0, SEQUENCE_IDS_E_LIMIT, -EBADMSG or -ENOMEM. */
#define SEQUENCE_IDS_ENTRY_BYTES 12
int sequence_ids_put(const SequenceIds *ids, Bytes *out);
int sequence_ids_take(SequenceIds *ids, const uint8_t *data, size_t n_bytes);
/* A number that was given to a writer before. 0: none was. */
uint32_t sequence_ids_find(const SequenceIds *ids, uint64_t producer_id, uint16_t writer_id);
int sequence_ids_set(SequenceIds *ids, uint64_t producer_id, uint16_t writer_id, uint32_t sequence);
void sequence_ids_deinit(SequenceIds *ids);
