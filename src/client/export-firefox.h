/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export Firefox: samples and slices as Firefox's profiler shows them
 *
 * The format is that of processed profiles, in a version from which the profiler upgrades: call stacks and texts
 * once for all threads, and for each thread its samples, and its slices as markers. It has threads only.
 */

#include "client/export.h"

int export_firefox(Export *export);
