/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Addresses: the samples that have not been freed yet
 *
 * A hash table by address, which grows. Each free() of the program asks first whether the address can be in it,
 * without a lock: a byte for each of 64 Ki groups of addresses says how many of the group are there. All else is
 * under the owner's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#define ADDRESSES_MAX         (1u << 20) /* 32 MiB of entries, of 32 GiB in use at 32 KiB a sample */
#define ADDRESSES_FILTER_BITS 16

/* Heaps may give out the same addresses, as one takes its memory from another: addresses have their heap's number in
 * bits that no processor has addresses for. */
#define ADDRESSES_HEAP_SHIFT 57

static inline uint64_t addresses_key(const void *address, uint8_t heap) {
        return (uint64_t)(uintptr_t)address | (uint64_t)heap << ADDRESSES_HEAP_SHIFT;
}

typedef struct AddressEntry {
        uint64_t address; /* with its heap; 0: empty */
        uint64_t n_bytes;
        uint32_t site;
        uint32_t at_ms;   /* when it was allocated, of any clock */
        uint8_t sessions; /* a bit for each that has counted it */
        uint8_t heap;     /* that it is counted in */
} AddressEntry;

typedef struct Addresses {
        AddressEntry *entries;
        uint32_t n_entries; /* a power of two */
        uint32_t n_used;
        uint64_t n_refused; /* that found no room */
        uint64_t n_missed;  /* whose free() was not seen: the address was given out again */
        _Atomic uint8_t filter[1u << ADDRESSES_FILTER_BITS];
} Addresses;

static inline uint64_t addresses_hash(uint64_t address) {
        return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether it may be there: for threads that have got it from the allocator, without the lock. */
static inline bool addresses_may_have(Addresses *addresses, uint64_t address) {
        const uint64_t hash = addresses_hash(address);

        return __atomic_load_n((uint8_t *)&addresses->filter[hash >> (64 - ADDRESSES_FILTER_BITS)],
                               __ATOMIC_RELAXED) != 0;
}

/* An address that is there already gives its old entry: true, and *ret_old. 0, or -ENOMEM and counted. */
int addresses_add(Addresses *addresses,
                  const AddressEntry *entry,
                  AddressEntry *ret_old,
                  bool *ret_has_old);
/* False: it is not there. */
bool addresses_take(Addresses *addresses, uint64_t address, AddressEntry *ret);
/* A session has ended: what only it has counted goes. */
void addresses_forget_session(Addresses *addresses, unsigned session);
/* One whose address is in the range; false: there is none. */
bool addresses_take_range(Addresses *addresses, uint64_t start, uint64_t end, AddressEntry *ret);
