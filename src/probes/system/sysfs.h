/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sysfs: the small files of /sys, each one value
 *
 * They vanish with their device and may fail at any read, so a caller asks for what it can do without. Paths are
 * relative to a directory's descriptor, for the tests. No call allocates more than its file is allowed to have.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSFS_TEXT_BYTES 4096 /* the kernel gives one page at most */

/* The file's first line, cut to `size`; or a negative errno and "". */
int sysfs_read(char *ret, size_t size, int dir_fd, const char *path);

/* A number in decimal; false when the file cannot be read or is something else. */
bool sysfs_read_uint(uint64_t *ret, int dir_fd, const char *path);
bool sysfs_read_int(int64_t *ret, int dir_fd, const char *path);

/* Gets the names in a directory; false: no more are wanted. */
typedef bool SysfsName(const char *name, void *userdata);

/* In the order of the directory, without those that begin with a dot. 0, or a negative errno. */
int sysfs_list(int dir_fd, const char *path, SysfsName *each, void *userdata);
