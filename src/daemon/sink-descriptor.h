/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which descriptors of a caller the service writes to
 *
 * A user chooses the bytes of a trace, and they are written with the service's credentials. So they may only go where
 * credentials mean nothing: into regular files (including memfds) and pipes. A socket would carry them along, for
 * example to systemd or the journal, and a device or a file of the kernel may act on them.
 */

#include <stdbool.h>

/* For the main thread: checks the descriptor without asking its file system. Returns NULL if it may be written to.
 * Otherwise the reason, and what to do. */
const char *sink_why_unusable(int fd, bool *ret_is_regular);

/* For the sink's thread, before the first write: asks the file system, which may take as long as it likes. Returns
 * 0, or -EPERM for the kernel's own file systems, whose files are switches rather than files. */
int sink_check_file_system(int fd);
