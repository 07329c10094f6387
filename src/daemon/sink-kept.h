/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which outputs may be left to systemd while there is no process of the service
 *
 * systemd closes them when they are not needed any longer, and must not wait for anybody. To close a file may take for
 * ever where its file system is a user's program, or on another machine. So only pipes are kept, and files of file
 * systems that are the kernel's own work, down to the disk.
 */

#include <stdbool.h>

/* For the sink's thread. */
bool sink_may_be_kept(int fd);
/* From now on any file may be kept, as only the user's own command would wait. Before the first thread. */
void sink_keep_all(void);
