/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Counters: /proc/meminfo and /proc/vmstat by the numbers of protos/sys_stats_counters.proto
 *
 * Both files are lines of a key and a value, always in the same order while the machine is up. So the number of
 * each line is remembered, and a key is only looked up when a line is not what it was.
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "wire/wire-writer.h"

#define COUNTER_LINES_MAX 512 /* lines of such a file that are looked at; vmstat of 6.18 has 192 */

typedef enum CounterFile {
        COUNTER_MEMINFO, /* SysStats.meminfo, in kB */
        COUNTER_VMSTAT,  /* SysStats.vmstat */
        _COUNTER_FILE_N,
} CounterFile;

typedef struct CounterName {
        char *key;
        uint32_t number;
} CounterName;

typedef struct Counters {
        CounterFile file;
        CounterName *names; /* what is wanted */
        size_t n_names;
        const CounterName *lines[COUNTER_LINES_MAX]; /* by line; NULL: not known to be wanted */
} Counters;

/* `wanted` are numbers; none means all. Numbers that mean nothing are ignored, as configs may come from a newer
 * version. 0, -ENOMEM. */
int counters_init(Counters *counters, CounterFile file, const uint32_t *wanted, size_t n_wanted);
void counters_deinit(Counters *counters);

/* Appends a SysStats.MeminfoValue or VmstatValue for each line that is wanted. */
void counters_encode(Counters *counters, const char *text, WireWriter *wire);
