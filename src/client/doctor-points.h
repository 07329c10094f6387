/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, points: which programs that run linux.program_points would show
 *
 * By the libraries that they have mapped and those that the files in points.d name. Only processes whose mappings may
 * be read are looked at: one's own, or for root all.
 */

#include "client/doctor.h"

#define POINT_PROGRAMS_MAX   256  /* names of programs */
#define POINT_PROCESSES_MAX  4096 /* that are looked at */
#define POINT_LIBRARIES_MAX  512
#define POINT_FILE_BYTES_MAX 65536

/* All programs of one name. */
typedef struct PointProgram {
        char *name;
        GPtrArray *
                groups; /* of points by which it would be shown; of char *, belonging to the facts */
        bool has_own_engine; /* Chromium's, which brings its libraries along */
} PointProgram;

typedef struct PointFacts {
        GPtrArray *libraries; /* what the files in points.d name */
        GArray *programs;     /* of PointProgram, each with something to say */
} PointFacts;

/* `root` is the machine's "/", or a tree of fixtures. */
PointFacts *point_facts_new(int root);
PointFacts *point_facts_free(PointFacts *facts);
DEFINE_CLEANUP(PointFacts *, point_facts_free)

/* The same from "/", on a thread, as some process may not answer. NULL: it took too long. */
PointFacts *point_facts_within_time(void);

/* "name (group, group)", some of them, fit to be printed; "": none. Malloc'ed. */
char *point_facts_list(const PointFacts *facts);

/* Pure. NULL: it took too long. */
void point_check(DoctorReport *report, const PointFacts *facts);
