/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * X recorder: frames that an X server has shown, as slices
 *
 * Sans-I/O. They have the shape of all frames (host/frame-tracks.h), below the process whose window was shown. How
 * often the display is refreshed is computed from the numbers of its frames.
 */

#include "bridges/x/x-listener.h"
#include "host/frames.h"
#include "host/program-names.h"
#include "host/track-writer.h"

typedef struct XWindow {
        uint32_t window;
        uint64_t at_us, number;
} XWindow;

typedef struct XRecorder {
        TrackWriter *tracks; /* borrowed; its clock is MONOTONIC */
        ProgramNames names;
        Frames frames;
        XWindow windows[FRAME_RUNS_MAX]; /* when each window's last frame was shown */
        uint64_t n_nonsense;             /* frames that were skipped */
} XRecorder;

/* Returns 0 or -ENOMEM. */
int x_recorder_init(XRecorder *recorder, TrackWriter *tracks);
void x_recorder_deinit(XRecorder *recorder);

/* `now_ns` is MONOTONIC. */
void x_recorder_take(XRecorder *recorder, const XFrame *frame, uint64_t now_ns);
/* Writes an instant of X as a whole, with a reason (or NULL) or a number. */
void x_recorder_tell(XRecorder *recorder, uint64_t now_ns, const char *what, const char *why);
void x_recorder_count(XRecorder *recorder,
                      uint64_t now_ns,
                      const char *what,
                      const char *of,
                      uint64_t n);
