/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gecko recorder: the markers of a browser's thread as slices and instants */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/firefox/gecko-recorder.h"

#define CLOCK_SLACK_NS  INT64_C(1000000000)
#define TRACK_BYTES_MAX (GECKO_NAME_BYTES + 32)
#define NO_END          INT64_C(-1)

typedef struct Lane {
        int64_t ends_ns[GECKO_NESTED]; /* ends of the slices that are open, the innermost last */
        size_t n;
} Lane;

/* One thread, while it is written. */
typedef struct Writing {
        GeckoRecorder *recorder;
        const GeckoThread *thread;
        uint64_t group;
        Lane lanes[GECKO_LANES_MAX];
} Writing;

void gecko_recorder_deinit(GeckoRecorder *recorder) {
        free(recorder->slices);
        *recorder = (GeckoRecorder){};
}

/*
 * From markers to slices
 */

static bool is_sensible(const GeckoRecorder *recorder, const GeckoMarker *marker) {
        return marker->begin_ns >= recorder->since_ns - CLOCK_SLACK_NS &&
               marker->end_ns <= recorder->now_ns + CLOCK_SLACK_NS;
}

/* For beginnings and ends that are separate markers: the last open slice of that name. */
typedef struct OpenSlices {
        size_t slices[GECKO_OPEN_MAX];
        size_t n;
} OpenSlices;

static bool same_name(const GeckoMarker *a, const GeckoMarker *b) {
        return a->name == b->name && (a->own == GECKO_NO_TEXT) == (b->own == GECKO_NO_TEXT);
}

static void close_slice(GeckoRecorder *recorder, OpenSlices *open, const GeckoMarker *marker) {
        size_t i = open->n;

        while (i > 0 && !same_name(recorder->slices[open->slices[i - 1]].marker, marker))
                i--;
        if (i == 0)
                return;
        recorder->slices[open->slices[i - 1]].end_ns = marker->end_ns;
        memmove(&open->slices[i - 1], &open->slices[i], (open->n - i) * sizeof(open->slices[0]));
        open->n--;
}

static void take_marker(GeckoRecorder *recorder, OpenSlices *open, const GeckoMarker *marker) {
        GeckoSlice *slice = &recorder->slices[recorder->n_slices];

        if (!is_sensible(recorder, marker))
                return;
        if (marker->phase == GECKO_INTERVAL_END) {
                close_slice(recorder, open, marker);
                return;
        }
        *slice = (GeckoSlice){ marker->begin_ns, marker->end_ns, marker };
        if (marker->phase == GECKO_INTERVAL_START && open->n < GECKO_OPEN_MAX) {
                slice->end_ns = NO_END;
                open->slices[open->n++] = recorder->n_slices;
        }
        recorder->n_slices++;
}

/* A marker that has no end when the browser ends becomes an instant, and so does one that ends before it begins. */
static void finish_slices(GeckoRecorder *recorder) {
        for (size_t i = 0; i < recorder->n_slices; i++) {
                GeckoSlice *slice = &recorder->slices[i];

                slice->end_ns = MAX(slice->end_ns, slice->begin_ns);
        }
}

/* Sorted by time; of markers that begin together the outer one comes first. */
static int compare_slices(const void *left, const void *right) {
        const GeckoSlice *a = left, *b = right;

        if (a->begin_ns != b->begin_ns)
                return a->begin_ns < b->begin_ns ? -1 : 1;
        return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static bool make_slices(GeckoRecorder *recorder, const GeckoThread *thread) {
        OpenSlices open = { .n = 0 };

        recorder->n_slices = 0;
        if (recorder->n_allocated < thread->n_markers) {
                free(recorder->slices);
                recorder->slices = calloc(thread->n_markers, sizeof(*recorder->slices));
                recorder->n_allocated = recorder->slices ? thread->n_markers : 0;
        }
        if (!recorder->slices)
                return false;
        for (size_t i = 0; i < thread->n_markers; i++)
                take_marker(recorder, &open, &thread->markers[i]);
        finish_slices(recorder);
        qsort(recorder->slices, recorder->n_slices, sizeof(*recorder->slices), compare_slices);
        return true;
}

/*
 * Tracks
 */

static uint64_t thread_track(GeckoRecorder *recorder, const GeckoThread *thread) {
        const ProgramName *name = program_name(recorder->names, thread->pid, recorder->look_ns);
        char text[TRACK_BYTES_MAX];
        uint64_t process = 0;

        if (name->process_uuid)
                process = track_process(
                        recorder->tracks, name->process_uuid, name->pid, name->process);
        if (!process) {
                snprintf(text,
                         sizeof(text),
                         "%s (%d)",
                         thread->process[0] ? thread->process : "Firefox",
                         thread->pid);
                process = track_group(recorder->tracks, 0, text);
        }
        snprintf(text, sizeof(text), "Firefox %s (%d)", thread->name, thread->tid);
        return track_group(recorder->tracks, process, text);
}

static uint64_t lane_track(const Writing *writing, size_t lane) {
        char text[TRACK_BYTES_MAX];

        snprintf(text, sizeof(text), lane ? "markers %zu" : "markers", lane + 1);
        return track_group(writing->recorder->tracks, writing->group, text);
}

static void write_event(const Writing *writing,
                        size_t lane,
                        TrackEventType type,
                        int64_t at_ns,
                        const GeckoMarker *marker) {
        const char *category = marker ? gecko_marker_category(writing->thread, marker) : "";
        const TrackEvent event = {
                .type = type,
                .track = lane_track(writing, lane),
                .at_ns = (uint64_t)at_ns,
                .name = marker ? gecko_marker_name(writing->thread, marker) : NULL,
                .category = category[0] ? category : NULL,
        };

        (void)track_event(writing->recorder->tracks, &event);
}

/* Writes the ends of the lane's open slices that end by then. */
static void end_slices(Writing *writing, size_t index, int64_t until_ns) {
        Lane *lane = &writing->lanes[index];

        for (; lane->n > 0 && lane->ends_ns[lane->n - 1] <= until_ns; lane->n--)
                write_event(writing, index, TRACK_EVENT_END, lane->ends_ns[lane->n - 1], NULL);
}

/* Whether the marker lies inside all slices that are open when it begins. */
static bool lane_has_room(const Lane *lane, int64_t end_ns) {
        return lane->n == 0 || (lane->n < GECKO_NESTED && end_ns <= lane->ends_ns[lane->n - 1]);
}

static void write_slice(Writing *writing, const GeckoSlice *slice) {
        size_t i = 0;

        for (; i < GECKO_LANES_MAX; i++) {
                end_slices(writing, i, slice->begin_ns);
                if (lane_has_room(&writing->lanes[i], slice->end_ns))
                        break;
        }
        if (i == GECKO_LANES_MAX || slice->end_ns == slice->begin_ns) {
                write_event(writing, 0, TRACK_EVENT_INSTANT, slice->begin_ns, slice->marker);
                return;
        }
        write_event(writing, i, TRACK_EVENT_BEGIN, slice->begin_ns, slice->marker);
        writing->lanes[i].ends_ns[writing->lanes[i].n++] = slice->end_ns;
}

void gecko_recorder_take(void *userdata, const GeckoThread *thread) {
        GeckoRecorder *recorder = userdata;
        Writing writing = { .recorder = recorder, .thread = thread };

        recorder->n_lost += thread->n_lost;
        if (thread->n_markers == 0 || !make_slices(recorder, thread) || recorder->n_slices == 0)
                return;
        recorder->n_threads++;
        writing.group = thread_track(recorder, thread);
        for (size_t i = 0; i < recorder->n_slices; i++)
                write_slice(&writing, &recorder->slices[i]);
        for (size_t i = 0; i < GECKO_LANES_MAX; i++)
                end_slices(&writing, i, INT64_MAX);
}
