/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ftrace state: the part of a config that determines an instance's state
 *
 * System calls, filters of events, threads, CPUs, options and the function graph. Everything that can be checked
 * without the kernel is checked here.
 */

#include "host/probe.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/instance-state.h"

#define FILTER_BYTES_MAX   4095 /* the kernel takes less than one page */
#define TIDS_MAX           1024
#define TRACE_OPTIONS_MAX  64
#define CPUMASK_BYTES_MAX  2048 /* of text: 8192 CPUs */
#define FUNCTION_NAMES_MAX 256

/* `selection` has the config's events. Filters of unknown events are left out, with a note. Returns 0,
 * PROBE_E_REFUSED or -ENOMEM. */
int ftrace_state_init(InstanceState *ret,
                      const FtraceConfig *config,
                      const EventSelection *selection,
                      ProbeNotes *notes,
                      char **ret_error);
