/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe registry: the data sources of desktrace-probes
 */

#include <stddef.h>

#include "host/probe.h"

/* First those of the machine; then what any user can record of his own programs. */
extern const ProbeOps *const probes[];
extern const size_t n_probes;
extern const size_t n_machine_probes;
