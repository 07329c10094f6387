/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Gecko recorder: the markers of a browser's thread as slices and instants
 *
 * Below the thread's process there is a group of tracks for each of its threads. Markers of one thread may cross each
 * other, as loads from the network do; slices of one track may not. So each marker goes to the first track in which
 * it lies inside all open slices; a marker that fits nowhere is an instant.
 */

#include "bridges/firefox/gecko-profile.h"
#include "host/program-names.h"
#include "host/track-writer.h"

#define GECKO_LANES_MAX 16
#define GECKO_NESTED    64 /* slices that are open at once in one of these */
#define GECKO_OPEN_MAX  64 /* beginnings of a thread that wait for their ends */

typedef struct GeckoSlice {
        int64_t begin_ns, end_ns;
        const GeckoMarker *marker;
} GeckoSlice;

typedef struct GeckoRecorder {
        TrackWriter *tracks; /* borrowed, as names are */
        ProgramNames *names; /* names of processes that have run in the meantime */
        uint64_t look_ns;    /* when they were read last */
        int64_t since_ns;    /* anything older is nonsense: the browser was started later */
        int64_t now_ns;      /* and so is anything later than this */
        uint64_t n_lost;     /* markers that did not fit */
        uint64_t n_threads;  /* that had any */
        GeckoSlice *slices;  /* of one thread */
        size_t n_slices, n_allocated;
} GeckoRecorder;

void gecko_recorder_deinit(GeckoRecorder *recorder);

/* For GeckoReading. */
void gecko_recorder_take(void *recorder, const GeckoThread *thread);
