/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether this machine lets us record kernel events: what instance_new() would find, without making one
 */

/* ProbeOps.check. */
int ftrace_check(char **ret_error);

/* The same of a tree of fixtures: sys/kernel/tracing and what denial.h reads. */
int ftrace_check_at(int root, char **ret_error);
