/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Capture recorder: frames as slices and counters
 *
 * Sans-I/O. What one thread of a program writes, or a compositor into its file, is a stream. Marks become slices of
 * a track of their stream below their process; frames do not say which thread it is. A mark is written when it ends,
 * so the outer of two comes later: the marks of one look are kept until capture_recorder_write(), which sorts them.
 * Marks that overlap without being nested go to different lanes, as slices of one track cannot do that.
 */

#include "bridges/sysprof/capture-frame.h"
#include "host/program-names.h"
#include "host/track-writer.h"

#define CAPTURE_STREAMS_MAX  1024
#define CAPTURE_LANES_MAX    4    /* lanes of a stream; marks beyond are instants */
#define CAPTURE_RECENT_MAX   64   /* slices of a lane with which a new one is compared */
#define CAPTURE_COUNTERS_MAX 256  /* of a stream */
#define CAPTURE_MARKS_MAX    8192 /* kept between two writes; marks beyond are written at once */
#define CAPTURE_BEFORE_NS \
        INT64_C(60000000000) /* a mark that began longer before its stream is nonsense */

typedef struct CaptureStream CaptureStream;

typedef struct CaptureSlice CaptureSlice; /* a mark that is not written yet */

typedef struct CaptureRecorder {
        TrackWriter *tracks; /* borrowed; its clock is MONOTONIC */
        ProgramNames names;
        CaptureStream *streams[CAPTURE_STREAMS_MAX];
        size_t n_streams;
        CaptureSlice *slices;
        size_t n_slices;
        uint64_t n_nonsense; /* frames that were skipped */
} CaptureRecorder;

/* Returns 0 or -ENOMEM. */
int capture_recorder_init(CaptureRecorder *recorder, TrackWriter *tracks);
void capture_recorder_deinit(CaptureRecorder *recorder);

/* Takes frames of a stream, in one piece; the caller chooses the stream's number. `now_ns` is MONOTONIC. */
void capture_recorder_take(CaptureRecorder *recorder,
                           uint64_t stream,
                           const uint8_t *data,
                           size_t n,
                           int64_t now_ns);
/* Writes the marks that were kept. */
void capture_recorder_write(CaptureRecorder *recorder);
/* Writes that this much was lost. */
void capture_recorder_lost(CaptureRecorder *recorder, int64_t now_ns, uint64_t n);
