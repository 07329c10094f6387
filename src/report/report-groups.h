/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Groups: what belongs together on a page, in the order in which people look
 *
 * A group is a program with its threads, tracks and counters; those of the machine come first. Of the programs those
 * with slices of their own come before those of which only scheduling is known, and those that used the CPU more before
 * the others.
 */

#include "trace/trace-store.h"

/* Of a thread or track that belongs to no process. */
#define REPORT_MACHINE TRACE_NONE

typedef struct ReportGroup {
        uint32_t upid; /* or REPORT_MACHINE */
        int64_t running_ns;
        uint64_t n_slices;
        const uint32_t *threads; /* main thread first, then by number */
        size_t n_threads;
        const uint32_t *tracks; /* those of no thread, and of all threads: `TRACK_UTID` tells */
        size_t n_tracks;
} ReportGroup;

typedef struct ReportGroups {
        ReportGroup *groups;
        size_t n;
        uint32_t *threads, *tracks; /* what the groups point into */
        struct ReportMember *members;
} ReportGroups;

/* 0, or -ENOMEM. */
int report_groups_init(ReportGroups *groups, const TraceStore *store);
void report_groups_deinit(ReportGroups *groups);

/* The process of a track: its own, its thread's, or that of the nearest parent with one. */
uint32_t report_track_process(const TraceStore *store, uint32_t track);
