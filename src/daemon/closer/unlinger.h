/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unlinger: lets a thread release peers' sockets without lingering
 *
 * The kernel releases the last reference to a TCP socket only after the time that its owner has set (SO_LINGER),
 * whether by close() or by anything else that drops a descriptor. A signal ends that wait. So between begin and end the
 * thread gets a signal several thousand times a second. Waits that ignore signals, such as closing a file of FUSE,
 * continue.
 */

#include <stdbool.h>
#include <time.h>

typedef struct Unlinger {
        timer_t timer;
        bool has_timer; /* else the thread lingers */
} Unlinger;

/* For the calling thread, which must have all signals blocked. */
void unlinger_begin(Unlinger *unlinger);
void unlinger_end(Unlinger *unlinger);
