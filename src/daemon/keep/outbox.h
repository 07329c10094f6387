/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outbox: batches that wait to be written to an output, in a memfd for the next process
 *
 * The memfd has cells for batches of packets, and a row of the batches that were pushed. A session is read directly
 * into a cell, so that nothing is copied. One store pushes the batch, and another one, which also says where the
 * output then ends, marks it as put. Batches go into a pipe in pieces, each of which is announced first, because
 * nobody else can tell whether a piece is already in the pipe.
 *
 * One thread pushes, another one puts. Cells are lent and given back under a lock of their own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTBOX_BATCHES_MAX 64
#define OUTBOX_CELL_BYTES  (512u << 10)
#define OUTBOX_LENT_BYTES  (OUTBOX_CELL_BYTES - 1) /* Bytes.n_allocated: lent */

typedef struct OutboxHead OutboxHead;

typedef struct Outbox {
        int fd;
        OutboxHead *head; /* NULL: none */
        uint64_t lent;    /* a bit for each cell */
        int borrowed;     /* the cell that is being filled, or -1 */
} Outbox;

#define OUTBOX_INIT \
        { .fd = -1, .borrowed = -1 }

typedef struct OutboxBatch {
        const uint8_t *data; /* in a cell; NULL: it lay elsewhere, and was lost with its process */
        size_t n_bytes;
        bool is_end;
        uint64_t n_packets;        /* packets that had been read when it was pushed */
        uint64_t said;             /* what had been announced then, as a number of the session's */
        uint64_t n_packets_before; /* likewise, for the batch before it */
} OutboxBatch;

/* Returns 0 or a negative errno. */
int outbox_new(Outbox *box);
/* Opens the outbox of another process; takes the descriptor over on success only. Returns 0, -EBADMSG, or another
 * errno. */
int outbox_find(Outbox *box, int fd);
void outbox_deinit(Outbox *box);

/* Returns room for a batch, the same until that was pushed; NULL if no cell is free. */
uint8_t *outbox_borrow(Outbox *box);
bool outbox_has(const Outbox *box, const uint8_t *data);
void outbox_give_back(Outbox *box, const uint8_t *data);

/* Pushes a batch, in the borrowed room or elsewhere. There are never more than OUTBOX_BATCHES_MAX. */
void outbox_push(Outbox *box, const OutboxBatch *batch);
/* Notes that the first batch is put, and that the output has this many bytes. */
void outbox_put(Outbox *box, uint64_t n_written, bool is_full);

/* Notes that a piece of the first batch is about to be written to a pipe, which then has n_moved bytes of the
 * batch, and that it was written. */
void outbox_announce(Outbox *box, uint64_t n_moved);
void outbox_confirm(Outbox *box, uint64_t n_moved);
/* Gets how many bytes of the first batch are in the pipe. Returns false if nobody knows. */
bool outbox_moved(const Outbox *box, uint64_t *ret);

/* Where the output begins, before the first batch is put. */
void outbox_begin(Outbox *box, uint64_t offset);
uint64_t outbox_began_at(const Outbox *box);

/* The output's size after the last batch that was put; is_full may be NULL. */
uint64_t outbox_written(const Outbox *box, bool *ret_is_full);
/* Whether the end was pushed, and how many packets had been read for all batches that were pushed. */
bool outbox_has_end(const Outbox *box);
uint64_t outbox_n_packets(const Outbox *box);
/* The number that the last pushed batch has announced. */
uint64_t outbox_said(const Outbox *box);

/* The batches that were pushed and not put, in their order. */
size_t outbox_n_batches(const Outbox *box);
OutboxBatch outbox_batch(const Outbox *box, size_t i);
