/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Segment file: the memory of a kept trace buffer's segments, and of those of its clones
 *
 * A memfd of places of equal size, which grows with the number of segments. The memory of a place that is
 * given back is, too. Which places are in use is not in the file: that is known by who refers to them, and so
 * a process that finds the file claims them one by one, and the others are free. One thread.
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
        uint8_t *is_claimed; /* of a file that was found, until segment_file_settle() */
        bool is_left; /* what is in it stays for the next process; so it is of one that was found, for a start */
} SegmentFile;

/* With one reference. Returns 0 or a negative errno. */
int segment_file_new(SegmentFile **ret, size_t segment_bytes);
SegmentFile *segment_file_ref(SegmentFile *file);
SegmentFile *segment_file_unref(SegmentFile *file);
DEFINE_CLEANUP(SegmentFile *, segment_file_unref)

/* A file that another process has made; what it holds may be anything. Takes the descriptor over on success only.
 * Returns 0, -EINVAL or -ENOMEM. */
int segment_file_find(SegmentFile **ret, int fd, size_t segment_bytes);

/* Whether the place exists in the file that was found, and nobody has it yet; from now on somebody does. */
bool segment_file_claim(SegmentFile *file, uint32_t place);

/* All that anybody wants has been claimed: gives the memory of all other places back. */
void segment_file_settle(SegmentFile *file);

/* A zeroed place for a segment. Returns 0 or -ENOMEM. */
int segment_file_take(SegmentFile *file, uint32_t *ret_place);
void segment_file_give(SegmentFile *file, uint32_t place);

static inline uint64_t segment_file_offset(const SegmentFile *file, uint32_t place) {
        return (uint64_t)file->n_place * place;
}
