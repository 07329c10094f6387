/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Capture control: the socket on which programs ask for rings, and a thread that answers and reads the rings
 *
 * Programs find the other end in $SYSPROF_CONTROL_FD, share it with their children, and ask once for each thread:
 * "CreatRing". They wait for the answer, GTK before it shows a window, and a ring that is full holds them up. So the
 * thread does nothing else, and answers and reads whether anybody records or not. A peer that breaks the protocol or
 * does not take its answers is disconnected, which programs survive. The rings of a program that has ended are found
 * by its pid.
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"
#include "shared/list.h"
#include "shared/macro.h"

#define CONTROL_RINGS_MAX 512 /* further threads get an answer without a ring */
#define CONTROL_PERIOD_MS 20  /* the time between two looks at the rings */
#define CONTROL_QUEUE_BYTES_MAX \
        (16u << 20) /* what is kept for one taker; further bytes are dropped and counted */

#define CONTROL_ENV "SYSPROF_CONTROL_FD"

typedef struct CaptureControl CaptureControl;

/* What was read, for one recording. */
typedef struct CaptureTaker {
        List takers;
        Bytes pieces; /* each a CapturePiece and its frames */
        uint64_t n_lost;
} CaptureTaker;

typedef struct CapturePiece {
        uint64_t stream, n_bytes;
} CapturePiece;

/* Takes over our end of the pair of sockets, also when it fails. Returns 0 or a negative errno. */
int capture_control_new(CaptureControl **ret, int fd);
CaptureControl *capture_control_free(CaptureControl *control); /* there must be no taker left */
DEFINE_CLEANUP(CaptureControl *, capture_control_free)

/* Adds a taker of what programs write from now on; the first taker also gets what they have written before. */
void capture_control_attach(CaptureControl *control, CaptureTaker *taker);
void capture_control_detach(CaptureControl *control, CaptureTaker *taker);

/* Reads all rings now, and returns what there is for the taker; the caller owns *ret. *ret_n_lost counts since the last
 * call. */
void capture_control_take(CaptureControl *control,
                          CaptureTaker *taker,
                          Bytes *ret,
                          uint64_t *ret_n_lost);
