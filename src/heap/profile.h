/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Profile: the counts of the program's heap, for up to eight recordings at a time
 *
 * Samples are taken at the smallest interval that any of the recordings asks for. A recording with a larger interval
 * counts each sample with a probability that gives it what it would have seen alone, so recordings do not change one
 * another's results. Each stack is walked only once, whatever the number of recordings.
 *
 * A thread takes locks only when it allocates or frees a sample: first one for the walk, then one for the counts.
 * Nothing is sampled while our own code runs, so a signal handler that allocates cannot wait for a lock that the
 * interrupted thread holds. A forked child has no profile: it finds out that it is a child from a page that the kernel
 * clears in every fork.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "heap/addresses.h"
#include "heap/maps.h"
#include "heap/sites.h"
#include "heap/walk.h"
#include "shared/macro.h"

#define PROFILE_SESSIONS_MAX     8u
#define PROFILE_INTERVAL_DEFAULT 32768u
#define PROFILE_INTERVAL_MAX     (UINT64_C(1) << 40)

#define PROFILE_HEAP_NAME_MAX 63u

/* The first heaps. Those that programs register follow. */
enum {
        PROFILE_HEAP_MALLOC,
        PROFILE_HEAP_MMAP,
        _PROFILE_HEAPS_N,
};

typedef struct ProfileSession {
        uint64_t interval; /* 0: not in use */
        SiteTotals totals;
        uint64_t started_ns; /* CLOCK_MONOTONIC */
} ProfileSession;

/* What could not be counted so far. */
typedef struct ProfileLosses {
        uint64_t
                n_without_address; /* not counted at all, because there was no room to remember the address */
        uint64_t n_missed_frees; /* noticed later */
        uint64_t n_without_site; /* counted without a stack, because there was no room for it */
        uint64_t n_complete, n_incomplete;
} ProfileLosses;

/* A copy, made at one moment, of what one session has counted. */
typedef struct ProfileCopy {
        SiteCounts *counts; /* by site; `is_changed` means since the previous copy */
        uint64_t *at_peak, *n_at_peak;
        uint32_t n_sites;
        SiteHeap heaps[SITE_HEAPS_MAX];
} ProfileCopy;

extern _Atomic uint32_t profile_epoch; /* changes whenever the smallest interval does */
extern bool *profile_is_ours;          /* on a page of its own; false in a forked child */
extern Addresses profile_addresses;

/* Call it once, before the first session, and not in a forked child. Returns 0 or a negative errno. */
int profile_init(void);

/* Returns -EBUSY if all sessions are in use. */
int profile_start(unsigned *ret_session, uint64_t interval);
void profile_stop(unsigned session);
uint64_t profile_started_ns(unsigned session);

/* Brings a copy up to date. Always pass a copy of the same session. Returns 0 or -ENOMEM. */
int profile_copy(ProfileCopy *copy, unsigned session);
void profile_copy_deinit(ProfileCopy *copy);
void profile_losses(ProfileLosses *ret);

/* Registers a heap of the program's own. Returns its number, which is valid until the program ends and is the same
 * for the same name; -EINVAL if there is no name; -ENOBUFS if there are too many heaps. */
int profile_heap_find(const char *name);
unsigned profile_n_heaps(void);
const char *profile_heap_name(unsigned heap);

/* Sites below the copy's n_sites never change, so their stacks and files may be read without a lock. */
const Sites *profile_sites(void);
const Walker *profile_walker(void);

/*
 * The hooks call these. All of them preserve errno.
 */

/* Call it when the thread's next sample is due, or when its settings are out of date. */
void profile_allocated(uint8_t heap, const void *memory, size_t n_bytes, const WalkStart *start);
/* Call it before freeing memory that may be a sample. */
void profile_freed(uint8_t heap, const void *memory);
/* The same in two steps, for realloc(): after profile_take(), either count the entry as freed or put it back. */
bool profile_take(void *memory, AddressEntry *ret);
void profile_put_back(const AddressEntry *entry);
void profile_count_freed(const AddressEntry *entry);
void profile_freed_range(uint8_t heap, const void *start, size_t n_bytes);
/* The same for mapped memory. Mappings are few, so all of them are counted. */
bool profile_wants_maps(void);
void profile_mapped(const void *memory, size_t n_bytes, const WalkStart *start);
/* Returns how many bytes of the range were counted. */
uint64_t profile_unmapped(const void *memory, size_t n_bytes);

static inline bool profile_may_have(uint8_t heap, const void *memory) {
        return addresses_may_have(&profile_addresses, addresses_key(memory, heap));
}

static inline bool profile_is_due(size_t n_bytes) {
        HeapThread *thread = &heap_thread;

        thread->left -= (int64_t)n_bytes;
        return UNLIKELY(thread->left < 0 ||
                        thread->epoch !=
                                atomic_load_explicit(&profile_epoch, memory_order_relaxed));
}
