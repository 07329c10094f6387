/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Intern table: numbers byte strings, from 1 on */

#include <errno.h>

#include "lib/intern.h"
#include "lib/pool.h"

#define SLOTS_MIN 64
#define TEXTS_MIN (1024 - POOL_HEAD_BYTES)

/* An odd constant with well-spread bits. */
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t mix(uint64_t hash, uint64_t word) {
        hash = (hash ^ word) * MULTIPLIER;
        return hash ^ hash >> 32;
}

static inline uint64_t load64(const uint8_t *at) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        return word;
}

static inline uint64_t load32(const uint8_t *at) {
        uint32_t word;

        memcpy(&word, at, sizeof(word));
        return word;
}

/* Loads all bytes of a text shorter than eight, some of them twice. */
static inline uint64_t load_short(const uint8_t *at, size_t n_bytes) {
        if (n_bytes >= 4)
                return load32(at) | load32(at + n_bytes - 4) << 32;
        if (n_bytes == 0)
                return 0;
        return at[0] | (uint64_t)at[n_bytes / 2] << 8 | (uint64_t)at[n_bytes - 1] << 16;
}

/* Eight bytes at a time; the last eight may overlap the previous ones, because names are short. */
uint64_t intern_hash(uint64_t seed, const void *data, size_t n_bytes) {
        uint64_t hash = seed + n_bytes * MULTIPLIER;
        const uint8_t *at = data;

        if (n_bytes < sizeof(hash))
                return mix(mix(hash, load_short(at, n_bytes)), seed);
        for (const uint8_t *end = at + n_bytes - sizeof(hash); at < end; at += sizeof(hash))
                hash = mix(hash, load64(at));
        return mix(mix(hash, load64((const uint8_t *)data + n_bytes - sizeof(hash))), seed);
}

void intern_deinit(Intern *intern) {
        pool_free(intern->entries);
        pool_free(intern->texts.data);
        *intern = (Intern){ 0 };
}

void intern_clear(Intern *intern) {
        if (intern->n_entries > 0) {
                memset(intern->entries, 0, intern->n_slots * sizeof(*intern->entries));
                memset(intern->recent, 0, sizeof(intern->recent));
        }
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

/* At most half of the slots are ever used, so that an empty one is always near. */
static int grow(Intern *intern) {
        uint32_t n_slots = intern->n_slots ? 2 * intern->n_slots : SLOTS_MIN;
        InternEntry *entries;

        if (2 * (intern->n_entries + 1) <= intern->n_slots)
                return 0;
        entries = pool_new(n_slots * sizeof(*entries));
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
        pool_free(intern->entries);
        intern->entries = entries;
        intern->n_slots = n_slots;
        return 0;
}

static int grow_texts(Bytes *texts, size_t n_more) {
        size_t n_allocated = texts->n_allocated ? 2 * texts->n_allocated : TEXTS_MIN;
        uint8_t *data;

        if (texts->n_allocated - texts->n >= n_more)
                return 0;
        n_allocated = MAX(n_allocated, texts->n + n_more);
        data = pool_take(n_allocated);
        if (!data)
                return -ENOMEM;
        if (texts->n > 0)
                memcpy(data, texts->data, texts->n);
        pool_free(texts->data);
        texts->data = data;
        texts->n_allocated = n_allocated;
        return 0;
}

static int add(Intern *intern, uint64_t hash, const void *data, size_t n_bytes, InternEntry **ret) {
        size_t offset = intern->texts.n;
        InternEntry *entry;

        if (intern->n_entries >= INTERN_ENTRIES_MAX || offset + n_bytes >= INTERN_BYTES_MAX)
                return INTERN_E_FULL;
        if (grow(intern) < 0 || grow_texts(&intern->texts, n_bytes + 1) < 0)
                return INTERN_E_FULL;
        memcpy(intern->texts.data + offset, data, n_bytes);
        intern->texts.data[offset + n_bytes] = 0; /* for intern_text() */
        intern->texts.n += n_bytes + 1;
        entry = find_slot(intern->entries, intern->n_slots, &intern->texts, hash, data, n_bytes);
        *entry = (InternEntry){
                .hash = hash,
                .offset = (uint32_t)offset,
                .n_bytes = (uint32_t)n_bytes,
                .number = ++intern->n_entries,
        };
        *ret = entry;
        return INTERN_E_NEW;
}

static int find_or_add(Intern *intern, const void *data, size_t n_bytes, InternEntry **ret) {
        uint64_t hash = intern_hash(0, data, n_bytes);

        if (intern->n_slots > 0) {
                *ret = find_slot(
                        intern->entries, intern->n_slots, &intern->texts, hash, data, n_bytes);
                if ((*ret)->number)
                        return 0;
        }
        return add(intern, hash, data, n_bytes, ret);
}

int intern_number(Intern *intern, const void *data, size_t n_bytes, uint32_t *ret) {
        InternEntry *entry;
        int r;

        r = find_or_add(intern, data, n_bytes, &entry);
        if (r != INTERN_E_FULL)
                *ret = entry->number;
        return r;
}

int intern_text(Intern *intern, const char *text, size_t n_bytes_max, uint32_t *ret) {
        InternEntry *entry;
        int r;

        *ret = intern_known(intern, text);
        if (LIKELY(*ret > 0))
                return 0;
        r = find_or_add(intern, text, strnlen(text, n_bytes_max), &entry);
        if (r == INTERN_E_FULL)
                return r;
        *ret = entry->number;
        *intern_recent(intern, text) = (InternRecent){ text, entry->offset, entry->number };
        return r;
}
