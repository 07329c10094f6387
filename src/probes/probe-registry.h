/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe registry: the data sources of desktrace-probes
 */

#include <stddef.h>

#include "host/probe.h"

/* As anybody may run them, and record his own programs. */
extern const ProbeOps *const probes[];
extern const size_t n_probes;

/* Of the system's, by the same names: programs are of the user who asks. */
extern const ProbeOps *const machine_probes[];
extern const size_t n_machine_probes;
