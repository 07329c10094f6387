/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Flatpak info: the app that a sandboxed process belongs to, from the file /.flatpak-info in its root
 *
 * For sandboxes whose unit does not name the app, which happens without a user's manager. The root belongs to
 * somebody else and may be that user's own file system, which may never answer (FUSE). So it is not touched until
 * its mount, identified by the number that the kernel gives, is known to be a tmpfs, as Flatpak's are. The same
 * holds for the file, which is a mount of its own there. Links are not followed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FLATPAK_APP_ID_BYTES 256 /* the longest id of an app, and a NUL */

/* Looks up a process below `proc_fd` (/proc). Returns false if it is not in such a sandbox, or may not be inspected. */
bool flatpak_info_read(char ret[static FLATPAK_APP_ID_BYTES], int proc_fd, pid_t pid);

/* Finds the app's name in the text of such a file; false if the text has no valid id. */
bool flatpak_info_parse(char ret[static FLATPAK_APP_ID_BYTES], const char *text);

/* Whether PID/mountinfo lists a tmpfs with this mount number. */
bool flatpak_mount_is_tmpfs(const char *mountinfo, long mount_id);
