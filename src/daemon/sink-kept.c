/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* By the file system, which is asked; so this is for the sink's thread. */

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "shared/macro.h"
#include "sink-kept.h"

/* In no header for programs. */
#define PIPEFS_MAGIC   0x50495045
#define BCACHEFS_MAGIC 0xca451a4e

/* Not those on top of others, which may be anybody's. */
static const unsigned long plain_file_systems[] = {
        BCACHEFS_MAGIC, BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, HUGETLBFS_MAGIC,
        PIPEFS_MAGIC,   RAMFS_MAGIC,       TMPFS_MAGIC,      XFS_SUPER_MAGIC,
};

static bool keeps_all;

void sink_keep_all(void) {
        keeps_all = true;
}

bool sink_may_be_kept(int fd) {
        struct statfs fs;

        if (keeps_all)
                return true;
        if (fstatfs(fd, &fs) < 0)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(plain_file_systems); i++)
                if ((unsigned long)fs.f_type == plain_file_systems[i])
                        return true;
        return false;
}
