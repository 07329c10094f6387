/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Profile: what is counted of the program's heap, for up to eight recordings at a time
 *
 * Samples are taken at the smallest interval that any of the recordings asks for. One with a larger interval
 * counts each sample with the probability that makes it what it would have seen alone, so no recording changes
 * what another one shows. A stack is walked once.
 *
 * A thread that allocates asks for two locks, one after the other, only when a sample is due, or when it frees
 * one: for the walk, and for the counts. In code of ours nothing is sampled, so a handler of signals that
 * allocates meanwhile does not wait for the thread that it has interrupted. In a forked child there is no profile:
 * the page that says so is emptied by the kernel when a process forks, whichever way it does.
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

/* The first heaps; what programs register comes behind them. */
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

/* What could not be counted, so far. */
typedef struct ProfileLosses {
        uint64_t
                n_without_address; /* no room to remember them: neither allocated nor freed is counted */
        uint64_t n_missed_frees; /* noticed later */
        uint64_t n_without_site; /* no room for their stacks */
        uint64_t n_complete, n_incomplete;
} ProfileLosses;

/* A copy of what one session has counted, at one moment. */
typedef struct ProfileCopy {
        SiteCounts *counts; /* by site; `is_changed` since the copy before */
        uint64_t *at_peak, *n_at_peak;
        uint32_t n_sites;
        SiteHeap heaps[SITE_HEAPS_MAX];
} ProfileCopy;

extern _Atomic uint32_t profile_epoch; /* changes with the smallest interval */
extern bool *profile_is_ours;          /* on its own page; false: a forked child */
extern Addresses profile_addresses;

/* Once, before the first session; not in a forked child. 0 or a negative errno. */
int profile_init(void);

/* -EBUSY: all are in use. */
int profile_start(unsigned *ret_session, uint64_t interval);
void profile_stop(unsigned session);
uint64_t profile_started_ns(unsigned session);

/* 0 or -ENOMEM. A copy is of one session, and is made again and again. */
int profile_copy(ProfileCopy *copy, unsigned session);
void profile_copy_deinit(ProfileCopy *copy);
void profile_losses(ProfileLosses *ret);

/* A heap of the program's own. Its number, which lives as long as the program does and is the same for the same name;
 * -EINVAL: no name; -ENOBUFS: there are too many. */
int profile_heap_find(const char *name);
unsigned profile_n_heaps(void);
const char *profile_heap_name(unsigned heap);

/* Sites, stacks and files up to the copy's n_sites, without a lock: they stay as they are. */
const Sites *profile_sites(void);
const Walker *profile_walker(void);

/*
 * For the hooks. All leave errno alone.
 */

/* A thread's bytes are used up, or its settings are old. */
void profile_allocated(uint8_t heap, const void *memory, size_t n_bytes, const WalkStart *start);
/* It may be a sample. */
void profile_freed(uint8_t heap, const void *memory);
/* The same in two steps, for realloc(): what is taken is counted as freed, or put back. */
bool profile_take(void *memory, AddressEntry *ret);
void profile_put_back(const AddressEntry *entry);
void profile_count_freed(const AddressEntry *entry);
void profile_freed_range(uint8_t heap, const void *start, size_t n_bytes);
/* The same of memory that is mapped, of which all is counted, as there is little of it. */
bool profile_wants_maps(void);
void profile_mapped(const void *memory, size_t n_bytes, const WalkStart *start);
/* How many bytes of it were counted. */
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
