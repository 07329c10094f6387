/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Segment: memory of a trace buffer, in pieces that clones can share */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "buffer/mapping.h"
#include "buffer/segment.h"

static int segment_map(Segment **ret, size_t n_bytes, SegmentFile *file, uint32_t place) {
        Segment *segment;
        void *memory;

        segment = malloc(sizeof(*segment));
        if (!segment)
                return -ENOMEM;
        /* Not malloc: a buffer of gigabytes that stays nearly empty must stay nearly free. */
        if (mapping_new(&memory,
                        n_bytes,
                        file ? file->fd : -1,
                        file ? segment_file_offset(file, place) : 0) < 0) {
                free(segment);
                return -ENOMEM;
        }

        mapping_advise(memory, n_bytes);
        *segment = (Segment){
                .memory = memory,
                .n_bytes = n_bytes,
                .n_refs = 1,
                .place = place,
                .file = file ? segment_file_ref(file) : NULL,
        };
        *ret = segment;
        return 0;
}

int segment_new(Segment **ret, size_t n_bytes, SegmentFile *file) {
        uint32_t place = 0;
        int r;

        r = file ? segment_file_take(file, &place) : 0;
        return r < 0 ? r : segment_new_claimed(ret, n_bytes, file, place);
}

int segment_new_claimed(Segment **ret, size_t n_bytes, SegmentFile *file, uint32_t place) {
        int r;

        r = segment_map(ret, n_bytes, file, place);
        if (r < 0 && file)
                segment_file_give(file, place);
        return r;
}

int segment_keep(Segment *segment, SegmentFile *file, size_t n_used) {
        uint32_t place;
        void *memory;
        int r;

        r = segment_file_take(file, &place);
        if (r < 0)
                return r;
        r = mapping_new(&memory, segment->n_bytes, file->fd, segment_file_offset(file, place));
        if (r == 0) {
                memcpy(memory, segment->memory, n_used);
                r = mapping_replace(segment->memory, memory, segment->n_bytes);
                if (r < 0)
                        mapping_free(memory, segment->n_bytes);
        }
        if (r < 0) {
                segment_file_give(file, place);
                return r;
        }
        mapping_advise(segment->memory, segment->n_bytes);
        segment->place = place;
        segment->file = segment_file_ref(file);
        return 0;
}

Segment *segment_ref(Segment *segment) {
        segment->n_refs++;
        return segment;
}

Segment *segment_unref(Segment *segment) {
        if (!segment)
                return NULL;
        assert(segment->n_refs > 0);
        if (--segment->n_refs > 0)
                return NULL;

        mapping_free(segment->memory, segment->n_bytes);
        if (segment->file)
                segment_file_give(segment->file, segment->place);
        segment_file_unref(segment->file);
        free(segment);
        return NULL;
}
