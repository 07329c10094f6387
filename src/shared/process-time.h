/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * When a process began, which with its number tells polkit which one is meant
 */

#include <stdint.h>
#include <sys/types.h>

/* In the kernel's ticks since boot. Returns 0 or a negative errno. */
int process_start_time(pid_t pid, uint64_t *ret_ticks);
/* Likewise, of the process whose directory in /proc is open: that one, also if the number is another's by now. */
int process_start_time_at(int directory, uint64_t *ret_ticks);
