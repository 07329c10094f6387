/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.program_points: what programs do that know nothing about tracing, by points in the libraries that they use
 */

#include "host/probe.h"

extern const ProbeOps program_points_probe_ops;
