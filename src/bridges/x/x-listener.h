/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * X listener: hears from an X server when windows' frames were shown
 *
 * Any client of a server may be told of the frames that others present (X Present), for each window that it asks about.
 * So the listener asks about all windows that exist, and about new ones as they are made. A server may answer late or
 * never, and libxcb waits for it; so all of this happens on a thread of its own, which nobody waits for. A thread that
 * is held up by its server ends as soon as the server lets it. A build without libxcb has the same functions, and no
 * connection.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define X_CLIENTS_MAX   512 /* clients whose processes are remembered */
#define X_FRAMES_MAX    4096 /* frames that nobody has taken yet; frames beyond are counted as lost */
#define X_LISTENERS_MAX 4    /* threads at once, including those that a server holds up */
#define X_DEPTH_MAX     32   /* levels of windows that are listed */

typedef enum XState {
        X_CONNECTING,
        X_LISTENING,
        X_NO_DISPLAY, /* no server answers, or it refuses the connection */
        X_NO_PRESENT, /* the server lacks the extension */
        X_ENDED,      /* the server is gone */
} XState;

typedef enum XFrameMode {
        X_FRAME_COPIED = 0,
        X_FRAME_FLIPPED = 1,
        X_FRAME_SKIPPED = 2, /* the next one came before it could be shown */
} XFrameMode;

typedef struct XFrame {
        uint32_t window;
        pid_t pid;       /* the process that has the window; 0: not known */
        uint64_t at_us;  /* CLOCK_MONOTONIC, as far as the server has it */
        uint64_t number; /* of the display's frame */
        unsigned mode;
} XFrame;

typedef struct XListener XListener;

bool x_listener_is_built(void);

/* Returns 0 or a negative errno, with -EBUSY if X_LISTENERS_MAX wait for their servers. */
int x_listener_start(XListener **ret);
/* Accepts NULL and returns NULL. */
XListener *x_listener_stop(XListener *listener);

XState x_listener_state(XListener *listener);
/* Takes the next frame. Returns false if no frame waits. */
bool x_listener_take(XListener *listener, XFrame *ret);
/* How many frames had no room until now, and how many windows are not listened to. */
void x_listener_count(XListener *listener, uint64_t *ret_n_lost, uint64_t *ret_n_left_out);
