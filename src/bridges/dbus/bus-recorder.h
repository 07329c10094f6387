/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus recorder: messages of a bus as slices and arrows
 *
 * Sans-I/O. Each connection has a group of tracks below the process that it belongs to. A call is a slice of the
 * caller, from the call to the answer, and one of the callee; an arrow leads from one to the other. Where several
 * calls wait at once, each has a lane: a track of its own. Signals, and calls that want no answer, are instants.
 */

#include "bridges/dbus/bus-peers.h"
#include "bridges/dbus/traffic-ring.h"
#include "host/track-writer.h"

#define BUS_CALLS_MAX    16384 /* calls that wait for answers; with one more, the oldest is given up */
#define BUS_CALL_BUCKETS 4096
#define BUS_LANES_MAX    32 /* of a connection, in each direction; calls beyond are instants */

typedef struct BusRecorder {
        TrackWriter *tracks; /* borrowed */
        BusPeers peers;
        List calls; /* the oldest first */
        List buckets[BUS_CALL_BUCKETS];
        size_t n_calls;
        uint64_t n_flows;
        char own_name
                [FRAME_NAME_BYTES]; /* the bridge's own unique name, whose messages are left out; or "" */
} BusRecorder;

void bus_recorder_init(BusRecorder *recorder, TrackWriter *tracks);
void bus_recorder_deinit(BusRecorder *recorder);

/* Call it as soon as possible: notes new peers, which have to be asked about before they leave. */
void bus_recorder_meet(BusRecorder *recorder, const Traffic *traffic);
/* Writes a message or a change of owner. Call it in the order of time. */
void bus_recorder_write(BusRecorder *recorder, const Traffic *traffic);
/* Writes that `n` messages were lost. */
void bus_recorder_lost(BusRecorder *recorder, uint64_t at_ns, uint64_t n);
