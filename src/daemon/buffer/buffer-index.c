/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Buffer index: the memory of a trace buffer's index, and which parts of a found one can be trusted */

#include <errno.h>
#include <string.h>

#include "buffer/buffer-index.h"
#include "buffer/mapping.h"
#include "buffer/sequence-pool.h"
#include "shared/fd.h"

static const BufferIndex this_build = {
        .layout = BUFFER_INDEX_LAYOUT,
        .n_slot = sizeof(Slot),
        .n_record = sizeof(Record),
        .n_sequence = sizeof(Sequence),
};

static size_t head_bytes(const BufferShape *shape) {
        return ALIGN_UP(sizeof(BufferIndex), _Alignof(Slot)) + shape->n_slots * sizeof(Slot);
}

static uint64_t records_at(const BufferShape *shape) {
        return ALIGN_UP(head_bytes(shape), (uint64_t)MAPPING_ALIGNMENT) +
               sequence_pool_bytes((size_t)shape->n_sequences_max);
}

static uint64_t file_bytes(const BufferShape *shape) {
        return records_at(shape) +
               ALIGN_UP(shape->n_records * sizeof(Record), (uint64_t)MAPPING_ALIGNMENT);
}

static int buffer_index_map(BufferIndexFile *file, const BufferShape *shape) {
        void *memory;
        int r;

        file->n_head = head_bytes(shape);
        r = mapping_new(&memory, file->n_head, file->fd, 0);
        if (r < 0)
                return r;
        file->head = memory;
        file->slots = (Slot *)((uint8_t *)memory + ALIGN_UP(sizeof(BufferIndex), _Alignof(Slot)));
        file->sequences_at = ALIGN_UP(file->n_head, (uint64_t)MAPPING_ALIGNMENT);
        file->n_records = (size_t)shape->n_records * sizeof(Record);
        r = mapping_new(&memory, file->n_records, file->fd, records_at(shape));
        if (r < 0)
                return r;
        file->records = memory;
        return 0;
}

int buffer_index_init(BufferIndexFile *file, const BufferShape *shape, bool is_kept) {
        int r;

        *file = (BufferIndexFile){ .fd = -1 };
        r = is_kept ? fd_new_sealed_memfd(&file->fd, "desktrace-index", (size_t)file_bytes(shape))
                    : 0;
        if (r < 0)
                return r;
        r = buffer_index_map(file, shape);
        if (r < 0)
                return r;
        *file->head = this_build;
        file->head->shape = *shape;
        return 0;
}

void buffer_index_deinit(BufferIndexFile *file) {
        mapping_free(file->head, file->n_head);
        mapping_free(file->records, file->n_records);
        if (file->fd >= 0)
                fd_close(file->fd);
        *file = (BufferIndexFile){ .fd = -1 };
}

/* Most records were never touched, and need no memory in the file. */
static void copy_records(Record *to, const BufferIndexFile *file) {
        for (uint32_t i = 0; i < file->head->shape.n_slots; i++) {
                const Slot *slot = &file->slots[i];

                if (slot->n_records > 0)
                        memcpy(to + (slot->records - file->records),
                               slot->records,
                               slot->n_records * sizeof(*to));
        }
}

static int buffer_index_replace(const BufferIndexFile *file, const BufferIndexFile *by) {
        int r;

        memcpy(by->head, file->head, file->n_head);
        copy_records(by->records, file);
        r = mapping_replace(file->records, by->records, file->n_records);
        return r < 0 ? r : mapping_replace(file->head, by->head, file->n_head);
}

int buffer_index_keep(BufferIndexFile *file, int *ret_fd) {
        const BufferShape shape = file->head->shape;
        BufferIndexFile by = { .fd = -1 };
        int r;

        r = fd_new_sealed_memfd(&by.fd, "desktrace-index", (size_t)file_bytes(&shape));
        if (r == 0)
                r = buffer_index_map(&by, &shape);
        if (r == 0)
                r = buffer_index_replace(file, &by);
        if (r < 0) {
                buffer_index_deinit(&by);
                return r;
        }
        *ret_fd = by.fd;
        return 0;
}

int buffer_shape_init(BufferShape *shape,
                      uint64_t n_bytes,
                      size_t segment_bytes,
                      TraceBufferPolicy policy) {
        if (segment_bytes < segment_bytes_needed(1) || segment_bytes > UINT32_MAX ||
            n_bytes / segment_bytes < 2 || n_bytes / segment_bytes > UINT16_MAX)
                return -EINVAL;
        /* Every slot gets as many records as there can be chunks in it. */
        *shape = (BufferShape){
                .n_bytes = n_bytes,
                .segment_bytes = segment_bytes,
                .policy = policy,
                .n_slots = (uint32_t)(n_bytes / segment_bytes),
                .n_sequences_max = buffer_sequences_max(n_bytes),
        };
        shape->n_records = shape->n_slots * (segment_bytes / TRACE_BUFFER_RECORD_BYTES);
        return 0;
}

static bool shape_is_possible(const BufferShape *shape) {
        BufferShape made;

        if (shape->policy > TRACE_BUFFER_DISCARD || shape->n_bytes > TRACE_BUFFER_BYTES_MAX ||
            shape->segment_bytes > UINT32_MAX || shape->segment_bytes == 0 ||
            buffer_shape_init(&made,
                              shape->n_bytes,
                              (size_t)shape->segment_bytes,
                              (TraceBufferPolicy)shape->policy) < 0)
                return false;
        if (shape->is_packed == 1 && shape->n_records > 0 &&
            shape->n_records <= made.n_records + 1) {
                made.is_packed = 1;
                made.n_records = shape->n_records;
        }
        return memcmp(&made, shape, sizeof(made)) == 0;
}

/* Works on a copy until the index has been checked. */
static int buffer_index_read(BufferIndex *ret, int fd) {
        void *memory;
        int r;

        if (fd_check_sealed_memfd(fd, sizeof(*ret)) < 0)
                return BUFFER_INDEX_E_BROKEN;
        r = mapping_new(&memory, sizeof(*ret), fd, 0);
        if (r < 0)
                return r;
        memcpy(ret, memory, sizeof(*ret));
        mapping_free(memory, sizeof(*ret));
        return 0;
}

static int buffer_index_check(const BufferIndex *head, int fd) {
        if (head->magic != BUFFER_INDEX_MAGIC)
                return BUFFER_INDEX_E_BROKEN;
        if (head->layout != this_build.layout || head->n_slot != this_build.n_slot ||
            head->n_record != this_build.n_record || head->n_sequence != this_build.n_sequence)
                return BUFFER_INDEX_E_LAYOUT;
        if (!shape_is_possible(&head->shape) ||
            fd_check_sealed_memfd(fd, (size_t)file_bytes(&head->shape)) < 0)
                return BUFFER_INDEX_E_BROKEN;
        return head->n_sequences_ever <= head->shape.n_sequences_max ? 0 : BUFFER_INDEX_E_BROKEN;
}

int buffer_index_find(BufferIndexFile *file, int fd, BufferShape *ret_shape) {
        BufferIndex head;
        int r;

        *file = (BufferIndexFile){ .fd = -1 };
        r = buffer_index_read(&head, fd);
        if (r == 0)
                r = buffer_index_check(&head, fd);
        if (r != 0)
                return r;
        file->fd = fd;
        r = buffer_index_map(file, &head.shape);
        if (r < 0) {
                file->fd = -1;
                return r;
        }
        *ret_shape = head.shape;
        return 0;
}
