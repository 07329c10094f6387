/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe registry: the data sources of desktrace-probes
 */

#include <stddef.h>

#include "host/probe.h"

/* The probes that anybody may run, to record his own programs. */
extern const ProbeOps *const probes[];
extern const size_t n_probes;

/* The system's probes of the same names: these show the programs of the user who asks. */
extern const ProbeOps *const machine_probes[];
extern const size_t n_machine_probes;
