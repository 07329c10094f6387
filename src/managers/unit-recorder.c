/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unit recorder: what a manager says about units and jobs, as tracks */

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "managers/unit-recorder.h"
#include "shared/macro.h"
#include "shared/utf8.h"

#define NS_PER_US 1000u

struct UnitEvent {
        uint64_t serial; /* decides the order of events at the same time */
        uint64_t at_us;
        Unit *unit;
        UnitPhase phase;
        bool is_start;
        Unit *waited_for; /* NULL: none is known */
        uint64_t in;      /* the arrow from that unit; 0: none */
        uint64_t *out;    /* arrows to others */
        size_t n_out;
};

void unit_recorder_init(UnitRecorder *recorder, TrackWriter *tracks, const char *group) {
        *recorder = (UnitRecorder){ .tracks = tracks, .group = group };
        unit_table_init(&recorder->units);
}

static void event_free(UnitEvent *event) {
        event->unit->n_users--;
        if (event->waited_for)
                event->waited_for->n_users--;
        if (event->unit->started == event)
                event->unit->started = NULL;
        free(event->out);
        free(event);
}

void unit_recorder_deinit(UnitRecorder *recorder) {
        for (size_t i = 0; i < recorder->n_events; i++)
                event_free(recorder->events[i]);
        for (size_t i = 0; i < recorder->n_jobs; i++)
                recorder->jobs[i].unit->n_users--;
        free(recorder->events);
        free(recorder->jobs);
        unit_table_deinit(&recorder->units);
        *recorder = (UnitRecorder){};
}

uint64_t unit_recorder_group(UnitRecorder *recorder) {
        return track_timeline(recorder->tracks, 0, recorder->group);
}

static uint64_t unit_track(UnitRecorder *recorder, const Unit *unit) {
        return track_group(recorder->tracks, unit_recorder_group(recorder), unit->name);
}

static bool is_wanted(const UnitRecorder *recorder, const char *name) {
        for (size_t i = 0; i < recorder->n_patterns; i++)
                if (fnmatch(recorder->patterns[i], name, 0) == 0)
                        return true;
        return recorder->n_patterns == 0;
}

Unit *unit_recorder_unit(UnitRecorder *recorder, const char *name) {
        return is_wanted(recorder, name) ? unit_table_get(&recorder->units, name) : NULL;
}

/*
 * What it waited for
 */

/* The arrow's number, the same when computed at either end. */
static uint64_t arrow_number(const UnitEvent *from, const UnitEvent *to) {
        uint64_t number = from->unit->hash ^ (to->unit->hash << 1 | to->unit->hash >> 63) ^
                          from->at_us * UINT64_C(0x9e3779b97f4a7c15);

        return number ?: 1;
}

static void add_arrow(UnitEvent *from, UnitEvent *to) {
        uint64_t *out;

        if (from->n_out >= UNIT_ARROWS_MAX)
                return;
        if ((from->n_out & (from->n_out - 1)) == 0) { /* it is full at powers of two */
                out = reallocarray(from->out, from->n_out ? from->n_out * 2 : 1, sizeof(*out));
                if (!out)
                        return;
                from->out = out;
        }
        to->in = arrow_number(from, to);
        from->out[from->n_out++] = to->in;
}

static const UnitJob *find_job_of(const UnitRecorder *recorder, const Unit *unit) {
        for (size_t i = 0; i < recorder->n_jobs; i++)
                if (recorder->jobs[i].unit == unit)
                        return &recorder->jobs[i];
        return NULL;
}

/* The earliest time at which the unit can have begun to wait: before its job it was not wanted. */
static uint64_t wait_begin_us(const UnitRecorder *recorder, const UnitEvent *event) {
        const UnitJob *job = find_job_of(recorder, event->unit);
        uint64_t begin_us = event->at_us - MIN(event->at_us, UNIT_WAITED_US_MAX);

        return job && job->begin_us <= event->at_us ? MAX(begin_us, job->begin_us) : begin_us;
}

/* Finds, of the units that this one is ordered after, the one that started last. */
static UnitEvent *find_waited_for(UnitRecorder *recorder, const UnitEvent *event) {
        uint64_t begin_us = wait_begin_us(recorder, event);
        UnitEvent *found = NULL;

        for (size_t i = 0; i < event->unit->n_after; i++) {
                const Unit *other = unit_table_find(&recorder->units, event->unit->after[i]);
                UnitEvent *started = other ? other->started : NULL;

                if (started && started != event && started->at_us >= begin_us &&
                    started->at_us <= event->at_us && (!found || started->at_us > found->at_us))
                        found = started;
        }
        return found;
}

static void add_arrows(UnitRecorder *recorder) {
        for (size_t i = 0; i < recorder->n_events; i++) {
                UnitEvent *event = recorder->events[i], *other;

                if (!event->is_start || event->waited_for || !event->unit->knows_after)
                        continue;
                other = find_waited_for(recorder, event);
                if (!other)
                        continue;
                event->waited_for = other->unit;
                other->unit->n_users++;
                add_arrow(other, event);
        }
}

/*
 * Writing
 */

static void begin_phase(UnitRecorder *recorder, uint64_t track, const UnitEvent *event) {
        const TrackArgument arguments[] = {
                { .name = "waited_for", .text = event->waited_for ? event->waited_for->name : "" },
        };
        const TrackEvent slice = {
                .type = TRACK_EVENT_BEGIN,
                .track = track,
                .at_ns = event->unit->shown_us * NS_PER_US,
                .name = unit_phase_name(event->phase),
                .arguments = arguments,
                .n_arguments = event->waited_for ? ARRAY_SIZE(arguments) : 0,
                .out = event->out,
                .n_out = event->n_out,
                .in = &event->in,
                .n_in = event->in != 0,
        };

        (void)track_event(recorder->tracks, &slice);
}

/* A unit that had only one thing to do was never active, and has no slice from which an arrow could lead. */
static void write_done(UnitRecorder *recorder, uint64_t track, const UnitEvent *event) {
        const TrackEvent slice = {
                .type = TRACK_EVENT_BEGIN,
                .track = track,
                .at_ns = event->unit->shown_us * NS_PER_US,
                .name = "done",
                .out = event->out,
                .n_out = event->n_out,
        };

        (void)track_event(recorder->tracks, &slice);
        track_end(recorder->tracks, track, event->unit->shown_us * NS_PER_US);
}

static bool is_drawn(UnitPhase phase) {
        return phase != UNIT_INACTIVE && phase != UNIT_FAILED;
}

static void write_event(UnitRecorder *recorder, UnitEvent *event) {
        Unit *unit = event->unit;
        uint64_t track = unit_track(recorder, unit);

        unit->shown_us = MAX(event->at_us, unit->shown_us);
        unit->shown_us = MAX(unit->shown_us, recorder->start_us);
        if (is_drawn(unit->shown))
                track_end(recorder->tracks, track, unit->shown_us * NS_PER_US);
        unit->shown = event->phase;
        if (is_drawn(event->phase))
                begin_phase(recorder, track, event);
        else if (event->phase == UNIT_FAILED)
                track_instant(
                        recorder->tracks, track, unit->shown_us * NS_PER_US, "failed", NULL, 0);
        else if (event->n_out > 0)
                write_done(recorder, track, event);
}

/* Arrows must be written after the slice that they come from. */
static int compare_events(const void *a, const void *b) {
        const UnitEvent *left = *(UnitEvent *const *)a, *right = *(UnitEvent *const *)b;

        if (left->at_us != right->at_us)
                return left->at_us < right->at_us ? -1 : 1;
        if (!left->in != !right->in)
                return left->in ? 1 : -1;
        return left->serial < right->serial ? -1 : 1;
}

static void write_until(UnitRecorder *recorder, uint64_t until_us) {
        size_t n = 0;

        if (recorder->n_events == 0) {
                unit_table_sweep(&recorder->units);
                return;
        }
        add_arrows(recorder);
        qsort(recorder->events, recorder->n_events, sizeof(UnitEvent *), compare_events);
        for (; n < recorder->n_events && recorder->events[n]->at_us <= until_us; n++) {
                write_event(recorder, recorder->events[n]);
                event_free(recorder->events[n]);
        }
        recorder->n_events -= n;
        memmove(recorder->events, recorder->events + n, recorder->n_events * sizeof(UnitEvent *));
        unit_table_sweep(&recorder->units);
}

void unit_recorder_write(UnitRecorder *recorder, uint64_t now_us) {
        write_until(recorder, now_us - MIN(now_us, UNIT_SETTLE_US));
}

void unit_recorder_write_all(UnitRecorder *recorder) {
        write_until(recorder, UINT64_MAX);
}

/*
 * Phases
 */

static int reserve_event(UnitRecorder *recorder) {
        size_t n = MAX(recorder->n_allocated * 2, (size_t)64);
        UnitEvent **events;

        if (recorder->n_events == UNIT_EVENTS_MAX)
                write_until(recorder, UINT64_MAX);
        if (recorder->n_events < recorder->n_allocated)
                return 0;
        events = reallocarray(recorder->events, n, sizeof(*events));
        if (!events)
                return -1;
        recorder->events = events;
        recorder->n_allocated = n;
        return 0;
}

static void add_event(UnitRecorder *recorder, Unit *unit, const UnitStep *step) {
        UnitEvent *event;

        /* Keeps the unit from being swept. */
        unit->n_users++;
        event = reserve_event(recorder) < 0 ? NULL : calloc(1, sizeof(*event));
        if (!event) {
                unit->n_users--;
                return;
        }
        *event = (UnitEvent){
                .serial = ++recorder->last_event,
                .at_us = step->at_us,
                .unit = unit,
                .phase = step->phase,
                .is_start = step->is_start && step->at_us > recorder->start_us,
        };
        if (event->phase == UNIT_ACTIVE || (step->is_done && event->phase == UNIT_INACTIVE))
                unit->started = event;
        recorder->events[recorder->n_events++] = event;
}

/* Of the time before the recording, only the resulting phase counts. */
static bool is_past(const UnitRecorder *recorder, const UnitStep *steps, size_t i, size_t n_steps) {
        if (steps[i].at_us > recorder->start_us)
                return false;
        return !is_drawn(steps[i].phase) ||
               (i + 1 < n_steps && steps[i + 1].at_us <= recorder->start_us);
}

void unit_recorder_change(UnitRecorder *recorder, Unit *unit, const UnitTimes *times) {
        UnitStep steps[UNIT_STEPS_MAX];
        size_t n = unit_step(unit, times, steps);

        for (size_t i = 0; i < n; i++)
                if (!is_past(recorder, steps, i, n))
                        add_event(recorder, unit, &steps[i]);
}

void unit_recorder_remove(UnitRecorder *recorder, const char *name) {
        Unit *unit = unit_recorder_unit(recorder, name);

        if (unit)
                unit->is_removed = true;
}

/*
 * Jobs
 */

static UnitJob *find_job(UnitRecorder *recorder, uint32_t id) {
        for (size_t i = 0; i < recorder->n_jobs; i++)
                if (recorder->jobs[i].id == id)
                        return &recorder->jobs[i];
        return NULL;
}

static void copy_word(char ret[static UNIT_WORD_BYTES], const char *word) {
        snprintf(ret, UNIT_WORD_BYTES, "%s", word);
        utf8_clean(ret);
}

static int reserve_job(UnitRecorder *recorder) {
        size_t n = MAX(recorder->n_jobs_allocated * 2, (size_t)16);
        UnitJob *jobs;

        if (recorder->n_jobs < recorder->n_jobs_allocated)
                return 0;
        if (recorder->n_jobs >= UNIT_JOBS_MAX)
                return -1;
        jobs = reallocarray(recorder->jobs, n, sizeof(*jobs));
        if (!jobs)
                return -1;
        recorder->jobs = jobs;
        recorder->n_jobs_allocated = n;
        return 0;
}

void unit_recorder_add_job(UnitRecorder *recorder,
                           uint32_t id,
                           Unit *unit,
                           const char *type,
                           uint64_t at_us) {
        UnitJob *job = find_job(recorder, id);

        if (job) { /* it was listed, and a signal has told of it as well */
                if (type)
                        copy_word(job->type, type);
                return;
        }
        if (reserve_job(recorder) < 0) {
                recorder->n_jobs_refused++;
                return;
        }
        job = &recorder->jobs[recorder->n_jobs++];
        *job = (UnitJob){ .id = id, .unit = unit, .begin_us = at_us };
        if (type)
                copy_word(job->type, type);
        unit->n_users++;
}

void unit_recorder_set_job_type(UnitRecorder *recorder, uint32_t id, const char *type) {
        UnitJob *job = find_job(recorder, id);

        if (job)
                copy_word(job->type, type);
}

void unit_recorder_run_job(UnitRecorder *recorder, uint32_t id, uint64_t at_us) {
        UnitJob *job = find_job(recorder, id);

        if (job && job->run_us == 0)
                job->run_us = at_us;
}

/* A result of NULL means that the job has not ended. */
static void write_job(UnitRecorder *recorder, UnitJob *job, const char *result, uint64_t end_us) {
        const TrackArgument arguments[] = {
                { .name = "job", .number = job->id },
                { .name = "result", .text = result ?: "" },
        };
        uint64_t unit = unit_track(recorder, job->unit);
        uint64_t begin_us = MAX(job->begin_us, job->unit->job_end_us);
        uint64_t run_us = MAX(job->run_us, begin_us);
        const TrackEvent slice = {
                .type = TRACK_EVENT_BEGIN,
                .track = track_group(recorder->tracks, unit, "jobs"),
                .at_ns = begin_us * NS_PER_US,
                .name = job->type[0] ? job->type : "job",
                .arguments = arguments,
                .n_arguments = result ? 2 : 1,
        };

        (void)track_event(recorder->tracks, &slice);
        if (job->run_us == 0 && result)
                run_us = MAX(end_us, begin_us);
        if (run_us > begin_us || (job->run_us == 0 && !result))
                track_begin(recorder->tracks, slice.track, slice.at_ns, "waiting");
        if (run_us > begin_us)
                track_end(recorder->tracks, slice.track, run_us * NS_PER_US);
        if (!result)
                return;
        job->unit->job_end_us = MAX(end_us, run_us);
        track_end(recorder->tracks, slice.track, job->unit->job_end_us * NS_PER_US);
}

static void drop_job(UnitRecorder *recorder, UnitJob *job) {
        job->unit->n_users--;
        *job = recorder->jobs[--recorder->n_jobs];
}

void unit_recorder_end_job(UnitRecorder *recorder,
                           uint32_t id,
                           const char *result,
                           uint64_t at_us) {
        UnitJob *job = find_job(recorder, id);
        char word[UNIT_WORD_BYTES];

        if (!job)
                return;
        copy_word(word, result);
        write_job(recorder, job, word, at_us);
        drop_job(recorder, job);
}

void unit_recorder_finish(UnitRecorder *recorder) {
        write_until(recorder, UINT64_MAX);
        while (recorder->n_jobs > 0) {
                write_job(recorder, &recorder->jobs[0], NULL, 0);
                drop_job(recorder, &recorder->jobs[0]);
        }
}
