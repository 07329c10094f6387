/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sysfs: the small files of /sys, each of which is one value
 *
 * They vanish together with their device, and any read may fail, so a caller asks for what it can do without. Paths are
 * relative to a directory's descriptor, for the tests. No call allocates more than its file may have.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSFS_TEXT_BYTES 4096 /* the kernel gives one page at most */

/* Reads the file's first line, cut to `size`. Returns a negative errno and sets "" if that fails. */
int sysfs_read(char *ret, size_t size, int dir_fd, const char *path);

/* Reads a number in decimal. Returns false if the file cannot be read or has something else. */
bool sysfs_read_uint(uint64_t *ret, int dir_fd, const char *path);
bool sysfs_read_int(int64_t *ret, int dir_fd, const char *path);

/* Gets the names in a directory. Returns false if it wants no more. */
typedef bool SysfsName(const char *name, void *userdata);

/* The names come in the order of the directory, without those that begin with a dot. Returns 0 or a negative errno. */
int sysfs_list(int dir_fd, const char *path, SysfsName *each, void *userdata);
