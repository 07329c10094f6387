/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Observers: who in the program wants to know whether it is recorded
 *
 * See <desktrace/recording.h>. They have a lock of their own, which is never held over a callback.
 */

#include "desktrace/recording.h"

/* A session has started, or is about to end: tells everybody. The library's thread, without any lock. */
void observers_tell(dt_recording what);

/* Tells those who came while sessions were recording. The library's thread, in each turn. */
void observers_greet(void);
