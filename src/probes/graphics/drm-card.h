/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * DRM cards: the GPUs of /sys/class/drm, and what they report
 *
 * A card's place in the table is its number in the trace (gpu_id), so the table only grows. If a client has opened a
 * device that is no card (a compute accelerator), that is appended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/track-writer.h"
#include "probes/graphics/drm-fdinfo.h"

#define DRM_CARDS_MAX        16
#define DRM_CARD_LABEL_BYTES 64

typedef struct DrmCard {
        char label[DRM_CARD_LABEL_BYTES]; /* "card0 (i915)" */
        char name[DRM_NAME_BYTES];        /* "card0"; empty if it is no card */
        char driver[DRM_NAME_BYTES];
        char device[DRM_NAME_BYTES]; /* its address on the bus, such as "0000:00:02.0" */
        uint32_t vendor, model;      /* PCI ids; 0: unknown */

        /* The kinds of engines and memory that its clients use, in the order in which they were first seen. */
        char engines[DRM_ENGINES_MAX][DRM_NAME_BYTES];
        char regions[DRM_REGIONS_MAX][DRM_NAME_BYTES];
        size_t n_engines, n_regions;
        uint64_t capacity[DRM_ENGINES_MAX];
        uint64_t busy_ns[DRM_ENGINES_MAX]; /* of all clients, since the previous sample */

        /* For the writer: which of those engines have a track, as bits, and the memory that was written last. */
        uint32_t used_engines;
        uint64_t written_bytes;
} DrmCard;

typedef struct DrmCards {
        int sysfs; /* /sys/class/drm; -1: not there */
        DrmCard table[DRM_CARDS_MAX];
        size_t n;
} DrmCards;

/* Finds the cards below the root directory `root`. There may be none. */
void drm_cards_init(DrmCards *cards, int root);
void drm_cards_deinit(DrmCards *cards);

/* The card that a client has open, found by its address, or by its driver if it has none. Returns NULL when the
 * table is full. */
DrmCard *drm_cards_find(DrmCards *cards, const DrmFdinfo *info);

/* Where an engine or region of that name is in the card's lists, to which it is added if need be. Returns the length
 * of the list if there are too many. */
size_t drm_card_engine(DrmCard *card, const char *name);
size_t drm_card_region(DrmCard *card, const char *name);

/* GpuInfo: all cards. */
void drm_cards_encode(const DrmCards *cards, WireWriter *wire);

/* How many bytes are in use on the card, by its driver's count. Returns false if the driver does not count them. */
bool drm_card_memory(const DrmCards *cards, const DrmCard *card, uint64_t *ret_bytes);

/* Counters of the card as a whole, which only some drivers have. */
typedef struct DrmCardCounter {
        const char *file, *name;
        TrackUnit unit;
        bool is_of_memory;
} DrmCardCounter;

#define DRM_CARD_COUNTERS 5

extern const DrmCardCounter drm_card_counters[DRM_CARD_COUNTERS];

bool drm_card_read_counter(const DrmCards *cards,
                           const DrmCard *card,
                           const DrmCardCounter *counter,
                           uint64_t *ret);
