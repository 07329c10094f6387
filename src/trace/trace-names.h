/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The names behind the numbers in trace files. NULL if a number is unknown.
 */

#include <stddef.h>
#include <stdint.h>

/* The name of a kernel event, by its field number in perfetto.protos.FtraceEvent. */
const char *trace_event_name(uint32_t number);

/* The name of a builtin clock, as clock_gettime(2) has it. */
const char *trace_clock_name(uint32_t number);

/* Counters of the machine, by their numbers in perfetto.protos.SysStats. */
const char *trace_meminfo_name(uint64_t number);
const char *trace_vmstat_name(uint64_t number);
const char *trace_pressure_name(uint64_t number);
