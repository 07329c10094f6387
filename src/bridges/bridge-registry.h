/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bridge registry: the data sources of desktrace-bridges
 */

#include <stddef.h>

#include "host/probe.h"

extern const ProbeOps *const bridges[];
extern const size_t n_bridges;
