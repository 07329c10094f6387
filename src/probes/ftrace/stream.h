/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stream: the kernel events of one recording
 *
 * Writes the events of a FtraceSetup as packets to one sink. They come from a Ring (ring.h), which the stream may share
 * with others; it gets neither the events that only others asked for, nor anything from before its start. Streams of
 * one session (one SessionLink) record each event once: the first stream that wants it gets it, if their conditions for
 * it are the same.
 *
 * Its owner is the probe, which polls it. A poll, a flush or a stop of one stream drains the whole ring.
 */

#include "probes/ftrace/bundle.h"
#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/ftrace-setup.h"

typedef struct Ring Ring;

typedef struct Stream {
        List streams;       /* of the ring */
        Ring *ring;         /* NULL before it has joined one */
        FtraceSetup *setup; /* owned */
        SessionLink *link;
        BundleReceiver receiver;
        BundleWriter *
                writer; /* shared with streams that want just the same; NULL while it does not record */
        IdSet wanted;  /* events that are on for it */
        IdSet granted; /* of them, those that no other stream of the session has */
        CpuStats *start_stats;
        uint64_t period_ns;
        int fd; /* for stream_fd() */
} Stream;

/* Prepares everything that can fail; takes ownership of the setup, even on failure. `sink` is used from start to
 * stop. 0, PROBE_E_REFUSED, negative errno. */
int stream_new(Stream **ret,
               FtraceSetup *setup,
               SessionLink *link,
               PacketSink *sink,
               ProbeNotes *notes,
               char **ret_error);
Stream *stream_free(Stream *stream);
DEFINE_CLEANUP(Stream *, stream_free)

/* 0, PROBE_E_REFUSED, negative errno. */
int stream_start(Stream *stream, char **ret_error);
/* Afterwards, everything recorded until now is in the sink, and nothing more follows. */
void stream_stop(Stream *stream);

/* Reads all that was recorded before `now_ns`. */
void stream_drain(Stream *stream, uint64_t now_ns);
/* The same, unless it was done a moment ago for another stream; returns when to come again. */
uint64_t stream_poll(Stream *stream, uint64_t now_ns);

/* Readable when a ring is filled so far that the config wants it to be read; -1: it does not, or cannot be told.
 * The stream keeps it. */
int stream_fd(Stream *stream);

/* Appends FtraceStats.cpu_stats of its start, or of now. */
void stream_encode_stats(Stream *stream, WireWriter *wire, bool of_start);
