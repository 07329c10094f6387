/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export stacks: samples of call stacks, as flame graphs and their viewers want them
 */

#include "client/export.h"

int export_folded(Export *export);
int export_off_cpu(Export *export);
int export_speedscope(Export *export);
