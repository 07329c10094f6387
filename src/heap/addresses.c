/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Addresses: the samples that have not been freed yet */

#include <errno.h>

#include "heap/addresses.h"
#include "heap/memory.h"
#include "shared/macro.h"

#define ENTRIES_MIN 1024u
#define COUNT_MAX   255 /* a count that reaches this stays there */

static _Atomic uint8_t *filter_of(Addresses *addresses, uint64_t address) {
        return &addresses->filter[addresses_hash(address) >> (64 - ADDRESSES_FILTER_BITS)];
}

static void filter_count(Addresses *addresses, uint64_t address, int by) {
        _Atomic uint8_t *count = filter_of(addresses, address);
        const uint8_t value = *count;

        if (value < COUNT_MAX)
                *count = (uint8_t)(value + by);
}

/* The index of the address, or of the empty entry where it belongs. One entry is always empty. */
static uint32_t find(const Addresses *addresses, uint64_t address) {
        const uint32_t mask = addresses->n_entries - 1;
        uint32_t i = (uint32_t)(addresses_hash(address) >> 32) & mask;

        while (addresses->entries[i].address != 0 && addresses->entries[i].address != address)
                i = (i + 1) & mask;
        return i;
}

static int grow(Addresses *addresses) {
        const uint32_t n_old = addresses->n_entries;
        const uint32_t n_new = n_old > 0 ? n_old * 2 : ENTRIES_MIN;
        AddressEntry *old = addresses->entries, *entries;

        if (n_new > ADDRESSES_MAX)
                return -ENOMEM;
        entries = heap_memory_map((size_t)n_new * sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        addresses->entries = entries;
        addresses->n_entries = n_new;
        for (uint32_t i = 0; i < n_old; i++)
                if (old[i].address != 0)
                        entries[find(addresses, old[i].address)] = old[i];
        heap_memory_unmap(old, (size_t)n_old * sizeof(*old));
        return 0;
}

int addresses_add(Addresses *addresses,
                  const AddressEntry *entry,
                  AddressEntry *ret_old,
                  bool *ret_has_old) {
        uint32_t i;

        *ret_has_old = false;
        if (addresses->n_used >= addresses->n_entries / 4 * 3 && grow(addresses) < 0 &&
            addresses->n_used + 1 >= addresses->n_entries) {
                addresses->n_refused++;
                return -ENOMEM;
        }
        i = find(addresses, entry->address);
        if (addresses->entries[i].address != 0) {
                *ret_old = addresses->entries[i];
                *ret_has_old = true;
                addresses->n_missed++;
        } else {
                addresses->n_used++;
                filter_count(addresses, entry->address, 1);
        }
        addresses->entries[i] = *entry;
        return 0;
}

/* Empties an entry and moves up those behind it, so that a search still finds them. */
static void remove_at(Addresses *addresses, uint32_t hole) {
        const uint32_t mask = addresses->n_entries - 1;

        filter_count(addresses, addresses->entries[hole].address, -1);
        addresses->n_used--;
        for (uint32_t i = (hole + 1) & mask; addresses->entries[i].address != 0;
             i = (i + 1) & mask) {
                const uint32_t home =
                        (uint32_t)(addresses_hash(addresses->entries[i].address) >> 32) & mask;

                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        addresses->entries[hole] = addresses->entries[i];
                        hole = i;
                }
        }
        addresses->entries[hole] = (AddressEntry){};
}

bool addresses_take(Addresses *addresses, uint64_t address, AddressEntry *ret) {
        uint32_t i;

        if (addresses->n_entries == 0)
                return false;
        i = find(addresses, address);
        if (addresses->entries[i].address == 0)
                return false;
        *ret = addresses->entries[i];
        remove_at(addresses, i);
        return true;
}

void addresses_forget_session(Addresses *addresses, unsigned session) {
        for (uint32_t i = 0; i < addresses->n_entries;) {
                AddressEntry *entry = &addresses->entries[i];

                entry->sessions &= (uint8_t) ~(1u << session);
                if (entry->address != 0 && entry->sessions == 0)
                        remove_at(addresses, i); /* this place may hold another address now */
                else
                        i++;
        }
}

bool addresses_take_range(Addresses *addresses, uint64_t start, uint64_t end, AddressEntry *ret) {
        for (uint32_t i = 0; i < addresses->n_entries; i++) {
                const uint64_t address = addresses->entries[i].address;

                if (address == 0 || address < start || address >= end)
                        continue;
                *ret = addresses->entries[i];
                remove_at(addresses, i);
                return true;
        }
        return false;
}
