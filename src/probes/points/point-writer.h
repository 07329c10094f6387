/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point writer: turns records into track events
 *
 * Each process has its track, and below that a track for each thread that passes a point. What a compositor reports
 * about its clients goes on tracks of the clients, if the compositor's user owns these.
 */

#include "probes/points/call-stacks.h"
#include "probes/points/frame-writer.h"
#include "probes/points/main-loops.h"
#include "probes/points/point-events.h"
#include "probes/points/program-tracks.h"

typedef struct PointWriter {
        const PointEvents *events; /* what sites are */
        ProgramTracks programs;
        CallStacks stacks;
        FrameWriter frames;
        MainLoops loops;
        unsigned return_bytes;
} PointWriter;

/* Returns 0 or -ENOMEM. */
int point_writer_init(PointWriter *writer,
                      PacketSink *sink,
                      const PointEvents *events,
                      uint64_t stall_ns);
void point_writer_deinit(PointWriter *writer);

/* Records come in the order of time. */
void point_writer_take(PointWriter *writer, const PointRecord *record);
/* Records were lost before `at_ns`. */
void point_writer_lose(PointWriter *writer, uint64_t n, uint64_t at_ns);
/* The end of the recording. */
void point_writer_end(PointWriter *writer, uint64_t at_ns);
void point_writer_clear(PointWriter *writer);
