/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sites: the call stacks that have allocated, each once, and what is counted of each
 *
 * Stacks, frames and files are only ever added, so their numbers stay true for as long as the program runs, and
 * sessions share them. What a session counts is its own table, by the site's number. Tables are as large as their
 * limits from the beginning, as addresses; memory they take up by and by. All under the owner's lock.
 *
 * A program has several heaps: a call stack in each is a site of its own. A heap's peak, in one session, is when all
 * that is live in it was most. What each site had then is found out late: a site whose
 * counts change for the first time since the peak notes what it had before.
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

#define SITE_OTHERS    0u /* the site of what finds no room for one of its own */
#define SITE_NO_MODULE 0u /* of frames that are a word only */

/* Words for such frames: their addresses. Names of threads follow. */
enum {
        SITE_WORD_OTHERS,
        SITE_WORD_TRUNCATED,
        _SITE_WORD_N,
};

typedef struct SiteFrame {
        uint64_t address; /* as the file counts, or a SITE_WORD_… */
        uint32_t module;
} SiteFrame;

typedef struct Site {
        uint64_t hash;
        uint32_t first; /* in Sites.stacks: innermost frame first */
        uint16_t n_frames;
        uint8_t heap;
} Site;

typedef struct Sites {
        Site *sites;
        SiteFrame *frames;
        uint32_t *stacks;      /* numbers of frames */
        uint32_t *by_hash;     /* sites, a hash table twice as large */
        uint32_t *frames_hash; /* likewise */
        uint32_t n_sites, n_frames, n_stacks;
        uint64_t secret;
        uint64_t n_refused; /* samples that went to SITE_OTHERS */
} Sites;

/* How many there are has parts behind the point, since a sample seldom stands for a whole number of allocations. */
#define SITE_N_BITS 16

static inline uint64_t site_round(uint64_t n) {
        return (n + (1u << (SITE_N_BITS - 1))) >> SITE_N_BITS;
}

typedef struct SiteCounts {
        uint64_t allocated, n_allocated;
        uint64_t freed, n_freed;
        uint64_t freed_soon, n_freed_soon; /* of these: what lived for SITE_SOON_MS at most */
        uint64_t at_peak, n_at_peak;       /* if `peak` is the session's */
        uint32_t peak;
        bool is_changed; /* since the last dump */
} SiteCounts;

#define SITE_SOON_MS 10u

typedef struct SiteHeap {
        uint64_t live, n_live;
        uint64_t live_most;
        uint32_t peak; /* how many there were */
} SiteHeap;

/* What one session counts. */
typedef struct SiteTotals {
        SiteCounts *counts; /* by site */
        SiteHeap heaps[SITE_HEAPS_MAX];
} SiteTotals;

/* 0 or -ENOMEM. */
int sites_init(Sites *sites, uint64_t secret);
/* The site of a stack, innermost frame first. */
uint32_t sites_find(Sites *sites, uint8_t heap, const SiteFrame *frames, size_t n_frames);
/* The heap that a site is counted in: all others are one site, of the first. */
uint8_t site_heap(uint32_t site, uint8_t heap);

int site_totals_init(SiteTotals *totals);
void site_totals_deinit(SiteTotals *totals);
/* A sample, as many bytes and allocations as it stands for; `heap` is the site's. */
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
/* What the site had at the peak. */
uint64_t
site_totals_at_peak(const SiteTotals *totals, uint8_t heap, uint32_t site, uint64_t *ret_n);
