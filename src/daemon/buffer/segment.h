/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Segment: a piece of a trace buffer's memory
 *
 * A segment is zeroed memory of a fixed size that costs nothing until it is written to (in huge pages if it is
 * large), with a reference count. It is anonymous, or in a file that outlives the process. The trace buffer that
 * made it writes to it as long as it holds the only reference. With more references, the buffer must not change the
 * bytes that others may read, and writes to a copy. So a reference is a snapshot. One thread.
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

/* Makes a segment with one reference, anonymous if `file` is NULL. Returns 0 or -ENOMEM. */
int segment_new(Segment **ret, size_t n_bytes, SegmentFile *file);

/* Makes a segment of the contents of a claimed place. The place belongs to the segment from now on, even after an
 * error. */
int segment_new_claimed(Segment **ret, size_t n_bytes, SegmentFile *file, uint32_t place);
Segment *segment_ref(Segment *segment);
Segment *segment_unref(Segment *segment);
DEFINE_CLEANUP(Segment *, segment_unref)

/* Moves an anonymous segment into the file, with all of its references; only the first n_used bytes are copied.
 * Returns 0, or -ENOMEM, in which case nothing has changed. */
int segment_keep(Segment *segment, SegmentFile *file, size_t n_used);

static inline bool segment_is_shared(const Segment *segment) {
        return segment->n_refs > 1;
}
