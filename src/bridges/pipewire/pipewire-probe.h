/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * org.pipewire.profiler: cycles of PipeWire's graph, from its profiler
 */

#include "host/probe.h"

extern const ProbeOps pipewire_probe_ops;
