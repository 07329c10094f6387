/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup files: which files of a cgroup are read, which counters they contain, and their parser
 *
 * There are two tables, and one function for all formats: a single number (memory.current), lines of a key and a number
 * (cpu.stat), lines of a key and pairs (io.stat, *.pressure). What a file lacks is missing from the reading, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/track-writer.h"

#define CGROUP_DEVICES_MAX 64 /* in one reading of io.stat; further ones are left out */

/* What a config can ask for: CgroupConfig.Counters. */
typedef enum CgroupKind {
        CGROUP_KIND_CPU = 1,
        CGROUP_KIND_MEMORY = 2,
        CGROUP_KIND_IO = 3,
        CGROUP_KIND_PRESSURE = 4,
        CGROUP_KIND_PIDS = 5,
        CGROUP_KIND_EVENTS = 6,
        _CGROUP_KIND_N,
} CgroupKind;

typedef enum CgroupFile {
        CGROUP_CPU_STAT,
        CGROUP_MEMORY_CURRENT,
        CGROUP_SWAP_CURRENT,
        CGROUP_MEMORY_STAT,
        CGROUP_MEMORY_EVENTS,
        CGROUP_PIDS_CURRENT,
        CGROUP_CPU_PRESSURE,
        CGROUP_MEMORY_PRESSURE,
        CGROUP_IO_PRESSURE,
        CGROUP_IRQ_PRESSURE,
        CGROUP_IO_STAT,
        _CGROUP_FILE_N,
} CgroupFile;

typedef struct CgroupFileInfo {
        const char *name;
        CgroupKind kind;
        const char *controller; /* the file exists only with this controller; NULL: always */
} CgroupFileInfo;

extern const CgroupFileInfo cgroup_files[_CGROUP_FILE_N];

/* One counter: where it is found, and the track that it becomes. */
typedef struct CgroupCounter {
        CgroupFile file;
        const char *key;  /* the first word of its line; NULL: the file is nothing but a number */
        const char *name; /* of the track; for io.stat, what precedes the device's name */
        TrackUnit unit;
        uint32_t scale; /* the factor for values */
        bool is_total;  /* it only grows; otherwise it is a level */
} CgroupCounter;

enum { CGROUP_N_COUNTERS = 26, CGROUP_N_IO_COUNTERS = 4 };

extern const CgroupCounter
        cgroup_counters[CGROUP_N_COUNTERS]; /* sorted by file; all but those of io.stat */
extern const CgroupCounter cgroup_io_counters[CGROUP_N_IO_COUNTERS]; /* of each device */

/* A device's line in io.stat. */
typedef struct CgroupIo {
        uint32_t major, minor;
        uint32_t found; /* bits: which of the values there are */
        int64_t values[CGROUP_N_IO_COUNTERS];
} CgroupIo;

typedef struct CgroupReading {
        uint32_t files; /* bits: which files could be read */
        uint32_t found; /* bits: which of the values there are */
        int64_t values[CGROUP_N_COUNTERS];
        size_t n_ios;
        CgroupIo ios[CGROUP_DEVICES_MAX]; /* in the order of the file */
} CgroupReading;

static inline void cgroup_reading_init(CgroupReading *reading) {
        reading->files = 0;
        reading->found = 0;
        reading->n_ios = 0;
}

/* Adds what the text of a file says. Values that no counter can have (negative, or beyond 63 bits) are left out. */
void cgroup_reading_add(CgroupReading *reading, CgroupFile file, const char *text, size_t n_bytes);
