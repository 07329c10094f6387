/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frames: turns the moments at which a surface's frames were finished or shown into intervals, and tells which were
 * late
 *
 * What counts as late depends on what is usual: a film with 30 frames a second is not late on a display with 60. So
 * the measure is the display's time of refresh if it is known, but not less than the median of the last intervals. A
 * program that pauses wants no frames, so the first one after a pause begins a new run and is not late. Memory is
 * fixed; beyond the limit, the surface that has not been seen for longest is forgotten, or one of the same process
 * if that has very many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FRAME_RUNS_MAX     256 /* surfaces */
#define FRAME_RUNS_OF_ONE  32  /* process */
#define FRAME_INTERVALS    31  /* intervals of which the median is taken */
#define FRAME_PAUSE_NS     UINT64_C(250000000)
#define FRAME_REFRESH_NS   UINT64_C(16666667) /* where nobody says */
#define FRAME_REFRESH_MAX  UINT64_C(200000000)
#define FRAME_INTERVALS_OK 5 /* until this many intervals are known, no frame is late */

typedef struct FrameKey {
        pid_t pid;
        const void *point; /* of what kind */
        uint64_t surface;
        bool is_commit; /* frames are committed to a compositor */
} FrameKey;

typedef struct FrameRun {
        FrameKey key;
        unsigned ordinal; /* counts from 1 for each kind and process; may be reused */
        uint64_t used_ns; /* 0: free */
        uint64_t last_ns, n_frames;
        uint64_t intervals[FRAME_INTERVALS];
        size_t n_intervals;
        uint64_t second_ns; /* when the second that is counted began */
        unsigned n_in_second;
} FrameRun;

typedef struct Frame {
        unsigned ordinal;
        uint64_t number; /* in the recording, from 1 on */
        bool has_begin;  /* another frame came directly before it */
        uint64_t begin_ns;
        uint64_t usual_ns; /* what was expected */
        unsigned n_missed; /* frames that could have been in between; late if not 0 */
        int fps;           /* in the second that has just ended; -1: none has */
} Frame;

typedef struct Frames {
        FrameRun *runs;
} Frames;

/* Returns 0 or -ENOMEM. */
int frames_init(Frames *frames);
void frames_deinit(Frames *frames);

/* Whether the process has committed a frame in the last second. */
bool frames_has_commit(const Frames *frames, pid_t pid, uint64_t now_ns);

/* A frame was finished. `refresh_ns` is 0 if it is not known. Returns false if it is not later than the one before. */
bool frames_add(Frames *frames,
                const FrameKey *key,
                uint64_t at_ns,
                uint64_t refresh_ns,
                Frame *ret);
