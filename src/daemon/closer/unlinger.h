/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unlinger: lets a thread release peers' sockets without lingering
 *
 * The last reference to a TCP socket is released only after as long as its owner has said (SO_LINGER), be it with
 * close() or with anything else that lets the kernel drop a descriptor. A signal ends that wait, so between begin and
 * end the thread gets one several thousand times a second. What waits without heeding signals, such as the close of a
 * file of FUSE, goes on waiting.
 */

#include <stdbool.h>
#include <time.h>

typedef struct Unlinger {
        timer_t timer;
        bool has_timer; /* else the thread lingers */
} Unlinger;

/* For the calling thread, which has all signals blocked. */
void unlinger_begin(Unlinger *unlinger);
void unlinger_end(Unlinger *unlinger);
