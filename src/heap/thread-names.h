/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thread names: which thread a call stack belongs to, as its outermost frame
 *
 * Threads are told apart by their names: a pool's workers have one name together, and what a thread of them allocates
 * another one may free. A thread begins with the name of the one that has started it and mostly gets its own soon
 * after, so it is asked for its name at its first sample and then ever less often. Names are only ever added.
 */

#include "heap/sites.h"
#include "heap/thread-state.h"

#define THREAD_NAMES_MAX   256u
#define THREAD_NAME_BYTES  16u /* of the kernel's names, with the 0 */
#define THREAD_FRAME_BYTES (THREAD_NAME_BYTES + 9u)

/* The frame of the calling thread. Under the lock of the sites. */
SiteFrame thread_names_frame(HeapThread *thread);

/* What a frame without a file is called: one of a thread "[thread NAME]". Frames that are in a stack may be asked for
 * without a lock. */
const char *thread_names_text(uint64_t address);
