/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sites: the call stacks that have allocated, each once, and what is counted for each */

#include <errno.h>

#include "heap/memory.h"
#include "heap/sites.h"
#include "shared/macro.h"

static uint64_t mix(uint64_t hash, uint64_t value) {
        hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
        return hash ^ hash >> 29;
}

/* Numbers in the hash tables begin with 1, as 0 is an empty place. */
static int add_others(Sites *sites) {
        sites->frames[0] = (SiteFrame){ .address = SITE_WORD_OTHERS, .module = SITE_NO_MODULE };
        sites->n_frames = 1;
        sites->stacks[0] = 0;
        sites->n_stacks = 1;
        sites->sites[SITE_OTHERS] = (Site){ .first = 0, .n_frames = 1 };
        sites->n_sites = 1;
        return 0;
}

int sites_init(Sites *sites, uint64_t secret) {
        *sites = (Sites){ .secret = secret };
        sites->sites = heap_memory_map(SITES_MAX * sizeof(*sites->sites));
        sites->frames = heap_memory_map(SITE_FRAMES_MAX * sizeof(*sites->frames));
        sites->stacks = heap_memory_map(SITE_STACKS_MAX * sizeof(*sites->stacks));
        sites->by_hash = heap_memory_map(2 * SITES_MAX * sizeof(*sites->by_hash));
        sites->frames_hash = heap_memory_map(2 * SITE_FRAMES_MAX * sizeof(*sites->frames_hash));
        if (sites->sites && sites->frames && sites->stacks && sites->by_hash && sites->frames_hash)
                return add_others(sites);
        heap_memory_unmap(sites->sites, SITES_MAX * sizeof(*sites->sites));
        heap_memory_unmap(sites->frames, SITE_FRAMES_MAX * sizeof(*sites->frames));
        heap_memory_unmap(sites->stacks, SITE_STACKS_MAX * sizeof(*sites->stacks));
        heap_memory_unmap(sites->by_hash, 2 * SITES_MAX * sizeof(*sites->by_hash));
        heap_memory_unmap(sites->frames_hash, 2 * SITE_FRAMES_MAX * sizeof(*sites->frames_hash));
        *sites = (Sites){};
        return -ENOMEM;
}

/* Returns the frame's number or -ENOMEM. */
static int64_t find_frame(Sites *sites, const SiteFrame *frame) {
        const uint64_t hash = mix(mix(sites->secret, frame->address), frame->module);
        uint32_t i = (uint32_t)(hash >> 32) % (2 * SITE_FRAMES_MAX);

        for (; sites->frames_hash[i] != 0; i = (i + 1) % (2 * SITE_FRAMES_MAX)) {
                const SiteFrame *other = &sites->frames[sites->frames_hash[i]];

                if (other->address == frame->address && other->module == frame->module)
                        return sites->frames_hash[i];
        }
        if (sites->n_frames == SITE_FRAMES_MAX)
                return -ENOMEM;
        sites->frames[sites->n_frames] = *frame;
        sites->frames_hash[i] = sites->n_frames;
        return sites->n_frames++;
}

/* A stack that finds no room leaves its frames behind. The next stack may need them. */
static uint32_t
add(Sites *sites, uint32_t *place, uint64_t hash, uint8_t heap, const SiteFrame *frames, size_t n) {
        uint32_t *stack = sites->stacks + sites->n_stacks;

        if (sites->n_sites == SITES_MAX || n > SITE_STACKS_MAX - sites->n_stacks)
                return SITE_OTHERS;
        for (size_t i = 0; i < n; i++) {
                const int64_t number = find_frame(sites, &frames[i]);

                if (number < 0)
                        return SITE_OTHERS;
                stack[i] = (uint32_t)number;
        }
        sites->sites[sites->n_sites] = (Site){
                .hash = hash, .first = sites->n_stacks, .n_frames = (uint16_t)n, .heap = heap
        };
        sites->n_stacks += (uint32_t)n;
        *place = sites->n_sites;
        return sites->n_sites++;
}

uint32_t sites_find(Sites *sites, uint8_t heap, const SiteFrame *frames, size_t n_frames) {
        uint64_t hash = sites->secret ^ heap;
        uint32_t i, site;

        if (n_frames == 0)
                return SITE_OTHERS;
        for (size_t k = 0; k < n_frames; k++)
                hash = mix(mix(hash, frames[k].address), frames[k].module);
        i = (uint32_t)(hash >> 32) % (2 * SITES_MAX);
        for (; sites->by_hash[i] != 0; i = (i + 1) % (2 * SITES_MAX)) {
                const Site *other = &sites->sites[sites->by_hash[i]];

                if (other->hash == hash && other->n_frames == n_frames && other->heap == heap)
                        return sites->by_hash[i];
        }
        site = add(sites, &sites->by_hash[i], hash, heap, frames, n_frames);
        sites->n_refused += site == SITE_OTHERS;
        return site;
}

uint8_t site_heap(uint32_t site, uint8_t heap) {
        return site == SITE_OTHERS ? 0 : heap;
}

/*
 * Counts
 */

int site_totals_init(SiteTotals *totals) {
        *totals = (SiteTotals){ .counts = heap_memory_map(SITES_MAX * sizeof(*totals->counts)) };
        return totals->counts ? 0 : -ENOMEM;
}

void site_totals_deinit(SiteTotals *totals) {
        heap_memory_unmap(totals->counts, SITES_MAX * sizeof(*totals->counts));
        *totals = (SiteTotals){};
}

static void note_peak(SiteCounts *counts, uint32_t peak) {
        if (counts->peak == peak)
                return;
        counts->peak = peak;
        counts->at_peak = counts->allocated - counts->freed;
        counts->n_at_peak = counts->n_allocated - counts->n_freed;
}

void site_totals_allocated(SiteTotals *totals,
                           uint8_t heap_number,
                           uint32_t site,
                           uint64_t n_bytes,
                           uint64_t n) {
        SiteCounts *counts = &totals->counts[site];
        SiteHeap *heap = &totals->heaps[heap_number];

        note_peak(counts, heap->peak);
        counts->allocated += n_bytes;
        counts->n_allocated += n;
        counts->is_changed = true;
        heap->live += n_bytes;
        heap->n_live += n;
        if (heap->live > heap->live_most) {
                heap->live_most = heap->live;
                heap->peak++;
        }
}

void site_totals_freed(SiteTotals *totals,
                       uint8_t heap_number,
                       uint32_t site,
                       uint64_t n_bytes,
                       uint64_t n,
                       bool is_soon) {
        SiteCounts *counts = &totals->counts[site];
        SiteHeap *heap = &totals->heaps[heap_number];

        note_peak(counts, heap->peak);
        counts->freed += n_bytes;
        counts->n_freed += n;
        if (is_soon) {
                counts->freed_soon += n_bytes;
                counts->n_freed_soon += n;
        }
        counts->is_changed = true;
        heap->live -= n_bytes;
        heap->n_live -= n;
}

uint64_t
site_totals_at_peak(const SiteTotals *totals, uint8_t heap, uint32_t site, uint64_t *ret_n) {
        const SiteCounts *counts = &totals->counts[site];
        const bool is_noted = counts->peak == totals->heaps[heap].peak;

        *ret_n = is_noted ? counts->n_at_peak : counts->n_allocated - counts->n_freed;
        return is_noted ? counts->at_peak : counts->allocated - counts->freed;
}
