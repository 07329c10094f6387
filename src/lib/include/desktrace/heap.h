/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heaps: tell recordings what a program's own allocator gives out
 *
 * `desktrace record --heap` sees the C library's malloc(). A program that takes large blocks from there, or from
 * mmap(), and gives out parts of them itself (a pool, a game's arena, buffers of a media pipeline) says here what it
 * gives out, and the recording has a heap of that name beside "libc.malloc" and "mmap": the same samples, call stacks,
 * peaks and leaks. The blocks that it is made of stay in the heap that they came from.
 *
 * These functions only do something where libdesktrace-heap.so is loaded into the program, as --heap does; elsewhere a
 * call takes about a nanosecond. They cost what a call of malloc() costs there: a few nanoseconds, and
 * with one in 32 KiB on average a walk of the stack. They allocate nothing, from no heap, print nothing and leave errno
 * alone. All of them may be called by any thread, also while it holds locks of the allocator, but not by handlers of
 * signals. In a forked child they do nothing.
 *
 *      static dt_heap *heap;
 *
 *      void pool_init(void) {
 *              (void)dt_heap_register(&heap, "tiles");
 *      }
 *      void *pool_take(Pool *pool) {
 *              void *tile = …;
 *              dt_heap_allocated(heap, tile, sizeof(Tile));
 *              return tile;
 *      }
 *      void pool_give_back(Pool *pool, void *tile) {
 *              dt_heap_freed(heap, tile);
 *              …
 *      }
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DT_HEAP_NAME_MAX 63 /* bytes */

/* A heap of this program. There is nothing to free. */
typedef struct dt_heap dt_heap;

/* A heap of this name, which is copied: from 1 to DT_HEAP_NAME_MAX bytes of UTF-8. The same name is the same heap,
 * which lives until the program ends. Returns 0; or, with *ret = NULL, which the other functions take: -ENOSYS
 * (nothing can record heaps in this process), -EINVAL (no such name), -ENOBUFS (there are 30 heaps), -ECANCELED
 * (a forked child). */
int dt_heap_register(dt_heap **ret, const char *name);

/* The allocator gives out `n_bytes` bytes at `address`, before anybody else can give that back. An address that is in
 * use in this heap already counts as given back before. The call stack begins at the caller. NULL as the heap or the
 * address is allowed, and does nothing. */
void dt_heap_allocated(dt_heap *heap, const void *address, size_t n_bytes);

/* What was given out at `address` is given back: to be called before anybody else can be given it. An address that was
 * not given out, or not seen, is ignored. For a block that is resized in place: dt_heap_freed(), then
 * dt_heap_allocated(). */
void dt_heap_freed(dt_heap *heap, const void *address);

/* All of an arena is given back at once: each address in the `n_bytes` bytes from `start` on. It takes as long as
 * a few thousand calls of dt_heap_freed() at most. */
void dt_heap_freed_range(dt_heap *heap, const void *start, size_t n_bytes);

#ifdef __cplusplus
}
#endif
