/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf file: how the loader reads what programs have mapped
 *
 * Files are read, never mapped, as truncating a mapped file would kill the probes. The file that is opened must
 * be the mapped one, not another one of the same name.
 */

#include "probes/perf/perf-loader.h"

#define PERF_COMMAND_BYTES_MAX 4096u
#define PERF_CGROUP_BYTES_MAX  4096u

/* Call it on the loader's thread: fills in the load's results. */
void perf_file_carry_out(Load *load);

/* The module that the kernel gives to all processes; NULL: none. */
Module *perf_file_vdso(void);
