/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, points: which programs that run would be shown without being changed, and by what
 *
 * Programs are found by the libraries that they have mapped, if the files in points.d name these or a bridge is about
 * them, and on the session bus. Only processes whose mappings may be read are looked at: the user's own, or for root
 * all.
 */

#include "client/doctor.h"

#define POINT_PROGRAMS_MAX   256  /* names of programs */
#define POINT_PROCESSES_MAX  4096 /* processes that are looked at */
#define POINT_LIBRARIES_MAX  512
#define POINT_FILE_BYTES_MAX 65536

#define POINT_AT_START \
        "" /* stands in for a source: the program's own events, if it is started with a variable */

/* What one data source would show. */
typedef struct Showing {
        const char *source;
        char *by;            /* the file in points.d, or the variable; or NULL */
        GPtrArray *programs; /* names, of char * */
} Showing;

/* A program with Chromium's engine, which brings its libraries along. */
typedef struct PointEngine {
        char *program, *path;
} PointEngine;

typedef struct PointFacts {
        GPtrArray *libraries; /* libraries that are looked for */
        GPtrArray *showings;  /* of Showing * */
        GArray *engines;      /* of PointEngine */
        bool has_points, has_chromium_folder;
} PointFacts;

/* `root` is the machine's "/", or a tree of fixtures. The bus is not asked. */
PointFacts *point_facts_new(int root);
PointFacts *point_facts_free(PointFacts *facts);
DEFINE_CLEANUP(PointFacts *, point_facts_free)

/* Adds that `source`, a literal, would show a program. */
void point_facts_add(PointFacts *facts, const char *source, const char *program);

/* Looks at "/" and the session bus, on a thread, as reading about some process may hang. NULL: it took too long. */
PointFacts *point_facts_within_time(void);

/* "SOURCE would show NAMES", fit to be printed; NULL: none. Malloc'ed. */
char *showing_sentence(const Showing *showing);

/* Pure. NULL: it took too long. */
void point_check(DoctorReport *report, const PointFacts *facts);
