/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sysprof probe: data source org.gnome.sysprof
 */

#include "bridges/sysprof/capture-control.h"
#include "host/probe.h"

extern const ProbeOps sysprof_probe_ops;

/* Programs that were started with the other end of this socket are recorded. Before anything is set up; borrowed, and
 * NULL: there are none. */
void sysprof_probe_set_control(CaptureControl *control);
