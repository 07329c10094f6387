/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Segment: a piece of a trace buffer's memory
 *
 * Zeroed memory of a fixed size that costs nothing until it is written to (large ones huge page by huge page), with a
 * reference count: anonymous, or of a file that outlives the process. The trace buffer that made it writes to it as
 * long as it holds the only reference; with more than one it must leave the bytes alone that others know of, and write
 * to a copy. So a reference is a snapshot. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/segment-file.h"
#include "shared/macro.h"

typedef struct Segment {
        uint8_t *memory;
        size_t n_bytes;
        unsigned n_refs;
        uint32_t place;    /* in its file */
        SegmentFile *file; /* NULL: anonymous */
} Segment;

/* `file` NULL: anonymous. Returns 0 or -ENOMEM. Has one reference. */
int segment_new(Segment **ret, size_t n_bytes, SegmentFile *file);

/* What is in a place that was claimed; it is the segment's from now on, also after an error. */
int segment_new_claimed(Segment **ret, size_t n_bytes, SegmentFile *file, uint32_t place);
Segment *segment_ref(Segment *segment);
Segment *segment_unref(Segment *segment);
DEFINE_CLEANUP(Segment *, segment_unref)

/* Moves an anonymous one into the file, with all of its references; only the first n_used bytes are of interest.
 * Returns 0 or -ENOMEM, and nothing has changed. */
int segment_keep(Segment *segment, SegmentFile *file, size_t n_used);

static inline bool segment_is_shared(const Segment *segment) {
        return segment->n_refs > 1;
}
