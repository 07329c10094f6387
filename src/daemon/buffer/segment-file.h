/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Segment file: the memory of a kept trace buffer's segments, and of those of its clones
 *
 * It is a memfd with places of equal size, which grows with the number of segments. When a place is given back, so
 * is its memory. The file does not say which places are in use: that follows from what refers to them. So a process
 * that finds the file claims these places one by one, and the others are free. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define SEGMENT_FILE_PLACES_MAX (1u << 20)

typedef struct SegmentFile {
        int fd;
        unsigned n_refs;
        size_t n_place; /* bytes */
        uint32_t n_places;
        uint32_t *free; /* room for n_places */
        uint32_t n_free;
        uint8_t *is_claimed; /* in a file that was found, until segment_file_settle() */
        bool is_left; /* its contents stay for the next process; so they do in a file that was found, at first */
} SegmentFile;

/* Makes a file with one reference. Returns 0 or a negative errno. */
int segment_file_new(SegmentFile **ret, size_t segment_bytes);
SegmentFile *segment_file_ref(SegmentFile *file);
SegmentFile *segment_file_unref(SegmentFile *file);
DEFINE_CLEANUP(SegmentFile *, segment_file_unref)

/* Opens a file that another process has made; its contents may be anything. Takes the descriptor over on success
 * only. Returns 0, -EINVAL or -ENOMEM. */
int segment_file_find(SegmentFile **ret, int fd, size_t segment_bytes);

/* Claims a place in a file that was found. Returns false if it does not exist, or is claimed already. */
bool segment_file_claim(SegmentFile *file, uint32_t place);

/* To be called when everything that is needed has been claimed: gives the memory of all other places back. */
void segment_file_settle(SegmentFile *file);

/* Takes a zeroed place for a segment. Returns 0 or -ENOMEM. */
int segment_file_take(SegmentFile *file, uint32_t *ret_place);
void segment_file_give(SegmentFile *file, uint32_t place);

static inline uint64_t segment_file_offset(const SegmentFile *file, uint32_t place) {
        return (uint64_t)file->n_place * place;
}
