/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Flatpak info: the app of a process in a sandbox, as the file /.flatpak-info of its root says
 *
 * For sandboxes whose unit does not name the app: without a user's manager there is none. The root is somebody else's,
 * and may be a file system of his own that never answers (FUSE). So nothing is asked of it before its mount, by the
 * number that the kernel gives, is known to be a tmpfs, as those of Flatpak are; the same for the file, which is a
 * mount of its own there. Links are not followed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FLATPAK_APP_ID_BYTES 256 /* the longest id of an app, and a NUL */

/* Of a process below `proc_fd` (/proc). False when it is not in such a sandbox, or may not be looked at. */
bool flatpak_info_read(char ret[static FLATPAK_APP_ID_BYTES], int proc_fd, pid_t pid);

/* The name in the text of such a file; false when there is none that could be an id. */
bool flatpak_info_parse(char ret[static FLATPAK_APP_ID_BYTES], const char *text);

/* Whether the mount with this number is there, and a tmpfs, as PID/mountinfo says. */
bool flatpak_mount_is_tmpfs(const char *mountinfo, long mount_id);
