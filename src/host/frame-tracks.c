/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frame tracks: frames as track events, in one shape for all sources */

#include <stdio.h>

#include "host/frame-tracks.h"

#define TRACK_BYTES 128

static void write_slice(TrackWriter *tracks, uint64_t track, const Frame *frame, uint64_t at_ns) {
        const TrackArgument arguments[] = {
                { .name = "number", .number = (int64_t)frame->number },
                { .name = "usual_us", .number = (int64_t)(frame->usual_ns / 1000) },
                { .name = "missed", .number = frame->n_missed },
        };
        TrackEvent event = {
                .type = TRACK_EVENT_BEGIN,
                .track = track,
                .at_ns = frame->begin_ns,
                .name = frame->n_missed > 0 ? "late frame" : "frame",
                .category = "frames",
                .arguments = arguments,
                .n_arguments = ARRAY_SIZE(arguments),
        };

        if (frame->has_begin && track_event(tracks, &event))
                (void)track_event(tracks, &(TrackEvent){ TRACK_EVENT_END, track, at_ns });
}

void frame_tracks_write(TrackWriter *tracks,
                        uint64_t process,
                        const char *label,
                        const Frame *frame,
                        uint64_t at_ns) {
        char name[TRACK_BYTES];

        snprintf(name, sizeof(name), "Frames %u (%s)", frame->ordinal, label);
        write_slice(tracks, track_group(tracks, process, name), frame, at_ns);
        if (frame->fps < 0)
                return;
        snprintf(name, sizeof(name), "fps %u (%s)", frame->ordinal, label);
        track_count(
                tracks, track_counter(tracks, process, name, TRACK_UNIT_COUNT), at_ns, frame->fps);
}
