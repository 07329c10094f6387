/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point ring: the instance that records the points, and its records in order of time
 *
 * The rings of the CPUs are read one after another. So records newer than the beginning of a turn are kept for the next
 * turn, when it is certain that nothing older can follow.
 */

#include "probes/ftrace/own-pages.h"
#include "probes/points/point-events.h"
#include "probes/points/wait-events.h"

#define POINT_BUFFER_KB   1408          /* of each CPU's ring: the kernel's default */
#define POINT_RECORDS_MAX (256u * 1024) /* kept at the same time */
#define POINT_TURN_MAX    10000 /* handled in a tenth of a second: ten times what a busy desktop has */
#define POINT_TURN_NS     UINT64_C(100000000)
#define POINT_TURNS_LATE  5 /* for which a turn can make up if the machine has not let us run */

typedef struct PointRing {
        OwnPages pages;
        PointEvents events;
        WaitEvents waits;
        PointRecord *records;
        size_t n_records, n_allocated;
        uint64_t n_lost;   /* records that the kernel or we had no room for */
        uint64_t rests_ns; /* since when none are left over; 0: never so far */
} PointRing;

/* With recording off. Returns 0, PROBE_E_REFUSED or a negative errno. */
int point_ring_new(PointRing **ret, char **ret_error);
/* Nothing of it is left in the kernel. */
PointRing *point_ring_free(PointRing *ring);
DEFINE_CLEANUP(PointRing *, point_ring_free)

/* Records the waits of all threads, too. Returns 0 or PROBE_E_REFUSED. */
int point_ring_add_waits(PointRing *ring, char **ret_error);

int point_ring_start(PointRing *ring, char **ret_error);
void point_ring_stop(PointRing *ring);

/* Reads what the kernel has into ring->records, sorted. */
void point_ring_read(PointRing *ring);
/* Drops the oldest records if there are too many for the time since the last turn ended, and counts them as lost.
 * Any program can make as many as it likes, and the rest of the probes has to get on. */
void point_ring_limit(PointRing *ring, uint64_t now_ns);
/* Drops the first `n` of them. */
void point_ring_consume(PointRing *ring, size_t n);
