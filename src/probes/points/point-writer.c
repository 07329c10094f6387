/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point writer: turns records into track events */

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>

#include "probes/points/point-fetch.h"
#include "probes/points/point-writer.h"

#define SOURCE "linux.program_points"

/* The process that a hit is about; 0 if nobody knows. Any program can call a library and claim anything, so only
 * root may speak for other users' processes. */
static pid_t hit_process(PointWriter *writer, const Point *point, const PointRecord *record) {
        const int64_t pid = point_number(record, &point->arguments[point->process]);
        const ProgramName *name = program_name(&writer->programs.names, record->tid, record->at_ns);
        const uid_t uid = name->uid;

        if (pid <= 0 || pid > INT32_MAX || name->is_nested)
                return 0;
        name = program_name(&writer->programs.names, (pid_t)pid, record->at_ns);
        return name->process_uuid && (uid == 0 || uid == name->uid) ? (pid_t)pid : 0;
}

/* The track of a hit: the thread's, or, if the hit is about another process, a track there with the name of the
 * group. */
static uint64_t hit_track(PointWriter *writer, const Point *point, const PointRecord *record) {
        const pid_t about = point->process < 0 ? 0 : hit_process(writer, point, record);
        uint64_t process;

        if (about == 0)
                return program_thread_track(&writer->programs, record->tid, record->at_ns);
        process = program_process_track(&writer->programs, about, record->at_ns);
        return process ? track_group(&writer->programs.tracks, process, point->group) : 0;
}

static uint64_t hit_surface(const Point *point, const PointRecord *record) {
        return point->surface < 0
                       ? 0
                       : (uint64_t)point_number(record, &point->arguments[point->surface]);
}

static size_t list_arguments(TrackArgument *ret, const Point *point, const PointRecord *record) {
        size_t n = 0;

        for (size_t i = 0; i < point->n_arguments; i++) {
                const PointArgument *argument = &point->arguments[i];

                if (argument->type != POINT_TEXT)
                        ret[n++] = (TrackArgument){ .name = argument->name,
                                                    .number = point_number(record, argument) };
                else if (*record->text)
                        ret[n++] = (TrackArgument){ .name = argument->name, .text = record->text };
        }
        return n;
}

/* Returns its track. */
static uint64_t
write_hit(PointWriter *writer, const Point *point, const PointRecord *record, TrackEventType type) {
        TrackArgument arguments[POINT_ARGUMENTS_MAX];
        TrackEvent event = {
                .type = type,
                .track = hit_track(writer, point, record),
                .at_ns = record->at_ns,
                .name = type == TRACK_EVENT_END ? NULL : point->label,
                .category = type == TRACK_EVENT_END ? NULL : point->category,
                .arguments = arguments,
        };

        event.n_arguments = type == TRACK_EVENT_END ? 0 : list_arguments(arguments, point, record);
        (void)track_event(&writer->programs.tracks, &event);
        return event.track;
}

static const Point *find_swap(const PointSite *site) {
        for (size_t i = 0; i < site->n_points; i++)
                if (site->points[i]->meaning == POINT_SWAP)
                        return site->points[i];
        return NULL;
}

/* An end goes on the track of its beginning, although the thread may have another name by now. After a clear, the
 * track is described again when somebody asks for it. */
static void
call_ended(void *userdata, pid_t tid, const Call *call, uint64_t end_ns, bool is_whole) {
        PointWriter *writer = userdata;
        const Point *swap = find_swap(&writer->events->sites[call->site]);
        TrackEvent event = { .type = TRACK_EVENT_END, .track = call->track, .at_ns = end_ns };

        if (!track_event(&writer->programs.tracks, &event)) {
                event.track = program_thread_track(&writer->programs, tid, end_ns);
                (void)track_event(&writer->programs.tracks, &event);
        }
        if (swap && is_whole)
                frame_writer_finish(&writer->frames, swap, tid, call->surface, end_ns);
}

int point_writer_init(PointWriter *writer,
                      PacketSink *sink,
                      const PointEvents *events,
                      uint64_t stall_ns) {
        int r;

        *writer = (PointWriter){
                .events = events,
                .return_bytes = point_machine() == EM_X86_64 ? sizeof(uint64_t) : 0,
        };
        r = program_tracks_init(&writer->programs, sink, SOURCE);
        if (r == 0)
                r = call_stacks_init(&writer->stacks, call_ended, writer);
        if (r == 0)
                r = frame_writer_init(&writer->frames, &writer->programs);
        return r == 0 ? main_loops_init(&writer->loops, stall_ns) : r;
}

void point_writer_deinit(PointWriter *writer) {
        main_loops_deinit(&writer->loops);
        frame_writer_deinit(&writer->frames);
        call_stacks_deinit(&writer->stacks);
        program_tracks_deinit(&writer->programs);
}

static void take_call(PointWriter *writer,
                      const Point *point,
                      const PointSite *site,
                      const PointRecord *record) {
        Call call = {
                .site = record->site,
                .stack = record->stack,
                .begin_ns = record->at_ns,
                .surface = hit_surface(point, record),
        };

        call.track = hit_track(writer, point, record);
        if (!site->has_return) { /* this kernel cannot tell when the function ends */
                (void)write_hit(writer, point, record, TRACK_EVENT_INSTANT);
                if (point->meaning == POINT_SWAP)
                        frame_writer_finish(
                                &writer->frames, point, record->tid, call.surface, record->at_ns);
        } else if (call_stacks_enter(&writer->stacks, record->tid, &call)) {
                (void)write_hit(writer, point, record, TRACK_EVENT_BEGIN);
        }
}

static void take_presented(PointWriter *writer, const Point *point, const PointRecord *record) {
        pid_t pid = point->process < 0
                            ? program_name(&writer->programs.names, record->tid, record->at_ns)->pid
                            : hit_process(writer, point, record);

        (void)write_hit(writer, point, record, TRACK_EVENT_INSTANT);
        frame_writer_present(&writer->frames, point, pid, record);
}

static void take_point(PointWriter *writer,
                       const Point *point,
                       const PointSite *site,
                       const PointRecord *record) {
        switch (point->meaning) {
        case POINT_BEGIN:
                (void)write_hit(writer, point, record, TRACK_EVENT_BEGIN);
                return;
        case POINT_END:
                (void)write_hit(writer, point, record, TRACK_EVENT_END);
                return;
        case POINT_SLICE:
        case POINT_SWAP:
                take_call(writer, point, site, record);
                return;
        case POINT_PRESENTED:
                take_presented(writer, point, record);
                return;
        case POINT_FRAME:
                (void)write_hit(writer, point, record, TRACK_EVENT_INSTANT);
                frame_writer_finish(&writer->frames,
                                    point,
                                    record->tid,
                                    hit_surface(point, record),
                                    record->at_ns);
                return;
        default:
                (void)write_hit(writer, point, record, TRACK_EVENT_INSTANT);
        }
}

static void take_entry(PointWriter *writer, const PointRecord *record) {
        const PointSite *site = &writer->events->sites[record->site];

        for (size_t i = 0; i < site->n_points; i++)
                if (point_matches(site->points[i], record))
                        take_point(writer, site->points[i], site, record);
}

void point_writer_take(PointWriter *writer, const PointRecord *record) {
        uint64_t begin_ns;

        switch (record->kind) {
        case POINT_RECORD_ENTRY:
                take_entry(writer, record);
                return;
        case POINT_RECORD_RETURN:
                call_stacks_leave(&writer->stacks,
                                  record->tid,
                                  record->site,
                                  record->stack,
                                  writer->return_bytes,
                                  record->at_ns);
                return;
        case POINT_RECORD_WAIT:
                if (main_loops_wait(&writer->loops, record->tid, record->at_ns, &begin_ns))
                        frame_writer_stall(&writer->frames, record->tid, begin_ns, record->at_ns);
                return;
        case POINT_RECORD_WAKE:
                main_loops_wake(&writer->loops, record->tid, record->at_ns);
                return;
        }
}

void point_writer_lose(PointWriter *writer, uint64_t n, uint64_t at_ns) {
        const TrackArgument argument = { .name = "records",
                                         .number = (int64_t)MIN(n, (uint64_t)INT64_MAX) };

        track_instant(&writer->programs.tracks,
                      track_group(&writer->programs.tracks, 0, "Program points"),
                      at_ns,
                      "lost",
                      &argument,
                      1);
        main_loops_forget(&writer->loops);
}

void point_writer_end(PointWriter *writer, uint64_t at_ns) {
        call_stacks_end(&writer->stacks, at_ns);
}

void point_writer_clear(PointWriter *writer) {
        track_writer_clear(&writer->programs.tracks);
}
