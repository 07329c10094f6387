/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame writer: frames and stalls as track events, in one form for all toolkits
 *
 * A surface has a track below its process, with a slice from each frame to the next: "frame", or "late frame" if there
 * was time for others in between; and a counter of frames per second. Frames that a compositor presented have the same
 * form, with the times that it reports. A main loop that does not come back for long is a slice "stall".
 */

#include "host/frames.h"
#include "probes/points/point-record.h"
#include "probes/points/program-tracks.h"

typedef struct FrameWriter {
        ProgramTracks *programs; /* borrowed */
        Frames frames;
} FrameWriter;

/* Returns 0 or -ENOMEM. */
int frame_writer_init(FrameWriter *writer, ProgramTracks *programs);
void frame_writer_deinit(FrameWriter *writer);

/* Notes that the thread has finished a frame of the surface. */
void frame_writer_finish(FrameWriter *writer,
                         const Point *point,
                         pid_t tid,
                         uint64_t surface,
                         uint64_t at_ns);
/* A hit that says when a frame of that process was shown. */
void frame_writer_present(FrameWriter *writer,
                          const Point *point,
                          pid_t pid,
                          const PointRecord *record);
void frame_writer_stall(FrameWriter *writer, pid_t tid, uint64_t begin_ns, uint64_t end_ns);
