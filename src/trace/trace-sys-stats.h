/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace system statistics: numbers of the fields of perfetto.protos.SysStats
 *
 * Most fields are messages of a key and a value, for trace_read_numbers(). trace-names.h has the names of the keys.
 */

enum {
        TRACE_SYS_MEMINFO = 1,
        TRACE_SYS_VMSTAT = 2,
        TRACE_SYS_CPU_TIMES = 3,
        TRACE_SYS_FORKS =
                4, /* numbers: this one, the sums of interrupts, and CPU frequencies in kHz */
        TRACE_SYS_INTERRUPTS_SUM = 5,
        TRACE_SYS_INTERRUPTS = 6,
        TRACE_SYS_SOFTIRQS_SUM = 7,
        TRACE_SYS_SOFTIRQS = 8,
        TRACE_SYS_CPU_FREQUENCY = 11,
        TRACE_SYS_BUDDYINFO = 12,
        TRACE_SYS_DISKS = 13,
        TRACE_SYS_PRESSURE = 14,
        TRACE_SYS_SLABINFO = 18,
};

/* Field numbers of a key with its value. */
enum {
        TRACE_SYS_KEY = 1,
        TRACE_SYS_VALUE = 2,
        _TRACE_SYS_KEYED,
};
