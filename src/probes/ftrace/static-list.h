/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Static list: lists the static probes of a program, for use in a config
 */

/* Prints a line to stdout for each probe and each form of its arguments, "provider:name arg1:s32 arg2:u64 arg3:?",
 * where "?" is an argument that the kernel cannot read. Returns 0, PROBE_E_REFUSED or a negative errno. */
int static_list_print(const char *path, char **ret_error);
