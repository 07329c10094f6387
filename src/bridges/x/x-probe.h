/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * org.x.present: when an X server has shown the frames of windows
 */

#include "host/probe.h"

extern const ProbeOps x_probe_ops;
