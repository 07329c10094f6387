/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Static list: lists the static probes of a program, to be used in a config
 */

/* To stdout: a line for each probe and each form of its arguments, "provider:name arg1:s32 arg2:u64 arg3:?"; "?" is
 * what the kernel cannot read. 0; PROBE_E_REFUSED; a negative errno. */
int static_list_print(const char *path, char **ret_error);
