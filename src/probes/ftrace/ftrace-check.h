/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether this machine lets us record kernel events: checks what instance_new() needs, without making an instance
 */

/* ProbeOps.check. */
int ftrace_check(char **ret_error);

/* The same for a tree of fixtures: sys/kernel/tracing, and the files that denial.h reads. */
int ftrace_check_at(int root, char **ret_error);
