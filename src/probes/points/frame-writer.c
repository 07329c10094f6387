/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A presentation time is a reading of the clock that the compositor uses for it. This is nearly always CLOCK_MONOTONIC,
 * and CLOCK_MONOTONIC_RAW in some compositors without a display. The hit tells which of them it is, because it comes
 * soon after.
 */

#include <time.h>

#include "host/frame-tracks.h"
#include "probes/points/frame-writer.h"

#define SECOND_NS UINT64_C(1000000000)

int frame_writer_init(FrameWriter *writer, ProgramTracks *programs) {
        *writer = (FrameWriter){ .programs = programs };
        return frames_init(&writer->frames);
}

void frame_writer_deinit(FrameWriter *writer) {
        frames_deinit(&writer->frames);
}

static void add(FrameWriter *writer,
                const Point *point,
                pid_t pid,
                uint64_t surface,
                uint64_t at_ns,
                uint64_t refresh_ns) {
        const FrameKey key = { .pid = pid,
                               .point = point,
                               .surface = surface,
                               .is_commit = point->meaning == POINT_FRAME };
        Frame frame;

        if (frames_add(&writer->frames, &key, at_ns, refresh_ns, &frame))
                frame_tracks_write(&writer->programs->tracks,
                                   program_process_track(writer->programs, pid, at_ns),
                                   point->label,
                                   &frame,
                                   at_ns);
}

void frame_writer_finish(FrameWriter *writer,
                         const Point *point,
                         pid_t tid,
                         uint64_t surface,
                         uint64_t at_ns) {
        pid_t pid = program_name(&writer->programs->names, tid, at_ns)->pid;

        /* If a program's commits are seen, its swaps are the same frames. */
        if (point->meaning == POINT_SWAP && frames_has_commit(&writer->frames, pid, at_ns))
                return;
        add(writer, point, pid, surface, at_ns, 0);
}

/*
 * Presentation
 */

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* From that clock to the clock of records. The clocks are read several times, as a reading may be interrupted in the
 * middle. */
static uint64_t offset_of(clockid_t clock) {
        uint64_t best_spread = UINT64_MAX, offset = 0;

        for (unsigned i = 0; i < 3; i++) {
                uint64_t before = clock_ns(clock), boot = clock_ns(CLOCK_BOOTTIME),
                         spread = clock_ns(clock) - before;

                if (spread < best_spread) {
                        best_spread = spread;
                        offset = boot - before - spread / 2;
                }
        }
        return offset;
}

static uint64_t distance(uint64_t a, uint64_t b) {
        return a > b ? a - b : b - a;
}

/* In the clock of records. */
static uint64_t presented_at(const Point *point, const PointRecord *record) {
        static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW };
        uint64_t told = (uint64_t)point_number(record, &point->arguments[point->seconds]) *
                                SECOND_NS +
                        (uint64_t)point_number(record, &point->arguments[point->nanoseconds]),
                 best = 0;

        for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
                uint64_t at_ns = told + offset_of(clocks[i]);

                if (best == 0 || distance(at_ns, record->at_ns) < distance(best, record->at_ns))
                        best = at_ns;
        }
        return best;
}

void frame_writer_present(FrameWriter *writer,
                          const Point *point,
                          pid_t pid,
                          const PointRecord *record) {
        uint64_t at_ns = presented_at(point, record), refresh_ns = 0, surface = 0;

        /* No frame is shown seconds before it is reported: then the numbers do not mean what we think. */
        if (distance(at_ns, record->at_ns) > SECOND_NS)
                return;
        if (point->refresh >= 0)
                refresh_ns = (uint64_t)point_number(record, &point->arguments[point->refresh]);
        if (point->surface >= 0)
                surface = (uint64_t)point_number(record, &point->arguments[point->surface]);
        add(writer, point, pid, surface, at_ns, refresh_ns);
}

/*
 * Stalls
 */

void frame_writer_stall(FrameWriter *writer, pid_t tid, uint64_t begin_ns, uint64_t end_ns) {
        TrackWriter *tracks = &writer->programs->tracks;
        const ProgramName *name = program_name(&writer->programs->names, tid, end_ns);
        TrackEvent event = {
                .type = TRACK_EVENT_BEGIN, .at_ns = begin_ns, .name = "stall", .category = "loops"
        };

        if (name->pid != tid) /* threads that work for others have no stalls */
                return;
        event.track = track_group(
                tracks, program_process_track(writer->programs, tid, end_ns), "Main loop");
        if (track_event(tracks, &event))
                (void)track_event(tracks, &(TrackEvent){ TRACK_EVENT_END, event.track, end_ns });
}
