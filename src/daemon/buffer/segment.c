/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory of a trace buffer, in pieces that clones can share. */

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "buffer/segment.h"

#define HUGE_PAGE_BYTES (2u << 20)

void segment_advise(void *memory, size_t n_bytes) {
        /* Where there are no huge pages, small ones do. */
        if (n_bytes >= HUGE_PAGE_BYTES)
                madvise(memory, n_bytes, MADV_HUGEPAGE);
}

int segment_new(Segment **ret, size_t n_bytes) {
        Segment *segment;
        void *memory;

        segment = malloc(sizeof(*segment));
        if (!segment)
                return -ENOMEM;

        /* Not malloc: a buffer of gigabytes that stays nearly empty must stay nearly free. */
        memory = mmap(NULL,
                      n_bytes,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1,
                      0);
        if (memory == MAP_FAILED) {
                free(segment);
                return -ENOMEM;
        }

        segment_advise(memory, n_bytes);
        *segment = (Segment){ .memory = memory, .n_bytes = n_bytes, .n_refs = 1 };
        *ret = segment;
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

        munmap(segment->memory, segment->n_bytes);
        free(segment);
        return NULL;
}
