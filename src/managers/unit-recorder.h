/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Unit recorder: what a manager says about units and jobs, as tracks
 *
 * Each unit has a track, with a slice for each phase that is not "inactive"; below it are its jobs. An arrow leads
 * to a unit that starts from the last of those that it is ordered after to become active, if that was within
 * UNIT_WAITED_US_MAX before: that is what it waited for. A manager does not report events in the order in which they
 * happened, so phases are kept for UNIT_SETTLE_US, and then written in the right order.
 *
 * It does no I/O and reads no clock. All times are µs of CLOCK_MONOTONIC.
 */

#include "host/track-writer.h"
#include "managers/unit-table.h"

#define UNIT_SETTLE_US     UINT64_C(1000000)
#define UNIT_WAITED_US_MAX UINT64_C(1000000)
#define UNIT_EVENTS_MAX    16384 /* phases that are not written yet; more are written at once */
#define UNIT_JOBS_MAX      4096  /* at a time; more are left out and counted */
#define UNIT_ARROWS_MAX    256   /* from one unit */
#define UNIT_PATTERNS_MAX  64
#define UNIT_WORD_BYTES    32 /* types and results of jobs */

typedef struct UnitJob {
        uint32_t id;
        Unit *unit;
        char type[UNIT_WORD_BYTES]; /* empty: not known */
        uint64_t begin_us;
        uint64_t run_us; /* 0: it waits */
} UnitJob;

typedef struct UnitRecorder {
        TrackWriter *tracks; /* borrowed; its clock is CLOCK_MONOTONIC */
        const char *group;   /* the name of the top track; borrowed */
        char **patterns;     /* borrowed */
        size_t n_patterns;   /* 0: all units */
        uint64_t start_us;   /* earlier times are of no interest; 0 at first */
        UnitTable units;
        UnitEvent **events;
        size_t n_events, n_allocated;
        uint64_t last_event;
        UnitJob *jobs;
        size_t n_jobs, n_jobs_allocated;
        uint64_t n_jobs_refused;
} UnitRecorder;

void unit_recorder_init(UnitRecorder *recorder, TrackWriter *tracks, const char *group);
void unit_recorder_deinit(UnitRecorder *recorder);

/* The top track. */
uint64_t unit_recorder_group(UnitRecorder *recorder);

/* Returns NULL if there is no room, or the config does not ask for the unit. */
Unit *unit_recorder_unit(UnitRecorder *recorder, const char *name);

void unit_recorder_change(UnitRecorder *recorder, Unit *unit, const UnitTimes *times);
void unit_recorder_remove(UnitRecorder *recorder, const char *name);

/* `type` may be NULL, and be set later. */
void unit_recorder_add_job(UnitRecorder *recorder,
                           uint32_t id,
                           Unit *unit,
                           const char *type,
                           uint64_t at_us);
void unit_recorder_set_job_type(UnitRecorder *recorder, uint32_t id, const char *type);
void unit_recorder_run_job(UnitRecorder *recorder, uint32_t id, uint64_t at_us);
void unit_recorder_end_job(UnitRecorder *recorder, uint32_t id, const char *result, uint64_t at_us);

/* Writes the phases that have settled by now. */
void unit_recorder_write(UnitRecorder *recorder, uint64_t now_us);
/* Writes all phases: what is reported later about the same time gets no arrows. */
void unit_recorder_write_all(UnitRecorder *recorder);
/* Writes all units, and the jobs that have not ended. */
void unit_recorder_finish(UnitRecorder *recorder);
