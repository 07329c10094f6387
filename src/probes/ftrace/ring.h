/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ring: one of our tracefs instances, and the streams that it feeds
 *
 * Recordings share a ring if what they ask for can be combined: the ring has all events that any of them wants, buffers
 * as large as the largest request, and the lowest watermark. A recording that cannot share (FtraceSetup.ring_key) has a
 * ring to itself. A change is either made while recording is off, or adds to a recording ring without disturbing it.
 *
 * A ring exists for as long as it has streams. The whole process knows the rings, and one thread uses them.
 */

#include "probes/ftrace/ftrace-reader.h"
#include "probes/ftrace/ftrace-setup.h"
#include "probes/ftrace/instance.h"
#include "probes/ftrace/stream.h"

struct Ring {
        List rings; /* of the process */
        char *key;
        Instance *instance;
        FtraceReader reader;
        PageLayout layout;
        size_t n_page;      /* size of a sub-buffer in bytes */
        uint64_t buffer_kb; /* for each CPU */
        unsigned percent;   /* watermark; 0: not set */
        bool is_watched;    /* reader.epoll_fd reports the watermark */
        List streams;
        unsigned n_recording;
        bool is_adopted;     /* it already recorded before this process started */
        bool wants_markers;  /* the texts that programs write to everybody's trace_marker */
        uint64_t drained_ns; /* everything that happened before this time has been read */
        uint16_t uses
                [65536]; /* how many streams have enabled the event with this id; most pages are never touched */
};

/* All rings. */
extern List rings;

/* Puts the stream into a ring that suits its setup, and gives the ring what the stream wants: sizes, filters,
 * events. Events that the kernel refuses are marked in the setup; the others become stream->wanted. Returns 0, or
 * PROBE_E_REFUSED or a negative errno, after which the stream is in no ring. */
int ring_join(Stream *stream, ProbeNotes *notes, char **ret_error);
/* Switches off what only this stream wanted. The last stream takes the instance along. */
void ring_leave(Stream *stream);

/* Switches recording on for as long as any stream wants it. Returns 0 or PROBE_E_REFUSED. */
int ring_start(Ring *ring, char **ret_error);
void ring_stop(Ring *ring);

/* Gives all streams what was recorded before `until_ns`, and gives their sessions the threads that occur in it. */
void ring_drain(Ring *ring, uint64_t until_ns);
