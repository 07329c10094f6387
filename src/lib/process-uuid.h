/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process uuid: the number of this process's track in traces
 *
 * For viewers two numbers for one pid are two processes, one after the other. Perfetto's SDK may be in the program as
 * well (Mesa, a browser engine), and bridges speak for programs from outside, so it is the number that the SDK
 * computes: FNV-1a of the start time of the process (the 22nd field of /proc/PID/stat, 8 bytes) and of its pid (4
 * bytes), both in the byte order of the machine. The pid is the one that the process itself knows.
 */

#include <stdint.h>
#include <sys/types.h>

/* Of what stands in PID/stat. 0 when that makes no sense. */
uint64_t process_uuid_make(const char *stat, pid_t pid);

/* Of this process; 0 without /proc. */
uint64_t process_uuid_get(void);
