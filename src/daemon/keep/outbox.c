/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Outbox: its row of batches is a ring of entries, of which only those from n_put to n_pushed are valid */

#include <errno.h>

#include "buffer/mapping.h"
#include "keep/outbox.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define OUTBOX_MAGIC  UINT64_C(0x786f622074754f44) /* text, in little-endian order */
#define OUTBOX_LAYOUT 2
#define NO_CELL       UINT32_MAX
#define IS_FULL       (UINT64_C(1) << 63)
#define MOVED_BITS    40 /* of a position in a batch; the batch's number is above them */

typedef struct OutboxEntry {
        uint32_t cell; /* or NO_CELL */
        uint32_t n_bytes;
        uint32_t is_end;
        uint32_t has_end; /* this batch or an earlier one is the end */
        uint64_t n_packets;
        uint64_t said;
} OutboxEntry;

struct OutboxHead {
        uint64_t magic; /* stored last */
        uint32_t layout, cell_bytes;
        uint64_t began_at;
        uint64_t n_pushed, n_put; /* each is stored last, after everything that it refers to */
        uint64_t announced, confirmed;
        OutboxEntry entries[OUTBOX_BATCHES_MAX];
        uint64_t ends[OUTBOX_BATCHES_MAX]; /* bytes written with each batch | IS_FULL */
};

static size_t file_bytes(void) {
        return MAPPING_ALIGNMENT + (size_t)OUTBOX_BATCHES_MAX * OUTBOX_CELL_BYTES;
}

static uint8_t *cells_of(const Outbox *box) {
        return (uint8_t *)box->head + MAPPING_ALIGNMENT;
}

static int outbox_map(Outbox *box, int fd) {
        void *memory;
        int r;

        r = mapping_new(&memory, file_bytes(), fd, 0);
        if (r < 0)
                return r;
        *box = (Outbox){ .fd = fd, .head = memory, .borrowed = -1 };
        return 0;
}

int outbox_new(Outbox *box) {
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = fd_new_sealed_memfd(&fd, "desktrace-outbox", file_bytes());
        if (r == 0)
                r = outbox_map(box, fd);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        box->head->layout = OUTBOX_LAYOUT;
        box->head->cell_bytes = OUTBOX_CELL_BYTES;
        __atomic_store_n(&box->head->magic, OUTBOX_MAGIC, __ATOMIC_RELEASE);
        return 0;
}

static OutboxEntry *entry_of(const Outbox *box, uint64_t number) {
        return &box->head->entries[number % OUTBOX_BATCHES_MAX];
}

static bool entry_is_possible(const OutboxEntry *entry) {
        return entry->cell == NO_CELL ||
               (entry->cell < OUTBOX_BATCHES_MAX && entry->n_bytes <= OUTBOX_CELL_BYTES);
}

/* The cells that are in use, each by one batch. */
static bool outbox_check(Outbox *box) {
        const OutboxHead *head = box->head;

        if (head->magic != OUTBOX_MAGIC || head->layout != OUTBOX_LAYOUT ||
            head->cell_bytes != OUTBOX_CELL_BYTES || head->n_put > head->n_pushed ||
            head->n_pushed - head->n_put > OUTBOX_BATCHES_MAX)
                return false;
        for (uint64_t i = head->n_put; i < head->n_pushed; i++) {
                const OutboxEntry *entry = entry_of(box, i);

                if (!entry_is_possible(entry))
                        return false;
                if (entry->cell == NO_CELL)
                        continue;
                if (box->lent & UINT64_C(1) << entry->cell)
                        return false;
                box->lent |= UINT64_C(1) << entry->cell;
        }
        return true;
}

int outbox_find(Outbox *box, int fd) {
        int r;

        if (fd_check_sealed_memfd(fd, file_bytes()) < 0)
                return -EBADMSG;
        r = outbox_map(box, fd);
        if (r < 0)
                return r;
        if (outbox_check(box))
                return 0;
        box->fd = -1;
        outbox_deinit(box);
        return -EBADMSG;
}

void outbox_deinit(Outbox *box) {
        if (box->head)
                mapping_free(box->head, file_bytes());
        fd_close(box->fd);
        *box = (Outbox)OUTBOX_INIT;
}

/* The lowest free cell: while few batches wait, few cells are ever touched. */
uint8_t *outbox_borrow(Outbox *box) {
        if (box->borrowed < 0) {
                if (box->lent == UINT64_MAX)
                        return NULL;
                box->borrowed = __builtin_ctzll(~box->lent);
                box->lent |= UINT64_C(1) << box->borrowed;
        }
        return cells_of(box) + (size_t)box->borrowed * OUTBOX_CELL_BYTES;
}

bool outbox_has(const Outbox *box, const uint8_t *data) {
        return box->head && data >= cells_of(box) &&
               data < cells_of(box) + (size_t)OUTBOX_BATCHES_MAX * OUTBOX_CELL_BYTES;
}

void outbox_give_back(Outbox *box, const uint8_t *data) {
        const size_t cell = (size_t)(data - cells_of(box)) / OUTBOX_CELL_BYTES;

        box->lent &= ~(UINT64_C(1) << cell);
}

void outbox_push(Outbox *box, const OutboxBatch *batch) {
        OutboxHead *head = box->head;
        OutboxEntry *entry = entry_of(box, head->n_pushed);

        *entry = (OutboxEntry){
                .cell = NO_CELL,
                .n_bytes = (uint32_t)MIN(batch->n_bytes, (size_t)UINT32_MAX),
                .is_end = batch->is_end,
                .has_end = batch->is_end || outbox_has_end(box),
                .n_packets = batch->n_packets,
                .said = batch->said,
        };
        if (outbox_has(box, batch->data)) {
                entry->cell = (uint32_t)((size_t)(batch->data - cells_of(box)) / OUTBOX_CELL_BYTES);
                if ((int)entry->cell == box->borrowed)
                        box->borrowed = -1;
        }
        __atomic_store_n(&head->n_pushed, head->n_pushed + 1, __ATOMIC_RELEASE);
}

void outbox_put(Outbox *box, uint64_t n_written, bool is_full) {
        OutboxHead *head = box->head;

        head->ends[head->n_put % OUTBOX_BATCHES_MAX] = n_written | (is_full ? IS_FULL : 0);
        __atomic_store_n(&head->n_put, head->n_put + 1, __ATOMIC_RELEASE);
}

/* A position has the batch's number in it, so that one of another batch does not count. */
static uint64_t position_of(const Outbox *box, uint64_t n_moved) {
        return box->head->n_put << MOVED_BITS | n_moved;
}

void outbox_announce(Outbox *box, uint64_t n_moved) {
        __atomic_store_n(&box->head->announced, position_of(box, n_moved), __ATOMIC_RELEASE);
}

void outbox_confirm(Outbox *box, uint64_t n_moved) {
        __atomic_store_n(&box->head->confirmed, position_of(box, n_moved), __ATOMIC_RELEASE);
}

bool outbox_moved(const Outbox *box, uint64_t *ret) {
        const uint64_t none = position_of(box, 0);
        const uint64_t announced = box->head->announced, confirmed = box->head->confirmed;

        *ret = confirmed >= none ? confirmed - none : 0;
        return announced < none || announced == confirmed;
}

void outbox_begin(Outbox *box, uint64_t offset) {
        __atomic_store_n(&box->head->began_at, offset, __ATOMIC_RELEASE);
}

uint64_t outbox_began_at(const Outbox *box) {
        return box->head->began_at;
}

uint64_t outbox_written(const Outbox *box, bool *ret_is_full) {
        const OutboxHead *head = box->head;
        const uint64_t end =
                head->n_put > 0 ? head->ends[(head->n_put - 1) % OUTBOX_BATCHES_MAX] : 0;

        if (ret_is_full)
                *ret_is_full = end & IS_FULL;
        return end & ~IS_FULL;
}

bool outbox_has_end(const Outbox *box) {
        return box->head->n_pushed > 0 && entry_of(box, box->head->n_pushed - 1)->has_end;
}

uint64_t outbox_n_packets(const Outbox *box) {
        return box->head->n_pushed > 0 ? entry_of(box, box->head->n_pushed - 1)->n_packets : 0;
}

uint64_t outbox_said(const Outbox *box) {
        return box->head->n_pushed > 0 ? entry_of(box, box->head->n_pushed - 1)->said : 0;
}

size_t outbox_n_batches(const Outbox *box) {
        return (size_t)(box->head->n_pushed - box->head->n_put);
}

OutboxBatch outbox_batch(const Outbox *box, size_t i) {
        const uint64_t number = box->head->n_put + i;
        const OutboxEntry *entry = entry_of(box, number);

        return (OutboxBatch){
                .data = entry->cell == NO_CELL
                                ? NULL
                                : cells_of(box) + (size_t)entry->cell * OUTBOX_CELL_BYTES,
                .n_bytes = entry->n_bytes,
                .is_end = entry->is_end,
                .n_packets = entry->n_packets,
                .said = entry->said,
                .n_packets_before = number > 0 ? entry_of(box, number - 1)->n_packets : 0,
        };
}
