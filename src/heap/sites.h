/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sites: the call stacks that have allocated, each once, and what is counted for each
 *
 * Stacks, frames and files are only ever added, so their numbers stay valid for as long as the program runs, and
 * sessions share them. Each session has a table of counts of its own, indexed by the site's number. All tables have
 * their maximum size from the beginning, but only as addresses: they take up memory as they fill. Everything here needs
 * the owner's lock.
 *
 * A program has several heaps, and a call stack in each of them is a site of its own. In a session, the peak of a heap
 * is the moment when most of it was in use. What each site had at that moment is found out later: a site whose counts
 * change for the first time since the peak first notes what it had.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITES_MAX             65536u   /* stacks */
#define SITE_FRAMES_MAX       131072u  /* different frames in all stacks */
#define SITE_STACKS_MAX       2097152u /* frames of all stacks together */
#define SITE_MODULES_MAX      2048u    /* files that were ever loaded */
#define SITE_STACK_FRAMES_MAX 512u     /* of one stack */
#define SITE_HEAPS_MAX        32u      /* heaps of one program: the C library's, and its own */

#define SITE_OTHERS    0u /* the site of samples that find no room for one of their own */
#define SITE_NO_MODULE 0u /* of frames that are only a word */

/* Words for such frames, used as their addresses. Thread names have the numbers that follow. */
enum {
        SITE_WORD_OTHERS,
        SITE_WORD_TRUNCATED,
        _SITE_WORD_N,
};

typedef struct SiteFrame {
        uint64_t address; /* an address as the file counts them, or a SITE_WORD_… */
        uint32_t module;
} SiteFrame;

typedef struct Site {
        uint64_t hash;
        uint32_t first; /* index in Sites.stacks; the innermost frame comes first */
        uint16_t n_frames;
        uint8_t heap;
} Site;

typedef struct Sites {
        Site *sites;
        SiteFrame *frames;
        uint32_t *stacks;      /* numbers of frames */
        uint32_t *by_hash;     /* a hash table of the sites, twice as large as their number */
        uint32_t *frames_hash; /* likewise */
        uint32_t n_sites, n_frames, n_stacks;
        uint64_t secret;
        uint64_t n_refused; /* samples that went to SITE_OTHERS */
} Sites;

/* These counts have fractions, since a sample seldom stands for a whole number of allocations. */
#define SITE_N_BITS 16

static inline uint64_t site_round(uint64_t n) {
        return (n + (1u << (SITE_N_BITS - 1))) >> SITE_N_BITS;
}

typedef struct SiteCounts {
        uint64_t allocated, n_allocated;
        uint64_t freed, n_freed;
        uint64_t freed_soon, n_freed_soon; /* of these, what lived for no more than SITE_SOON_MS */
        uint64_t at_peak, n_at_peak;       /* valid if `peak` is the session's */
        uint32_t peak;
        bool is_changed; /* since the last dump */
} SiteCounts;

#define SITE_SOON_MS 10u

typedef struct SiteHeap {
        uint64_t live, n_live;
        uint64_t live_most;
        uint32_t peak; /* the number of peaks so far */
} SiteHeap;

/* What one session counts. */
typedef struct SiteTotals {
        SiteCounts *counts; /* by site */
        SiteHeap heaps[SITE_HEAPS_MAX];
} SiteTotals;

/* Returns 0 or -ENOMEM. */
int sites_init(Sites *sites, uint64_t secret);
/* The site of a stack, whose innermost frame comes first. */
uint32_t sites_find(Sites *sites, uint8_t heap, const SiteFrame *frames, size_t n_frames);
/* The heap that a site is counted in. SITE_OTHERS is one site for all heaps, and belongs to the first. */
uint8_t site_heap(uint32_t site, uint8_t heap);

int site_totals_init(SiteTotals *totals);
void site_totals_deinit(SiteTotals *totals);
/* Counts a sample, which stands for this many bytes and allocations. `heap` is the site's. */
void site_totals_allocated(SiteTotals *totals,
                           uint8_t heap,
                           uint32_t site,
                           uint64_t n_bytes,
                           uint64_t n);
void site_totals_freed(SiteTotals *totals,
                       uint8_t heap,
                       uint32_t site,
                       uint64_t n_bytes,
                       uint64_t n,
                       bool is_soon);
/* Returns how many bytes the site had in use at the peak. */
uint64_t
site_totals_at_peak(const SiteTotals *totals, uint8_t heap, uint32_t site, uint64_t *ret_n);
