/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Groups: what belongs together on a page, in the order in which people look
 *
 * A group is a program with its threads, tracks and counters; the machine's come first. Programs with slices of their
 * own come before those whose scheduling alone is known, and within each, those that used more CPU come first.
 */

#include "trace/trace-store.h"

/* A thread or track that belongs to no process. */
#define REPORT_MACHINE TRACE_NONE

typedef struct ReportGroup {
        uint32_t upid; /* or REPORT_MACHINE */
        int64_t running_ns;
        uint64_t n_slices;
        const uint32_t *threads; /* main thread first, then by number */
        size_t n_threads;
        const uint32_t *
                tracks; /* tracks without a thread, and those of all threads; `TRACK_UTID` tells which */
        size_t n_tracks;
} ReportGroup;

typedef struct ReportGroups {
        ReportGroup *groups;
        size_t n;
        uint32_t *threads, *tracks; /* the arrays that the groups point into */
        struct ReportMember *members;
} ReportGroups;

/* Returns 0, or -ENOMEM. */
int report_groups_init(ReportGroups *groups, const TraceStore *store);
void report_groups_deinit(ReportGroups *groups);

/* The process of a track: its own, its thread's, or that of the nearest parent that has one. */
uint32_t report_track_process(const TraceStore *store, uint32_t track);
