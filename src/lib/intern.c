/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "lib/intern.h"

#define SLOTS_MIN 64

/* An odd constant with its bits well spread; eight bytes at a time, as most names are short. */
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t hash, uint64_t word) {
        hash = (hash ^ word) * MULTIPLIER;
        return hash ^ hash >> 29;
}

uint64_t intern_hash(uint64_t seed, const void *data, size_t n_bytes) {
        const uint8_t *at = data;
        uint64_t hash = mix(seed, n_bytes), word;

        for (; n_bytes >= sizeof(word); at += sizeof(word), n_bytes -= sizeof(word)) {
                memcpy(&word, at, sizeof(word));
                hash = mix(hash, word);
        }
        word = 0;
        if (n_bytes > 0)
                memcpy(&word, at, n_bytes);
        return mix(mix(hash, word), seed);
}

void intern_deinit(Intern *intern) {
        free(intern->entries);
        bytes_deinit(&intern->texts);
        *intern = (Intern){ 0 };
}

void intern_clear(Intern *intern) {
        if (intern->n_entries > 0)
                memset(intern->entries, 0, intern->n_slots * sizeof(*intern->entries));
        intern->n_entries = 0;
        bytes_clear(&intern->texts);
}

static InternEntry *find_slot(InternEntry *entries,
                              uint32_t n_slots,
                              const Bytes *texts,
                              uint64_t hash,
                              const void *data,
                              size_t n_bytes) {
        for (uint32_t i = (uint32_t)hash;; i++) {
                InternEntry *entry = &entries[i & (n_slots - 1)];

                if (entry->number == 0)
                        return entry;
                if (entry->hash == hash && entry->n_bytes == n_bytes &&
                    memcmp(texts->data + entry->offset, data, n_bytes) == 0)
                        return entry;
        }
}

/* At most half of the slots are ever used, so that there is always an empty one near. */
static int grow(Intern *intern) {
        uint32_t n_slots = intern->n_slots ? 2 * intern->n_slots : SLOTS_MIN;
        InternEntry *entries;

        if (2 * (intern->n_entries + 1) <= intern->n_slots)
                return 0;
        entries = calloc(n_slots, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        for (uint32_t i = 0; i < intern->n_slots; i++) {
                InternEntry *entry = &intern->entries[i];

                if (entry->number)
                        *find_slot(entries,
                                   n_slots,
                                   &intern->texts,
                                   entry->hash,
                                   intern->texts.data + entry->offset,
                                   entry->n_bytes) = *entry;
        }
        free(intern->entries);
        intern->entries = entries;
        intern->n_slots = n_slots;
        return 0;
}

static int add(Intern *intern, uint64_t hash, const void *data, size_t n_bytes, uint32_t *ret) {
        size_t offset = intern->texts.n;
        InternEntry *entry;

        if (intern->n_entries >= INTERN_ENTRIES_MAX || offset + n_bytes > INTERN_BYTES_MAX)
                return INTERN_E_FULL;
        if (grow(intern) < 0 || bytes_append(&intern->texts, data, n_bytes) < 0)
                return INTERN_E_FULL;
        entry = find_slot(intern->entries, intern->n_slots, &intern->texts, hash, data, n_bytes);
        *entry = (InternEntry){
                .hash = hash,
                .offset = (uint32_t)offset,
                .n_bytes = (uint32_t)n_bytes,
                .number = ++intern->n_entries,
        };
        *ret = entry->number;
        return INTERN_E_NEW;
}

int intern_number(Intern *intern, const void *data, size_t n_bytes, uint32_t *ret) {
        uint64_t hash = intern_hash(0, data, n_bytes);

        if (intern->n_slots > 0) {
                InternEntry *entry = find_slot(
                        intern->entries, intern->n_slots, &intern->texts, hash, data, n_bytes);

                if (entry->number) {
                        *ret = entry->number;
                        return 0;
                }
        }
        return add(intern, hash, data, n_bytes, ret);
}
