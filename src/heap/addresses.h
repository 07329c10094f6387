/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Addresses: the samples that have not been freed yet
 *
 * A hash table by address, which grows. Each free() in the program first asks, without a lock, whether the address can
 * be in it: one byte for each of 64 Ki groups of addresses counts how many of the group are present. Everything else
 * needs the owner's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#define ADDRESSES_MAX         (1u << 20) /* 32 MiB of entries, of 32 GiB in use at 32 KiB a sample */
#define ADDRESSES_FILTER_BITS 16

/* Heaps may give out the same addresses, as one heap takes its memory from another. So an address here has the
 * number of its heap in those bits that no processor uses for addresses. */
#define ADDRESSES_HEAP_SHIFT 57

static inline uint64_t addresses_key(const void *address, uint8_t heap) {
        return (uint64_t)(uintptr_t)address | (uint64_t)heap << ADDRESSES_HEAP_SHIFT;
}

typedef struct AddressEntry {
        uint64_t address; /* with the number of its heap; 0: the entry is empty */
        uint64_t n_bytes;
        uint32_t site;
        uint32_t at_ms;   /* when it was allocated, by whichever clock the caller uses */
        uint8_t sessions; /* one bit for each session that has counted it */
        uint8_t heap;     /* the heap that it is counted in */
} AddressEntry;

typedef struct Addresses {
        AddressEntry *entries;
        uint32_t n_entries; /* a power of two */
        uint32_t n_used;
        uint64_t n_refused; /* samples for which there was no room */
        uint64_t n_missed;  /* addresses allocated again whose free() was not seen */
        _Atomic uint8_t filter[1u << ADDRESSES_FILTER_BITS];
} Addresses;

static inline uint64_t addresses_hash(uint64_t address) {
        return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether the table may have the address. Needs no lock, because the calling thread owns the memory. */
static inline bool addresses_may_have(Addresses *addresses, uint64_t address) {
        const uint64_t hash = addresses_hash(address);

        return __atomic_load_n((uint8_t *)&addresses->filter[hash >> (64 - ADDRESSES_FILTER_BITS)],
                               __ATOMIC_RELAXED) != 0;
}

/* Adds a sample, or replaces the one with the same address and sets *ret_has_old. Returns 0, or -ENOMEM, which is
 * counted. */
int addresses_add(Addresses *addresses,
                  const AddressEntry *entry,
                  AddressEntry *ret_old,
                  bool *ret_has_old);
/* Removes an address. Returns false if it is not present. */
bool addresses_take(Addresses *addresses, uint64_t address, AddressEntry *ret);
/* Call it when a session has ended: it removes the samples that only this session has counted. */
void addresses_forget_session(Addresses *addresses, unsigned session);
/* Removes one address within the range. Returns false if the range has none. */
bool addresses_take_range(Addresses *addresses, uint64_t start, uint64_t end, AddressEntry *ret);
