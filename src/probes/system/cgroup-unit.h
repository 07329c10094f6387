/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup unit: the counters of one cgroup, as tracks
 *
 * A total counts from the beginning of the recording, or of the cgroup if that is later. So its track rises from 0 to
 * what the recording has seen, instead of being a flat line at what was used since the machine started. What is 0 has
 * no track. When it first is not 0, the 0 of the previous sample is written, too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "host/track-writer.h"
#include "probes/system/block-names.h"
#include "probes/system/cgroup-reader.h"
#include "probes/system/cgroup-tree.h"

/* Where a sample goes, and when it was taken. */
typedef struct CgroupSample {
        TrackWriter *tracks;
        BlockNames *blocks;
        uint64_t now_ns;
        uint64_t previous_ns; /* of the previous sample; 0: there was none */
} CgroupSample;

typedef struct CgroupValue {
        int64_t base; /* of a total: its value when we began to count */
        int64_t last; /* the value that was written last */
        bool is_based;
        bool is_shown; /* it has not always been 0 */
} CgroupValue;

typedef struct CgroupDevice {
        uint32_t major, minor;
        CgroupValue values[CGROUP_N_IO_COUNTERS];
} CgroupDevice;

typedef struct CgroupUnit {
        CgroupFds fds;
        bool is_new;    /* its totals began at 0 */
        uint32_t files; /* bits: the files that were read before */
        CgroupValue values[CGROUP_N_COUNTERS];
        CgroupDevice *devices; /* the devices that it has used */
        size_t n_devices;      /* CGROUP_DEVICES_MAX at most */
} CgroupUnit;

/* `is_new`: the cgroup was made during the recording. */
int cgroup_unit_new(CgroupUnit **ret, bool is_new);

/* NULL is accepted. */
CgroupUnit *cgroup_unit_free(CgroupUnit *unit);

void cgroup_unit_write(Cgroup *cgroup, const CgroupReading *reading, const CgroupSample *sample);

/* The cgroup has gone: frees what it had. */
void cgroup_unit_end(Cgroup *cgroup, const CgroupSample *sample);

/* The track of all cgroups. */
uint64_t cgroup_units_group(const CgroupSample *sample);
