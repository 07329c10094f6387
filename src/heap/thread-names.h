/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thread names: which thread a call stack belongs to, as its outermost frame
 *
 * Threads are told apart by their names. The workers of a pool share a name, and one worker may free what another has
 * allocated. A thread begins with the name of the thread that started it, and usually gets a name of its own soon
 * after. So it is asked for its name at its first sample, and then less and less often. Names are only ever added.
 */

#include "heap/sites.h"
#include "heap/thread-state.h"

#define THREAD_NAMES_MAX   256u
#define THREAD_NAME_BYTES  16u /* the length of the kernel's names, with the final 0 */
#define THREAD_FRAME_BYTES (THREAD_NAME_BYTES + 9u)

/* The frame of the calling thread. The caller holds the lock of the sites. */
SiteFrame thread_names_frame(HeapThread *thread);

/* The name of a frame without a file: for a thread it is "[thread NAME]". A frame that is in a stack may be asked
 * about without a lock. */
const char *thread_names_text(uint64_t address);
