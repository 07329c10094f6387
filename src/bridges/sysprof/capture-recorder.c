/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Capture recorder: frames as slices and counters */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/sysprof/capture-recorder.h"

#define CLOCK_SLACK_NS \
        INT64_C(1000000000) /* how far a mark's end may lie after the beginning of the look */
#define TRACK_BYTES_MAX 64
#define NO_SLICE        SIZE_MAX

typedef struct Interval {
        int64_t begin_ns, end_ns;
} Interval;

typedef struct Lane {
        Interval recent[CAPTURE_RECENT_MAX]; /* the oldest is replaced */
        size_t n;
        size_t open; /* the innermost slice that is being written, or NO_SLICE */
} Lane;

struct CaptureStream {
        uint64_t id;
        int32_t pid;
        unsigned number; /* the stream's number within its process */
        bool has_ended;
        int64_t opened_ns;
        uint64_t process_uuid; /* 0: the process has ended */
        char process[PROGRAM_NAME_BYTES];
        CaptureCounter *counters;
        size_t n_counters;
        Lane lanes[CAPTURE_LANES_MAX];
};

struct CaptureSlice {
        CaptureStream *stream;
        Interval at;
        size_t outer; /* the slice that was open when this one began, or NO_SLICE */
        CaptureMark mark;
};

int capture_recorder_init(CaptureRecorder *recorder, TrackWriter *tracks) {
        *recorder = (CaptureRecorder){ .tracks = tracks };
        recorder->slices = malloc(CAPTURE_MARKS_MAX * sizeof(*recorder->slices));
        return recorder->slices ? program_names_init(&recorder->names) : -ENOMEM;
}

static void stream_free(CaptureStream *stream) {
        free(stream->counters);
        free(stream);
}

void capture_recorder_deinit(CaptureRecorder *recorder) {
        while (recorder->n_streams > 0)
                stream_free(recorder->streams[--recorder->n_streams]);
        free(recorder->slices);
        program_names_deinit(&recorder->names);
        *recorder = (CaptureRecorder){};
}

/*
 * Streams
 */

static unsigned count_streams(const CaptureRecorder *recorder, int32_t pid) {
        unsigned n = 0;

        for (size_t i = 0; i < recorder->n_streams; i++)
                n += recorder->streams[i]->pid == pid;
        return n;
}

static CaptureStream *
stream_new(CaptureRecorder *recorder, uint64_t id, int32_t pid, int64_t now_ns) {
        CaptureStream *stream =
                recorder->n_streams < CAPTURE_STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;
        const ProgramName *name;

        if (!stream)
                return NULL;
        name = program_name(&recorder->names, pid, (uint64_t)now_ns);
        stream->id = id;
        stream->pid = pid;
        stream->number = count_streams(recorder, pid) + 1;
        stream->opened_ns = now_ns;
        stream->process_uuid = name->process_uuid;
        memcpy(stream->process, name->process, sizeof(stream->process));
        for (size_t i = 0; i < CAPTURE_LANES_MAX; i++)
                stream->lanes[i].open = NO_SLICE;
        recorder->streams[recorder->n_streams++] = stream;
        return stream;
}

/* After a fork two processes may write one stream. */
static CaptureStream *
stream_get(CaptureRecorder *recorder, uint64_t id, int32_t pid, int64_t now_ns) {
        for (size_t i = 0; i < recorder->n_streams; i++)
                if (recorder->streams[i]->id == id && recorder->streams[i]->pid == pid)
                        return recorder->streams[i];
        return pid > 0 ? stream_new(recorder, id, pid, now_ns) : NULL;
}

static uint64_t stream_track(CaptureRecorder *recorder, const CaptureStream *stream) {
        char text[TRACK_BYTES_MAX];
        uint64_t process = 0;

        if (stream->process_uuid)
                process = track_process(
                        recorder->tracks, stream->process_uuid, stream->pid, stream->process);
        if (process)
                snprintf(text, sizeof(text), "sysprof %u", stream->number);
        else
                snprintf(text, sizeof(text), "sysprof %u (%d)", stream->number, stream->pid);
        return track_group(recorder->tracks, process, text);
}

static uint64_t lane_track(CaptureRecorder *recorder, const CaptureStream *stream, size_t lane) {
        const uint64_t parent = stream_track(recorder, stream);
        char text[TRACK_BYTES_MAX];

        snprintf(text, sizeof(text), lane ? "marks %zu" : "marks", lane + 1);
        return track_group(recorder->tracks, parent, text);
}

static void remove_ended(CaptureRecorder *recorder) {
        size_t n = 0;

        for (size_t i = 0; i < recorder->n_streams; i++)
                if (recorder->streams[i]->has_ended)
                        stream_free(recorder->streams[i]);
                else
                        recorder->streams[n++] = recorder->streams[i];
        recorder->n_streams = n;
}

/*
 * Marks
 */

/* Some programs write microseconds instead of nanoseconds: such marks seem to be very old, or to last for hours. */
static bool read_interval(Interval *ret,
                          const CaptureStream *stream,
                          int64_t begin_ns,
                          int64_t duration_ns,
                          int64_t now_ns) {
        ret->begin_ns = begin_ns;
        return begin_ns > 0 && duration_ns >= 0 &&
               begin_ns >= stream->opened_ns - CAPTURE_BEFORE_NS &&
               !__builtin_add_overflow(begin_ns, duration_ns, &ret->end_ns) &&
               ret->end_ns <= now_ns + CLOCK_SLACK_NS;
}

/* Sorted by stream and time; of marks that begin together the outer one comes first. */
static int compare_slices(const void *left, const void *right) {
        const CaptureSlice *a = left, *b = right;

        if (a->stream != b->stream)
                return (uintptr_t)a->stream < (uintptr_t)b->stream ? -1 : 1;
        if (a->at.begin_ns != b->at.begin_ns)
                return a->at.begin_ns < b->at.begin_ns ? -1 : 1;
        return (a->at.end_ns < b->at.end_ns) - (a->at.end_ns > b->at.end_ns);
}

static bool intervals_cross(const Interval *a, const Interval *b) {
        const Interval *first = a->begin_ns <= b->begin_ns ? a : b;
        const Interval *second = first == a ? b : a;

        return first->begin_ns < second->begin_ns && second->begin_ns < first->end_ns &&
               first->end_ns < second->end_ns;
}

static bool lane_has_room(const Lane *lane, const Interval *at) {
        for (size_t i = 0; i < MIN(lane->n, (size_t)CAPTURE_RECENT_MAX); i++)
                if (intervals_cross(&lane->recent[i], at))
                        return false;
        return true;
}

/* Returns the first lane in which the mark overlaps no other mark partially; CAPTURE_LANES_MAX: there is none. */
static size_t find_lane(const CaptureStream *stream, const Interval *at) {
        size_t lane = 0;

        while (lane < CAPTURE_LANES_MAX && !lane_has_room(&stream->lanes[lane], at))
                lane++;
        return lane;
}

static void write_event(CaptureRecorder *recorder,
                        const CaptureSlice *slice,
                        size_t lane,
                        TrackEventType type,
                        int64_t at_ns) {
        const CaptureMark *mark = &slice->mark;
        const TrackArgument message = { "message", mark->message, 0 };
        TrackEvent event = {
                .type = type,
                .track = lane_track(recorder, slice->stream, lane),
                .at_ns = (uint64_t)at_ns,
        };

        if (type != TRACK_EVENT_END) {
                event.name = mark->name[0] ? mark->name : mark->group;
                event.category = mark->group[0] ? mark->group : NULL;
                event.arguments = &message;
                event.n_arguments = mark->message[0] != '\0';
        }
        (void)track_event(recorder->tracks, &event);
}

/* Writes the ends of the lane's open slices that end by then. */
static void
end_slices(CaptureRecorder *recorder, CaptureStream *stream, size_t lane, int64_t until_ns) {
        size_t *open = &stream->lanes[lane].open;

        while (*open != NO_SLICE && recorder->slices[*open].at.end_ns <= until_ns) {
                const CaptureSlice *slice = &recorder->slices[*open];

                write_event(recorder, slice, lane, TRACK_EVENT_END, slice->at.end_ns);
                *open = slice->outer;
        }
}

static void write_slice(CaptureRecorder *recorder, size_t i) {
        CaptureSlice *slice = &recorder->slices[i];
        CaptureStream *stream = slice->stream;
        const size_t lane = find_lane(stream, &slice->at);

        if (lane == CAPTURE_LANES_MAX || slice->at.begin_ns == slice->at.end_ns) {
                write_event(recorder, slice, 0, TRACK_EVENT_INSTANT, slice->at.begin_ns);
                return;
        }
        end_slices(recorder, stream, lane, slice->at.begin_ns);
        write_event(recorder, slice, lane, TRACK_EVENT_BEGIN, slice->at.begin_ns);
        slice->outer = stream->lanes[lane].open;
        stream->lanes[lane].open = i;
        stream->lanes[lane].recent[stream->lanes[lane].n++ % CAPTURE_RECENT_MAX] = slice->at;
}

static void end_all(CaptureRecorder *recorder, CaptureStream *stream) {
        for (size_t lane = 0; lane < CAPTURE_LANES_MAX; lane++)
                end_slices(recorder, stream, lane, INT64_MAX);
}

static void write_slices(CaptureRecorder *recorder) {
        if (recorder->n_slices > 0)
                qsort(recorder->slices,
                      recorder->n_slices,
                      sizeof(*recorder->slices),
                      compare_slices);
        for (size_t i = 0; i < recorder->n_slices; i++) {
                CaptureStream *stream = recorder->slices[i].stream;

                write_slice(recorder, i);
                if (i + 1 == recorder->n_slices || recorder->slices[i + 1].stream != stream)
                        end_all(recorder, stream);
        }
        recorder->n_slices = 0;
}

static void take_mark(CaptureRecorder *recorder,
                      CaptureStream *stream,
                      const CaptureFrame *frame,
                      int64_t now_ns) {
        CaptureSlice *slice;

        if (recorder->n_slices == CAPTURE_MARKS_MAX)
                write_slices(recorder);
        slice = &recorder->slices[recorder->n_slices];
        slice->stream = stream;
        if (capture_frame_mark(frame, &slice->mark) &&
            read_interval(&slice->at, stream, frame->at_ns, slice->mark.duration_ns, now_ns))
                recorder->n_slices++;
        else
                recorder->n_nonsense++;
}

void capture_recorder_write(CaptureRecorder *recorder) {
        write_slices(recorder);
        remove_ended(recorder);
}

/*
 * Counters
 */

static CaptureCounter *find_counter(const CaptureStream *stream, uint32_t id) {
        for (size_t i = 0; i < stream->n_counters; i++)
                if (stream->counters[i].id == (id & 0xffffff))
                        return &stream->counters[i];
        return NULL;
}

static void define_counter(CaptureStream *stream, const CaptureCounter *counter) {
        CaptureCounter *known = find_counter(stream, counter->id);
        CaptureCounter *grown;

        if (known) {
                *known = *counter;
                return;
        }
        if (counter->id == 0 || stream->n_counters == CAPTURE_COUNTERS_MAX)
                return;
        grown = reallocarray(stream->counters, stream->n_counters + 1, sizeof(*grown));
        if (!grown)
                return;
        stream->counters = grown;
        stream->counters[stream->n_counters++] = *counter;
}

static void take_definitions(CaptureStream *stream, const CaptureFrame *frame) {
        CaptureCounter counter;

        for (size_t i = 0; capture_frame_counter(frame, i, &counter); i++)
                define_counter(stream, &counter);
}

static void write_value(CaptureRecorder *recorder,
                        const CaptureStream *stream,
                        const CaptureValue *value,
                        int64_t at_ns) {
        const CaptureCounter *counter = find_counter(stream, value->id);
        uint64_t track;
        double real;

        track = track_counter(
                recorder->tracks, stream_track(recorder, stream), counter->name, TRACK_UNIT_NONE);
        if (!counter->is_double) {
                track_count(recorder->tracks, track, (uint64_t)at_ns, (int64_t)value->bits);
                return;
        }
        memcpy(&real, &value->bits, sizeof(real));
        track_count_double(recorder->tracks, track, (uint64_t)at_ns, real);
}

/* GTK 4.8 leaves old data in the places of a slot that it does not use. So places behind the first count only if each
 * of them holds a known counter or nothing. */
static size_t count_of_slot(const CaptureStream *stream,
                            const CaptureFrame *frame,
                            size_t first,
                            CaptureValue values[static CAPTURE_COUNTERS_OF_SLOT]) {
        size_t n = 0, n_known = 0;

        for (; n < CAPTURE_COUNTERS_OF_SLOT; n++) {
                if (!capture_frame_value(frame, first + n, &values[n]))
                        return 0;
                if (values[n].id != 0 && !find_counter(stream, values[n].id))
                        return n_known > 0;
                if (values[n].id != 0 && n_known != n)
                        return n_known > 0;
                n_known += values[n].id != 0;
        }
        return n_known;
}

static void take_values(CaptureRecorder *recorder,
                        const CaptureStream *stream,
                        const CaptureFrame *frame,
                        int64_t now_ns) {
        CaptureValue values[CAPTURE_COUNTERS_OF_SLOT];
        Interval at;

        if (!read_interval(&at, stream, frame->at_ns, 0, now_ns)) {
                recorder->n_nonsense++;
                return;
        }
        for (size_t first = 0; capture_frame_value(frame, first, &values[0]);
             first += CAPTURE_COUNTERS_OF_SLOT) {
                const size_t n = count_of_slot(stream, frame, first, values);

                for (size_t i = 0; i < n; i++)
                        write_value(recorder, stream, &values[i], at.begin_ns);
        }
}

/*
 * Frames
 */

static void
take_frame(CaptureRecorder *recorder, uint64_t id, const CaptureFrame *frame, int64_t now_ns) {
        CaptureStream *stream = stream_get(recorder, id, frame->pid, now_ns);

        if (!stream)
                recorder->n_nonsense++;
        else if (frame->kind == CAPTURE_MARK)
                take_mark(recorder, stream, frame, now_ns);
        else if (frame->kind == CAPTURE_DEFINITIONS)
                take_definitions(stream, frame);
        else if (frame->kind == CAPTURE_VALUES)
                take_values(recorder, stream, frame, now_ns);
        else if (frame->kind == CAPTURE_END)
                stream->has_ended = true;
}

void capture_recorder_take(CaptureRecorder *recorder,
                           uint64_t stream,
                           const uint8_t *data,
                           size_t n,
                           int64_t now_ns) {
        CaptureFrame frame;

        while (n > 0) {
                /* Behind a frame that is nonsense the next one cannot be found. */
                if (capture_frame_read(&frame, data, n) < 0) {
                        recorder->n_nonsense++;
                        return;
                }
                take_frame(recorder, stream, &frame, now_ns);
                data += frame.n_bytes;
                n -= frame.n_bytes;
        }
}

void capture_recorder_lost(CaptureRecorder *recorder, int64_t now_ns, uint64_t n) {
        const TrackArgument argument = { "times", NULL, (int64_t)n };

        track_instant(recorder->tracks,
                      track_group(recorder->tracks, 0, "sysprof"),
                      (uint64_t)now_ns,
                      "lost",
                      &argument,
                      1);
}
