/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outbox: what waits to be written to an output, and how far that has come, for the process that comes after this one
 *
 * A memfd with cells for batches of packets, and a row of the batches that were pushed. A batch is read into a cell, so
 * that nothing is copied; it is there from the store by which it is pushed on, and gone with the store by which it was
 * put, which also says where the output ends then. Into a pipe batches go in pieces, each of which is announced first:
 * nobody else can tell whether a piece is in there.
 *
 * One thread pushes, another one puts; cells are lent and given back under a lock of theirs.
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
        const uint8_t *data; /* in a cell; NULL: it lay elsewhere, and is lost with its process */
        size_t n_bytes;
        bool is_end;
        uint64_t n_packets;        /* that had been read when it was pushed */
        uint64_t said;             /* what had been said then: a number of the session's */
        uint64_t n_packets_before; /* likewise, of the one before it */
} OutboxBatch;

/* Returns 0 or a negative errno. */
int outbox_new(Outbox *box);
/* One that another process has made; takes the descriptor over on success only. Returns 0, -EBADMSG, or another
 * errno. */
int outbox_find(Outbox *box, int fd);
void outbox_deinit(Outbox *box);

/* Room for a batch; the same until it was pushed. Returns NULL if none is free. */
uint8_t *outbox_borrow(Outbox *box);
bool outbox_has(const Outbox *box, const uint8_t *data);
void outbox_give_back(Outbox *box, const uint8_t *data);

/* Of a batch that was borrowed, or lies elsewhere. There are never more than OUTBOX_BATCHES_MAX. */
void outbox_push(Outbox *box, const OutboxBatch *batch);
/* The first batch is put, and the output has this many bytes. */
void outbox_put(Outbox *box, uint64_t n_written, bool is_full);

/* A piece of the first batch is about to be written to a pipe, which then has n_moved bytes of the batch; and it was
 * written. */
void outbox_announce(Outbox *box, uint64_t n_moved);
void outbox_confirm(Outbox *box, uint64_t n_moved);
/* How many bytes of the first batch are in the pipe. false: nobody knows. */
bool outbox_moved(const Outbox *box, uint64_t *ret);

/* Where the output begins, before the first batch is put. */
void outbox_begin(Outbox *box, uint64_t offset);
uint64_t outbox_began_at(const Outbox *box);

/* As of the last batch that was put; is_full may be NULL. */
uint64_t outbox_written(const Outbox *box, bool *ret_is_full);
/* Whether a batch was pushed that is_end; how many packets had been read for all that were pushed. */
bool outbox_has_end(const Outbox *box);
uint64_t outbox_n_packets(const Outbox *box);
/* Of the last batch that was pushed. */
uint64_t outbox_said(const Outbox *box);

/* The batches that were pushed and not put, in their order. */
size_t outbox_n_batches(const Outbox *box);
OutboxBatch outbox_batch(const Outbox *box, size_t i);
