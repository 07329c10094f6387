/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Intern table: numbers byte strings, from 1 on
 *
 * Strings are compared by content, so it does not matter where a text lives or whether it has been freed. The table
 * grows up to a limit; strings beyond it have no number and are written out each time. Zero-initialised means empty.
 * One thread.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/bytes.h"

#define INTERN_ENTRIES_MAX 1024
#define INTERN_BYTES_MAX   65536 /* bytes of all strings together, each with its NUL */
#define INTERN_RECENT      32

typedef struct InternEntry {
        uint64_t hash;
        uint32_t offset; /* into texts */
        uint32_t n_bytes;
        uint32_t number; /* 0: empty */
} InternEntry;

/* A recently used text, found by its address: this saves the hash, not the comparison. */
typedef struct InternRecent {
        const char *text; /* NULL: empty */
        uint32_t offset;
        uint32_t number;
} InternRecent;

typedef struct Intern {
        InternEntry *entries;
        uint32_t n_slots; /* a power of two, or 0 */
        uint32_t n_entries;
        Bytes texts; /* each with a NUL after it; allocated from the pool, like all of this */
        InternRecent recent[INTERN_RECENT];
} Intern;

enum {
        _INTERN_E_SUCCESS, /* known */
        INTERN_E_NEW,      /* the string was new and now has this number */
        INTERN_E_FULL,     /* it has none */
};

void intern_deinit(Intern *intern);

/* Removes all strings, but keeps the memory. */
void intern_clear(Intern *intern);

/* Returns 0, INTERN_E_NEW or INTERN_E_FULL. */
int intern_number(Intern *intern, const void *data, size_t n_bytes, uint32_t *ret);

/* Likewise for a text, of which at most `n_bytes_max` bytes count; faster if it lies at the same address as last
 * time. */
int intern_text(Intern *intern, const char *text, size_t n_bytes_max, uint32_t *ret);

static inline InternRecent *intern_recent(Intern *intern, const char *text) {
        uintptr_t address = (uintptr_t)text;

        /* Literals lie close together, at any alignment. */
        return &intern->recent[(address ^ address >> 6) % INTERN_RECENT];
}

/* The number of a text that lies at the same address as last time; 0: the text has changed, or intern_text() has to
 * search for it. */
static inline uint32_t intern_known(Intern *intern, const char *text) {
        const InternRecent *recent = intern_recent(intern, text);

        /* strcmp(): what is there now may be shorter, and end at the end of its memory. */
        if (LIKELY(recent->text == text &&
                   strcmp((const char *)intern->texts.data + recent->offset, text) == 0))
                return recent->number;
        return 0;
}

uint64_t intern_hash(uint64_t seed, const void *data, size_t n_bytes);
