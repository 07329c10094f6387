/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether /proc shows what linux.process_stats and linux.sys_stats read
 *
 * There may be no /proc, or it may only have processes (subset=pid).
 */

#include "host/probe.h"

/* ProbeOps.check. */
int process_stats_check(char **ret_error);
int sys_stats_check(char **ret_error);

/* The same for a tree of fixtures. */
int process_stats_check_at(int root, char **ret_error);
int sys_stats_check_at(int root, char **ret_error);
