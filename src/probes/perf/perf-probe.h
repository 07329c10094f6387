/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.perf: what the machine's processors run, by call stacks
 */

#include "host/probe.h"

extern const ProbeOps perf_probe_ops;
