/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf file: how the loader reads what programs have mapped
 *
 * Bytes are read, never mapped: a file that becomes shorter would end us. What is opened must be the file that is
 * mapped, not another one of its name.
 */

#include "probes/perf/perf-loader.h"

#define PERF_COMMAND_BYTES_MAX 4096u
#define PERF_CGROUP_BYTES_MAX  4096u

/* On the loader's thread: fills in what the load is for. */
void perf_file_carry_out(Load *load);

/* The module that the kernel gives to all processes; NULL: none. */
Module *perf_file_vdso(void);
