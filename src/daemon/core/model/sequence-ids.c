/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Open addressing with linear probing; grows at half full; nothing is ever removed. Producer ids are far
 * below 2^48 (service_new_producer_id()), so that producer and writer fit one key.
 */

#include <errno.h>

#include "core/model/producer-info.h"
#include "core/model/sequence-ids.h"
#include "core/model/service-limits.h"

#define SLOTS_FIRST 64

static uint64_t key_of(uint64_t producer_id, uint16_t writer_id) {
        return producer_id << 16 | writer_id;
}

/* Fibonacci hashing: writer numbers are small and dense, and so are producers' where there is one user. */
static size_t key_hash(uint64_t key) {
        return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

/* Ends, as at least half of the slots are empty. */
static SequenceIdsSlot *slots_find(SequenceIdsSlot *slots, size_t n_slots, uint64_t key) {
        size_t i = key_hash(key) & (n_slots - 1);

        while (slots[i].sequence != 0 && slots[i].key != key)
                i = (i + 1) & (n_slots - 1);
        return &slots[i];
}

static int sequence_ids_grow(SequenceIds *ids) {
        size_t n_slots = ids->n_slots ? ids->n_slots * 2 : SLOTS_FIRST;
        SequenceIdsSlot *slots;

        if (ids->charge.owner &&
            charge_grow(&ids->charge, (n_slots - ids->n_slots) * sizeof(*slots)))
                return SEQUENCE_IDS_E_LIMIT;
        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM; /* the charge ends with the session */
        for (size_t i = 0; i < ids->n_slots; i++)
                if (ids->slots[i].sequence != 0)
                        *slots_find(slots, n_slots, ids->slots[i].key) = ids->slots[i];
        free(ids->slots);
        ids->slots = slots;
        ids->n_slots = n_slots;
        return 0;
}

int sequence_ids_get(SequenceIds *ids, uint64_t producer_id, uint16_t writer_id, uint32_t *ret) {
        const uint64_t key = key_of(producer_id, writer_id);
        SequenceIdsSlot *slot;
        int r;

        slot = ids->n_slots > 0 ? slots_find(ids->slots, ids->n_slots, key) : NULL;
        if (!slot || slot->sequence == 0) {
                if (ids->n >= SESSION_SEQUENCES_MAX)
                        return SEQUENCE_IDS_E_LIMIT;
                r = ids->n * 2 >= ids->n_slots ? sequence_ids_grow(ids) : 0;
                if (r)
                        return r;
                slot = slots_find(ids->slots, ids->n_slots, key);
                *slot = (SequenceIdsSlot){ .key = key,
                                           .sequence = SEQUENCE_SERVICE + ids->n_before +
                                                       (uint32_t)++ids->n };
        }
        *ret = slot->sequence;
        return 0;
}

int sequence_ids_copy(SequenceIds *ids, const SequenceIds *from) {
        const uint64_t n_bytes = sequence_ids_bytes(from);
        SequenceIdsSlot *slots = NULL;

        if (ids->charge.owner && n_bytes > ids->charge.n &&
            charge_grow(&ids->charge, n_bytes - ids->charge.n))
                return -EDQUOT;
        if (from->n_slots > 0) {
                slots = calloc(from->n_slots, sizeof(*slots));
                if (!slots)
                        return -ENOMEM;
                memcpy(slots, from->slots, from->n_slots * sizeof(*slots));
        }
        ids->slots = slots;
        ids->n_slots = from->n_slots;
        ids->n = from->n;
        ids->n_before = from->n_before;
        return 0;
}

int sequence_ids_put(const SequenceIds *ids, Bytes *out) {
        int r;

        r = bytes_reserve(out, ids->n * SEQUENCE_IDS_ENTRY_BYTES);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ids->n_slots; i++) {
                const SequenceIdsSlot *slot = &ids->slots[i];

                if (slot->sequence == 0)
                        continue;
                memcpy(out->data + out->n, &slot->key, sizeof(slot->key));
                memcpy(out->data + out->n + sizeof(slot->key),
                       &slot->sequence,
                       sizeof(slot->sequence));
                out->n += SEQUENCE_IDS_ENTRY_BYTES;
        }
        return 0;
}

uint32_t sequence_ids_find(const SequenceIds *ids, uint64_t producer_id, uint16_t writer_id) {
        return ids->n_slots > 0
                       ? slots_find(ids->slots, ids->n_slots, key_of(producer_id, writer_id))
                                 ->sequence
                       : 0;
}

int sequence_ids_set(SequenceIds *ids,
                     uint64_t producer_id,
                     uint16_t writer_id,
                     uint32_t sequence) {
        SequenceIdsSlot *slot;
        int r;

        if (ids->n >= SESSION_SEQUENCES_MAX)
                return SEQUENCE_IDS_E_LIMIT;
        r = ids->n * 2 >= ids->n_slots ? sequence_ids_grow(ids) : 0;
        if (r)
                return r;
        slot = slots_find(ids->slots, ids->n_slots, key_of(producer_id, writer_id));
        ids->n += slot->sequence == 0;
        *slot = (SequenceIdsSlot){ .key = key_of(producer_id, writer_id), .sequence = sequence };
        return 0;
}

int sequence_ids_take(SequenceIds *ids, const uint8_t *data, size_t n_bytes) {
        int r = n_bytes % SEQUENCE_IDS_ENTRY_BYTES ? -EBADMSG : 0;

        for (; r == 0 && n_bytes > 0; n_bytes -= SEQUENCE_IDS_ENTRY_BYTES) {
                SequenceIdsSlot slot;

                memcpy(&slot.key, data, sizeof(slot.key));
                memcpy(&slot.sequence, data + sizeof(slot.key), sizeof(slot.sequence));
                data += SEQUENCE_IDS_ENTRY_BYTES;
                if (slot.sequence <= SEQUENCE_SERVICE || slot.sequence > UINT32_MAX / 2)
                        return -EBADMSG;
                r = sequence_ids_set(ids, slot.key >> 16, (uint16_t)slot.key, slot.sequence);
        }
        return r;
}

uint64_t sequence_ids_bytes(const SequenceIds *ids) {
        return ids->n_slots * sizeof(*ids->slots);
}

void sequence_ids_deinit(SequenceIds *ids) {
        free(ids->slots);
        charge_deinit(&ids->charge);
        *ids = (SequenceIds){};
}
