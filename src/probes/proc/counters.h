/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Counters: /proc/meminfo and /proc/vmstat by the numbers of protos/sys_stats_counters.proto
 *
 * Both files consist of lines with a key and a value, whose order never changes while the machine is up. So the key of
 * each line is remembered, and only looked up if the line is not what it was. Keys of newer kernels have no number:
 * they become tracks, unless the config wants only some counters, which it always lists by number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/track-writer.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define COUNTER_LINES_MAX   512 /* lines of such a file; vmstat of 6.18 has 192 */
#define COUNTER_UNKNOWN_MAX 256 /* keys without a number */
#define COUNTER_KEY_MAX     64  /* letters of a key */

typedef enum CounterFile {
        COUNTER_MEMINFO, /* SysStats.meminfo, in kB */
        COUNTER_VMSTAT,  /* SysStats.vmstat */
        _COUNTER_FILE_N,
} CounterFile;

typedef struct CounterName {
        char *key;
        uint32_t number; /* 0: a track */
} CounterName;

typedef struct Counters {
        CounterFile file;
        CounterName *names; /* first the wanted ones, then those without a number */
        size_t n_names, n_known;
        bool keeps_unknown;
        uint16_t lines
                [COUNTER_LINES_MAX]; /* index in names + 1, by line; 0: not wanted, as far as is known */
} Counters;

/* `wanted` are numbers; none means all, also those without a number. Numbers that mean nothing are ignored, as
 * configs may come from a newer version. Returns 0 or -ENOMEM. */
int counters_init(Counters *counters, CounterFile file, const uint32_t *wanted, size_t n_wanted);
void counters_deinit(Counters *counters);

/* Appends a SysStats.MeminfoValue or VmstatValue for each wanted line that has a number. The other lines go to
 * `tracks`. */
void counters_encode(Counters *counters,
                     const char *text,
                     WireWriter *wire,
                     TrackWriter *tracks,
                     uint64_t now_ns);
