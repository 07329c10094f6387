/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process uuid: the number of this process's track in traces
 *
 * If one pid has two such numbers, viewers show two processes, one after the other. Perfetto's SDK may be in the
 * program as well (Mesa, a browser engine), and bridges speak for programs from outside, so this is the number that
 * the SDK computes: FNV-1a of the start time of the process (the 22nd field of /proc/PID/stat, 8 bytes) and of its
 * pid (4 bytes), both in the machine's byte order. The pid is the one that the process itself sees.
 */

#include <stdint.h>
#include <sys/types.h>

/* Computes it from the text of PID/stat. 0 if the text makes no sense. */
uint64_t process_uuid_make(const char *stat, pid_t pid);

/* Returns the number of this process; 0 without /proc. */
uint64_t process_uuid_get(void);
