/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Names behind the numbers of trace files. NULL when unknown.
 */

#include <stddef.h>
#include <stdint.h>

/* A kernel event, by its field number in perfetto.protos.FtraceEvent. */
const char *trace_event_name(uint32_t number);

/* A builtin clock, as clock_gettime(2) calls it. */
const char *trace_clock_name(uint32_t number);

/* Counters of the machine, by their numbers in perfetto.protos.SysStats. */
const char *trace_meminfo_name(uint64_t number);
const char *trace_vmstat_name(uint64_t number);
const char *trace_pressure_name(uint64_t number);
