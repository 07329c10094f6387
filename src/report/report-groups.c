/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Groups: what belongs together on a page, in the order in which people look */

#include "report/report-groups.h"

#include <errno.h>

#include "trace/trace-tracks.h"

/* A thread or track, and its group: groups are indexed by upid, and the machine's is the last. */
struct ReportMember {
        size_t group;
        bool is_main;
        int64_t order;
        uint32_t number;
};

static uint32_t process_of_thread(const TraceStore *store, uint32_t utid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];

        return utid < threads->n ? trace_table_get(threads, THREAD_UPID, utid) : TRACE_NONE;
}

uint32_t report_track_process(const TraceStore *store, uint32_t track) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];

        for (unsigned i = 0; track < tracks->n && i < TRACE_TRACK_PARENTS_MAX; i++) {
                uint32_t upid = trace_table_get(tracks, TRACK_UPID, track);

                if (upid == TRACE_NONE)
                        upid = process_of_thread(store, trace_table_get(tracks, TRACK_UTID, track));
                if (upid != TRACE_NONE)
                        return upid;
                track = trace_table_get(tracks, TRACK_PARENT, track);
        }
        return REPORT_MACHINE;
}

static size_t n_processes(const TraceStore *store) {
        return store->tables[TRACE_TABLE_PROCESS].n;
}

static size_t group_of(const TraceStore *store, uint32_t upid) {
        return upid < n_processes(store) ? upid : n_processes(store);
}

static void add_running(ReportGroups *groups, const TraceStore *store) {
        const TraceTable *sched = &store->tables[TRACE_TABLE_SCHED];

        for (uint32_t row = 0; row < sched->n; row++) {
                uint32_t utid = trace_table_get(sched, SCHED_UTID, row);
                int64_t duration = trace_table_i64(sched, SCHED_DUR, row);
                ReportGroup *group =
                        &groups->groups[group_of(store, process_of_thread(store, utid))];

                if (utid != 0 && duration > 0 && group->running_ns < INT64_MAX - duration)
                        group->running_ns += duration;
        }
}

static void add_slices(ReportGroups *groups, const TraceStore *store) {
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];

        for (uint32_t row = 0; row < slices->n; row++) {
                uint32_t track = trace_table_get(slices, SLICE_TRACK, row);

                groups->groups[group_of(store, report_track_process(store, track))].n_slices++;
        }
}

static int compare_members(const void *a, const void *b) {
        const struct ReportMember *first = a, *second = b;

        if (first->group != second->group)
                return first->group < second->group ? -1 : 1;
        if (first->is_main != second->is_main)
                return first->is_main ? -1 : 1;
        if (first->order != second->order)
                return first->order < second->order ? -1 : 1;
        return first->number < second->number ? -1 : 1;
}

/* Sorts them by groups. */
static uint32_t *list_members(struct ReportMember *members, size_t n) {
        uint32_t *numbers = calloc(n + 1, sizeof(*numbers));

        qsort(members, n, sizeof(*members), compare_members);
        for (size_t i = 0; numbers && i < n; i++)
                numbers[i] = members[i].number;
        return numbers;
}

static int add_threads(ReportGroups *groups, const TraceStore *store) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        size_t n = 0;

        for (uint32_t utid = 1; utid < threads->n; utid++) { /* the first is the idle process */
                int64_t tid = 0;

                trace_table_number(threads, THREAD_TID, utid, &tid);
                groups->members[n++] = (struct ReportMember){
                        .group = group_of(store, process_of_thread(store, utid)),
                        .is_main = trace_table_get(threads, THREAD_IS_MAIN, utid) == 1,
                        .order = tid,
                        .number = utid,
                };
        }
        groups->threads = list_members(groups->members, n);
        if (!groups->threads)
                return -ENOMEM;
        for (size_t i = n; i-- > 0;) {
                ReportGroup *group = &groups->groups[groups->members[i].group];

                group->threads = &groups->threads[i];
                group->n_threads++;
        }
        return 0;
}

static int add_tracks(ReportGroups *groups, const TraceStore *store) {
        size_t n = store->tables[TRACE_TABLE_TRACK].n;

        for (uint32_t track = 0; track < n; track++)
                groups->members[track] = (struct ReportMember){
                        .group = group_of(store, report_track_process(store, track)),
                        .order = track,
                        .number = track,
                };
        groups->tracks = list_members(groups->members, n);
        if (!groups->tracks)
                return -ENOMEM;
        for (size_t i = n; i-- > 0;) {
                ReportGroup *group = &groups->groups[groups->members[i].group];

                group->tracks = &groups->tracks[i];
                group->n_tracks++;
        }
        return 0;
}

static int compare_groups(const void *a, const void *b) {
        const ReportGroup *first = a, *second = b;

        if ((first->upid == REPORT_MACHINE) != (second->upid == REPORT_MACHINE))
                return first->upid == REPORT_MACHINE ? -1 : 1;
        if ((first->n_slices > 0) != (second->n_slices > 0))
                return first->n_slices > 0 ? -1 : 1;
        if (first->running_ns != second->running_ns)
                return first->running_ns > second->running_ns ? -1 : 1;
        return first->upid < second->upid ? -1 : first->upid > second->upid;
}

int report_groups_init(ReportGroups *groups, const TraceStore *store) {
        size_t n_members =
                MAX(store->tables[TRACE_TABLE_THREAD].n, store->tables[TRACE_TABLE_TRACK].n);
        int r;

        *groups = (ReportGroups){ .n = n_processes(store) + 1 };
        groups->groups = calloc(groups->n, sizeof(*groups->groups));
        groups->members = calloc(n_members + 1, sizeof(*groups->members));
        if (!groups->groups || !groups->members)
                return -ENOMEM;
        for (size_t i = 0; i < groups->n; i++)
                groups->groups[i].upid = i < n_processes(store) ? (uint32_t)i : REPORT_MACHINE;
        add_running(groups, store);
        add_slices(groups, store);
        r = add_threads(groups, store);
        if (r == 0)
                r = add_tracks(groups, store);
        qsort(groups->groups, groups->n, sizeof(*groups->groups), compare_groups);
        return r;
}

void report_groups_deinit(ReportGroups *groups) {
        free(groups->groups);
        free(groups->threads);
        free(groups->tracks);
        free(groups->members);
        *groups = (ReportGroups){ 0 };
}
