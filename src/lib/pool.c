/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pool: memory for the threads' own data, apart from the program's heap */

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/pool.h"
#include "shared/macro.h"

#define CLASSES     10  /* sizes of pieces, including their heads: each is twice the previous one */
#define PIECE_MIN   64u /* the first one's */
#define BLOCK_BYTES (256u << 10) /* the size of the blocks from which pieces are cut */

/* The head in front of the memory that the caller gets. */
typedef struct Piece {
        _Alignas(POOL_HEAD_BYTES) size_t n_bytes; /* with this */
        struct Piece *next;                       /* while it is free */
} Piece;

static_assert(sizeof(Piece) == POOL_HEAD_BYTES, "what is behind it is aligned for anything");
static_assert(PIECE_MIN << (CLASSES - 1) <= BLOCK_BYTES / 4, "little of a block is wasted");

/* Held for a few instructions, or one mmap(). */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Thread_local volatile bool is_inside __attribute__((__tls_model__("initial-exec")));

static Piece *free_pieces[CLASSES];
static uint8_t *block;
static size_t n_block; /* the rest of the current block */

/* Returns false if the caller is a signal handler that has interrupted its thread in the pool. */
static bool enter(void) {
        if (is_inside)
                return false;
        is_inside = true;
        while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
                sched_yield();
        return true;
}

static void leave(void) {
        atomic_flag_clear_explicit(&lock, memory_order_release);
        is_inside = false;
}

/* CLASSES: larger than every class. */
static unsigned class_of(size_t n_bytes) {
        unsigned class = 0;

        while (class < CLASSES && (size_t)PIECE_MIN << class < n_bytes)
                class ++;
        return class;
}

static void *map(size_t n_bytes) {
        void *memory =
                mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return memory == MAP_FAILED ? NULL : memory;
}

/* The rest of the last block is smaller than a large piece, and is wasted. */
static Piece *cut_off(size_t n_bytes) {
        Piece *piece;

        if (n_block < n_bytes) {
                uint8_t *another = map(BLOCK_BYTES);

                if (!another)
                        return NULL;
                block = another;
                n_block = BLOCK_BYTES;
        }
        piece = (Piece *)block;
        block += n_bytes;
        n_block -= n_bytes;
        return piece;
}

static Piece *take_piece(unsigned class) {
        Piece *piece;

        if (!enter())
                return NULL;
        piece = free_pieces[class];
        if (piece)
                free_pieces[class] = piece->next;
        else
                piece = cut_off((size_t)PIECE_MIN << class);
        leave();
        return piece;
}

void *pool_take(size_t n_bytes) {
        const unsigned class = class_of(n_bytes + sizeof(Piece));
        const size_t n = class < CLASSES ? (size_t)PIECE_MIN << class : n_bytes + sizeof(Piece);
        int saved_errno = errno;
        Piece *piece;

        if (n_bytes > SIZE_MAX - sizeof(Piece))
                return NULL;
        piece = class < CLASSES ? take_piece(class) : map(n);
        errno = saved_errno;
        if (!piece)
                return NULL;
        piece->n_bytes = n;
        return piece + 1;
}

void *pool_new(size_t n_bytes) {
        void *memory = pool_take(n_bytes);

        /* Separately mapped memory is zero already, and may stay untouched. */
        if (memory && class_of(n_bytes + sizeof(Piece)) < CLASSES)
                memset(memory, 0, n_bytes);
        return memory;
}

void *pool_free(void *memory) {
        Piece *piece = memory ? (Piece *)memory - 1 : NULL;
        int saved_errno = errno;
        unsigned class;

        if (!piece)
                return NULL;
        class = class_of(piece->n_bytes);
        if (class == CLASSES)
                munmap(piece, piece->n_bytes);
        else if (enter()) { /* otherwise the memory is lost */
                piece->next = free_pieces[class];
                free_pieces[class] = piece;
                leave();
        }
        errno = saved_errno;
        return NULL;
}

void pool_after_fork(void) {
        memset(free_pieces, 0, sizeof(free_pieces));
        n_block = 0;
        is_inside = false;
        atomic_flag_clear(&lock);
}
