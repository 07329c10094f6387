/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point library: a file that programs have mapped, and where points are in it
 *
 * The file may belong to anybody, and may be made to harm its readers. So its sizes are checked before it is read,
 * and it is not read at all if its file system is a program.
 */

#include "probes/ftrace/static-probes.h"
#include "probes/points/point-fetch.h"
#include "probes/points/point.h"

#define POINT_TABLE_BYTES_MAX (UINT64_C(8) << 20) /* for symbols, and for their names */

enum {
        _POINT_LIBRARY_E_SUCCESS,
        POINT_LIBRARY_E_OTHER,     /* no library, or for another machine */
        POINT_LIBRARY_E_NOT_THERE, /* it has no such function */
        POINT_LIBRARY_E_EXPENSIVE, /* only in a place where each hit costs a single step */
        POINT_LIBRARY_E_ARGUMENTS, /* its arguments cannot be found in this version */
};

typedef struct PointLibrary {
        int fd; /* borrowed */
        Elf *elf;
        uint16_t machine;
        char soname[POINT_LIBRARY_BYTES];
        StaticProbes static_probes; /* read when a point asks for one */
        bool has_static_probes;
} PointLibrary;

/* Where a uprobe goes, in the kernel's words. */
typedef struct PointSpot {
        uint64_t offset;    /* in the file */
        uint64_t semaphore; /* the same; 0: none */
        bool is_expensive;
        char fetches[POINT_ARGUMENTS_MAX][POINT_FETCH_BYTES];
} PointSpot;

/* `fd` stays open as long as the library. Returns 0 or POINT_LIBRARY_E_OTHER. */
int point_library_open(PointLibrary *ret, int fd);
void point_library_close(PointLibrary *library);

/* Whether the point's Library= means this library, by its soname. */
bool point_library_is_meant(const PointLibrary *library, const Point *point);

/* Returns 0 or one of the above. */
int point_library_find(PointLibrary *library, const Point *point, PointSpot *ret);
