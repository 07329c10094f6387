/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Observers: callbacks of the program for starts and ends of recordings
 *
 * See <desktrace/recording.h>. Observers have a lock of their own, which is never held during a callback.
 */

#include "desktrace/recording.h"

/* A session has started, or is about to end: calls all observers. On the library's thread, without any lock. */
void observers_tell(dt_recording what);

/* Calls observers that were added while sessions were recording. On the library's thread, in each turn. */
void observers_greet(void);
