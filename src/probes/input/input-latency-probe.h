/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.input_latency: how long a device's reports wait until a program reads them
 *
 * The waits are slices on tracks: "Input", the device, and each thread that reads it. A slice begins when the kernel
 * gets the first report that a read returns, and ends with that read. No keys, positions or other values are recorded
 * (input-events.h).
 */

#include "host/probe.h"

extern const ProbeOps input_latency_probe_ops;
