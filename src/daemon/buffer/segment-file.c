/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Segment file: the memory of segments in one memfd */

#include <assert.h>
#include <errno.h>

#include "buffer/mapping.h"
#include "buffer/segment-file.h"
#include "shared/fd.h"

#define HUGE_PAGE_BYTES (2u << 20)

/* Large segments can have huge pages only where these begin. */
static size_t place_bytes(size_t segment_bytes) {
        return segment_bytes >= HUGE_PAGE_BYTES
                       ? ALIGN_UP(segment_bytes, (size_t)HUGE_PAGE_BYTES)
                       : ALIGN_UP(segment_bytes, (size_t)MAPPING_ALIGNMENT);
}

static int segment_file_allocate(SegmentFile **ret, int fd, size_t segment_bytes) {
        SegmentFile *file;

        file = malloc(sizeof(*file));
        if (!file)
                return -ENOMEM;
        *file = (SegmentFile){ .fd = fd, .n_refs = 1, .n_place = place_bytes(segment_bytes) };
        *ret = file;
        return 0;
}

int segment_file_new(SegmentFile **ret, size_t segment_bytes) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = fd_new_growing_memfd(&fd, "desktrace-segments");
        if (r < 0)
                return r;
        r = segment_file_allocate(ret, fd, segment_bytes);
        if (r == 0)
                TAKE_FD(fd);
        return r;
}

SegmentFile *segment_file_ref(SegmentFile *file) {
        file->n_refs++;
        return file;
}

SegmentFile *segment_file_unref(SegmentFile *file) {
        if (!file)
                return NULL;
        assert(file->n_refs > 0);
        if (--file->n_refs > 0)
                return NULL;
        fd_close(file->fd);
        free(file->free);
        free(file->is_claimed);
        free(file);
        return NULL;
}

int segment_file_find(SegmentFile **ret, int fd, size_t segment_bytes) {
        SegmentFile *file;
        uint64_t n_bytes;
        int r;

        if (fd_check_growing_memfd(fd, &n_bytes) < 0 ||
            n_bytes / place_bytes(segment_bytes) > SEGMENT_FILE_PLACES_MAX)
                return -EINVAL;
        r = segment_file_allocate(&file, fd, segment_bytes);
        if (r < 0)
                return r;
        file->n_places = (uint32_t)(n_bytes / file->n_place);
        file->is_claimed = calloc(file->n_places + 1, 1);
        file->free = malloc((file->n_places + 1) * sizeof(*file->free));
        if (!file->is_claimed || !file->free) {
                file->fd = -1;
                segment_file_unref(file);
                return -ENOMEM;
        }
        /* Until everything is claimed, a failure must not lose anything. */
        file->is_left = true;
        *ret = file;
        return 0;
}

bool segment_file_claim(SegmentFile *file, uint32_t place) {
        if (place >= file->n_places || file->is_claimed[place])
                return false;
        file->is_claimed[place] = true;
        return true;
}

static void segment_file_punch(const SegmentFile *file, uint32_t place) {
        fd_punch_memfd(file->fd, segment_file_offset(file, place), file->n_place);
}

void segment_file_settle(SegmentFile *file) {
        for (uint32_t place = file->n_places; place > 0; place--) {
                if (file->is_claimed[place - 1])
                        continue;
                segment_file_punch(file, place - 1);
                file->free[file->n_free++] = place - 1;
        }
        free(TAKE(file->is_claimed));
}

static int segment_file_grow(SegmentFile *file) {
        uint32_t *places;

        if (file->n_places == SEGMENT_FILE_PLACES_MAX)
                return -ENOMEM;
        /* Allocated now, so that giving a place back needs no memory. */
        places = realloc(file->free, (file->n_places + 1) * sizeof(*places));
        if (!places)
                return -ENOMEM;
        file->free = places;
        if (fd_grow_memfd(file->fd, segment_file_offset(file, file->n_places + 1)) < 0)
                return -ENOMEM;
        file->free[file->n_free++] = file->n_places++;
        return 0;
}

int segment_file_take(SegmentFile *file, uint32_t *ret_place) {
        int r;

        r = file->n_free == 0 ? segment_file_grow(file) : 0;
        if (r == 0)
                *ret_place = file->free[--file->n_free];
        return r;
}

void segment_file_give(SegmentFile *file, uint32_t place) {
        if (file->is_left)
                return;
        segment_file_punch(file, place);
        file->free[file->n_free++] = place;
}
