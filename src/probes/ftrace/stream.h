/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stream: the kernel events of one recording
 *
 * Writes the events of an FtraceSetup as packets to one sink. They come from a Ring (ring.h), which the stream may
 * share with others. It gets neither events that only others asked for, nor anything from before its start. Streams of
 * one session (one SessionLink) record each event once: the first stream that wants an event gets it, if their
 * conditions for it are the same.
 *
 * A stream belongs to the probe, which polls it. Whenever one stream is polled, flushed or stopped, the whole ring is
 * drained.
 */

#include "probes/ftrace/bundle.h"
#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/ftrace-setup.h"

typedef struct Ring Ring;

typedef struct Stream {
        List streams;       /* of the ring */
        Ring *ring;         /* NULL until it has joined one */
        FtraceSetup *setup; /* owned */
        SessionLink *link;
        BundleReceiver receiver;
        BundleWriter *
                writer; /* shared with streams that want exactly the same; NULL while it does not record */
        IdSet wanted;  /* events that are enabled for it */
        IdSet granted; /* those of them that no other stream of the session has */
        CpuStats *start_stats;
        uint64_t period_ns;
        int fd; /* for stream_fd() */
} Stream;

/* Prepares everything that can fail, and takes ownership of the setup even if it fails. `sink` is used from start to
 * stop. Returns 0, PROBE_E_REFUSED or a negative errno. */
int stream_new(Stream **ret,
               FtraceSetup *setup,
               SessionLink *link,
               PacketSink *sink,
               ProbeNotes *notes,
               char **ret_error);
Stream *stream_free(Stream *stream);
DEFINE_CLEANUP(Stream *, stream_free)

/* Returns 0, PROBE_E_REFUSED or a negative errno. */
int stream_start(Stream *stream, char **ret_error);
/* Afterwards, everything recorded until now is in the sink, and nothing follows. */
void stream_stop(Stream *stream);

/* Reads everything that was recorded before `now_ns`. */
void stream_drain(Stream *stream, uint64_t now_ns);
/* The same, unless it was done for another stream a moment ago. Returns when to come again. */
uint64_t stream_poll(Stream *stream, uint64_t now_ns);

/* A descriptor that is readable when a ring is as full as the config allows; -1 if the config does not say, or the
 * kernel cannot tell. The stream keeps it. */
int stream_fd(Stream *stream);

/* Appends FtraceStats.cpu_stats, either of its start or of now. */
void stream_encode_stats(Stream *stream, WireWriter *wire, bool of_start);
