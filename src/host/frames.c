/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frames: turns the moments at which a surface's frames were finished or shown into intervals, and tells which
 * were late */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/frames.h"
#include "shared/macro.h"

#define SECOND_NS UINT64_C(1000000000)

int frames_init(Frames *frames) {
        frames->runs = calloc(FRAME_RUNS_MAX, sizeof(*frames->runs));
        return frames->runs ? 0 : -ENOMEM;
}

void frames_deinit(Frames *frames) {
        free(frames->runs);
        *frames = (Frames){};
}

static bool is_kind(const FrameRun *run, const FrameKey *key) {
        return run->used_ns > 0 && run->key.pid == key->pid && run->key.point == key->point;
}

static FrameRun *find(Frames *frames, const FrameKey *key) {
        for (size_t i = 0; i < FRAME_RUNS_MAX; i++)
                if (is_kind(&frames->runs[i], key) && frames->runs[i].key.surface == key->surface)
                        return &frames->runs[i];
        return NULL;
}

/* The lowest number that no other surface has, so that names of tracks are reused. */
static unsigned free_ordinal(const Frames *frames, const FrameKey *key) {
        unsigned ordinal = 1;

        for (size_t i = 0; i < FRAME_RUNS_MAX; i++)
                if (is_kind(&frames->runs[i], key) && frames->runs[i].ordinal == ordinal) {
                        ordinal++;
                        i = (size_t)-1;
                }
        return ordinal;
}

/* Takes the place of the surface that has not been seen for longest: of all surfaces, or of the process's own. */
static FrameRun *make(Frames *frames, const FrameKey *key) {
        FrameRun *oldest = &frames->runs[0], *oldest_own = NULL;
        unsigned n_own = 0;

        for (size_t i = 0; i < FRAME_RUNS_MAX; i++) {
                FrameRun *run = &frames->runs[i];
                const bool is_own = run->used_ns > 0 && run->key.pid == key->pid;

                n_own += is_own;
                if (is_own && (!oldest_own || run->used_ns < oldest_own->used_ns))
                        oldest_own = run;
                if (run->used_ns < oldest->used_ns)
                        oldest = run;
        }
        if (n_own >= FRAME_RUNS_OF_ONE)
                oldest = oldest_own;
        *oldest = (FrameRun){};
        *oldest = (FrameRun){ .key = *key, .ordinal = free_ordinal(frames, key) };
        return oldest;
}

bool frames_has_commit(const Frames *frames, pid_t pid, uint64_t now_ns) {
        for (size_t i = 0; i < FRAME_RUNS_MAX; i++) {
                const FrameRun *run = &frames->runs[i];

                if (run->used_ns > 0 && run->key.pid == pid && run->key.is_commit &&
                    now_ns < run->used_ns + SECOND_NS)
                        return true;
        }
        return false;
}

static int compare_numbers(const void *a, const void *b) {
        uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

        return (first > second) - (first < second);
}

static uint64_t median(const FrameRun *run) {
        size_t n = MIN(run->n_intervals, (size_t)FRAME_INTERVALS);
        uint64_t sorted[FRAME_INTERVALS];

        memcpy(sorted, run->intervals, n * sizeof(*sorted));
        qsort(sorted, n, sizeof(*sorted), compare_numbers);
        return n > 0 ? sorted[n / 2] : 0;
}

static uint64_t usual_interval(const FrameRun *run, uint64_t refresh_ns) {
        if (refresh_ns == 0 || refresh_ns > FRAME_REFRESH_MAX)
                refresh_ns = FRAME_REFRESH_NS;
        return MAX(refresh_ns, median(run));
}

static void add_interval(FrameRun *run, uint64_t at_ns, uint64_t refresh_ns, Frame *frame) {
        uint64_t interval = at_ns - run->last_ns;

        frame->has_begin = interval <= FRAME_PAUSE_NS;
        frame->begin_ns = run->last_ns;
        frame->usual_ns = usual_interval(run, refresh_ns);
        if (!frame->has_begin)
                return;
        if (run->n_intervals >= FRAME_INTERVALS_OK && interval * 2 > frame->usual_ns * 3)
                frame->n_missed = (unsigned)MAX(
                        (interval + frame->usual_ns / 2) / frame->usual_ns - 1, (uint64_t)1);
        run->intervals[run->n_intervals++ % FRAME_INTERVALS] = interval;
}

/* Reports the frames of the last second once it has passed. */
static int count_second(FrameRun *run, uint64_t at_ns) {
        uint64_t passed = at_ns - run->second_ns;
        int fps = -1;

        if (run->second_ns == 0 || passed >= 2 * SECOND_NS) {
                run->second_ns = at_ns;
                run->n_in_second = 0;
        } else if (passed >= SECOND_NS) {
                fps = (int)((run->n_in_second * SECOND_NS + passed / 2) / passed);
                run->second_ns = at_ns;
                run->n_in_second = 0;
        }
        run->n_in_second++;
        return fps;
}

bool frames_add(Frames *frames,
                const FrameKey *key,
                uint64_t at_ns,
                uint64_t refresh_ns,
                Frame *ret) {
        FrameRun *run = find(frames, key) ?: make(frames, key);

        if (run->n_frames > 0 && at_ns <= run->last_ns)
                return false;
        *ret = (Frame){ .ordinal = run->ordinal, .number = ++run->n_frames, .fps = -1 };
        if (run->n_frames > 1)
                add_interval(run, at_ns, refresh_ns, ret);
        ret->fps = count_second(run, at_ns);
        run->last_ns = run->used_ns = at_ns;
        return true;
}
