/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process time: when a process began, which together with its number tells polkit which one is meant
 */

#include <stdint.h>
#include <sys/types.h>

/* In the kernel's ticks since boot. Returns 0 or a negative errno. */
int process_start_time(pid_t pid, uint64_t *ret_ticks);
/* Likewise, for the process whose directory in /proc is open: still that one if another process has its number by
 * now. */
int process_start_time_at(int directory, uint64_t *ret_ticks);
