/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ring: a tracefs instance of ours, and the streams that it feeds
 *
 * Recordings share a ring if their wishes can be combined: the ring has all events that any of them wants, buffers as
 * large as the largest wish, and the lowest watermark. A recording that cannot share (FtraceSetup.ring_key) has a ring
 * of its own. Every change is made with recording off, or adds to a recording ring without disturbing it.
 *
 * A ring exists while streams are in it. Rings are known to the whole process; one thread uses them.
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
        size_t n_page;      /* bytes of a sub-buffer */
        uint64_t buffer_kb; /* for each CPU */
        unsigned percent;   /* watermark; 0: not set */
        bool is_watched;    /* reader.epoll_fd tells of the watermark */
        List streams;
        unsigned n_recording;
        bool is_adopted;     /* it has recorded before this process */
        bool wants_markers;  /* texts that programs write to the trace_marker of all */
        uint64_t drained_ns; /* what happened until then has been read */
        uint16_t uses
                [65536]; /* by event id: how many streams have it on; mostly pages that nobody touches */
};

/* All rings. */
extern List rings;

/* Puts the stream into a ring that suits its setup, and makes that what it wants: sizes, filters, events. Events that
 * the kernel refuses are marked in the setup, the others are stream->wanted. 0, PROBE_E_REFUSED, negative errno: it is
 * in no ring. */
int ring_join(Stream *stream, ProbeNotes *notes, char **ret_error);
/* Switches off what only this stream wanted. The last one takes the instance with it. */
void ring_leave(Stream *stream);

/* Switches recording on while any stream wants it. 0, PROBE_E_REFUSED. */
int ring_start(Ring *ring, char **ret_error);
void ring_stop(Ring *ring);

/* Gives all streams what was recorded before `until_ns`, and their sessions the threads that it names. */
void ring_drain(Ring *ring, uint64_t until_ns);
