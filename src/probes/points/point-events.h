/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point events: the uprobes of a recording, as few kernel events with many probes each
 *
 * Switching off an event takes tens of milliseconds, however many probes it has, and probes can only be added to an
 * event that is off. So everything found at the same time becomes a batch of two events, one for entries and one for
 * returns. A batch only has files of one owner: the kernel refuses a whole event if it refuses one of its probes, and
 * one user's file must not spoil those of others.
 */

#include "probes/ftrace/dynamic-slot.h"
#include "probes/ftrace/instance.h"
#include "probes/points/point-library.h"
#include "probes/points/point-record.h"

#define POINT_BATCHES_MAX 16
#define POINT_SITES_MAX   1024 /* probes of a recording */
#define POINT_SHARERS_MAX 8    /* points in the same place */

/* One place in one file, and the points there. */
typedef struct PointSite {
        const Point *points[POINT_SHARERS_MAX];
        size_t n_points;
        bool has_return;
        int fd; /* while its batch is being made */
        uint64_t offset;
} PointSite;

typedef struct PointBatch {
        bool has_entry, has_return;
        uint16_t entry_id, return_id; /* as records have them */
} PointBatch;

typedef struct PointEvents {
        DynamicSlot slot;
        const TraceDir *dir;
        Instance *instance; /* borrowed */
        PointBatch batches[POINT_BATCHES_MAX];
        size_t n_batches;
        PointSite *sites;
        size_t n_sites, n_sites_before; /* the last batch */
        PointLayout entry_layout, return_layout;
        bool can_return;
} PointEvents;

/* Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int point_events_init(PointEvents *events,
                      const TraceDir *dir,
                      Instance *instance,
                      char **ret_error);
/* The instance must be gone already. Removes everything from the kernel. */
void point_events_deinit(PointEvents *events);

/* Sites are added to a batch between these two. Returns false if there is no room for one more. */
bool point_events_begin(PointEvents *events);
/* Points at the same place of the same file, with the same arguments, share a probe. `fd` stays open until the end
 * of the batch. Returns 0, or PROBE_E_REFUSED with the kernel's reason. */
int point_events_add(PointEvents *events,
                     int fd,
                     const Point *point,
                     const PointSpot *spot,
                     char **ret_error);
/* Switches the batch on. Returns 0, or PROBE_E_REFUSED if the kernel does not accept it; then nothing of it is left. */
int point_events_end(PointEvents *events, char **ret_error);
