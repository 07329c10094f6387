/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* X recorder: frames that an X server has shown, as slices */

#include "bridges/x/x-recorder.h"
#include "host/frame-tracks.h"

#define NS_PER_US  1000
#define US_MAX     (UINT64_MAX / 4 / NS_PER_US)
#define AGE_MAX_NS UINT64_C(10000000000) /* frames that were shown longer ago are nonsense */
#define SLACK_NS   UINT64_C(1000000000)  /* and so are frames further in the future */

int x_recorder_init(XRecorder *recorder, TrackWriter *tracks) {
        int r;

        *recorder = (XRecorder){ .tracks = tracks };
        r = frames_init(&recorder->frames);
        return r < 0 ? r : program_names_init(&recorder->names);
}

void x_recorder_deinit(XRecorder *recorder) {
        program_names_deinit(&recorder->names);
        frames_deinit(&recorder->frames);
}

static uint64_t group(XRecorder *recorder) {
        return track_group(recorder->tracks, 0, "X");
}

void x_recorder_tell(XRecorder *recorder, uint64_t now_ns, const char *what, const char *why) {
        const TrackArgument argument = { "because", why, 0 };

        track_instant(recorder->tracks, group(recorder), now_ns, what, &argument, why != NULL);
}

void x_recorder_count(XRecorder *recorder,
                      uint64_t now_ns,
                      const char *what,
                      const char *of,
                      uint64_t n) {
        const TrackArgument argument = { of, NULL, (int64_t)n };

        track_instant(recorder->tracks, group(recorder), now_ns, what, &argument, 1);
}

static uint64_t process_track(XRecorder *recorder, pid_t pid, uint64_t now_ns) {
        const ProgramName *name = pid > 0 ? program_name(&recorder->names, pid, now_ns) : NULL;

        return name && name->process_uuid
                       ? track_process(
                                 recorder->tracks, name->process_uuid, name->pid, name->process)
                       : group(recorder);
}

/* The time between two frames of the display; 0: not known. */
static uint64_t refresh_ns(XRecorder *recorder, const XFrame *frame) {
        XWindow *last = &recorder->windows[frame->window % FRAME_RUNS_MAX];
        uint64_t refresh = 0;

        if (last->window == frame->window && frame->number > last->number &&
            frame->at_us > last->at_us)
                refresh = (frame->at_us - last->at_us) * NS_PER_US / (frame->number - last->number);
        *last = (XWindow){ frame->window, frame->at_us, frame->number };
        return refresh;
}

static void write_frame(XRecorder *recorder, const XFrame *shown, uint64_t now_ns) {
        static const char kind; /* its address, that is */
        const FrameKey key = { .pid = shown->pid, .point = &kind, .surface = shown->window };
        const uint64_t at_ns = shown->at_us * NS_PER_US;
        const uint64_t refresh = refresh_ns(recorder, shown);
        Frame frame;

        if (frames_add(&recorder->frames, &key, at_ns, refresh, &frame))
                frame_tracks_write(recorder->tracks,
                                   process_track(recorder, shown->pid, now_ns),
                                   "X11",
                                   &frame,
                                   at_ns);
}

void x_recorder_take(XRecorder *recorder, const XFrame *frame, uint64_t now_ns) {
        const uint64_t at_ns = frame->at_us <= US_MAX ? frame->at_us * NS_PER_US : 0;

        if (at_ns == 0 || at_ns > now_ns + SLACK_NS || at_ns + AGE_MAX_NS < now_ns)
                recorder->n_nonsense++;
        else if (frame->mode == X_FRAME_SKIPPED)
                track_instant(recorder->tracks,
                              process_track(recorder, frame->pid, now_ns),
                              at_ns,
                              "skipped frame",
                              NULL,
                              0);
        else
                write_frame(recorder, frame, now_ns);
}
