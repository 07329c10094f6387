/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is checked of an output's descriptor, on the main thread and on the sink's. */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "shared/macro.h"
#include "sink-descriptor.h"

/* Younger than the headers of some C libraries. */
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif

static const unsigned long kernel_file_systems[] = {
        BPF_FS_MAGIC,   CGROUP2_SUPER_MAGIC, CGROUP_SUPER_MAGIC, CONFIGFS_MAGIC,   DEBUGFS_MAGIC,
        EFIVARFS_MAGIC, PROC_SUPER_MAGIC,    PSTOREFS_MAGIC,     SECURITYFS_MAGIC, SELINUX_MAGIC,
        SMACK_MAGIC,    SYSFS_MAGIC,         TRACEFS_MAGIC,
};

/* What the kernel knows already is enough. With AT_STATX_DONT_SYNC, and only for fields that cannot be out of date,
 * no file system of a user or of another machine is asked. A file never changes its type. */
static int file_type(int fd, mode_t *ret) {
        struct statx st;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
                return -errno;
        *ret = st.stx_mode & S_IFMT;
        return 0;
}

const char *sink_why_unusable(int fd, bool *ret_is_regular) {
        const int flags = fcntl(fd, F_GETFL);
        mode_t type;

        if (flags < 0)
                return "it is not an open descriptor";
        if (flags & O_PATH)
                return "it was opened with O_PATH; open it for writing";
        if ((flags & O_ACCMODE) == O_RDONLY)
                return "it is open for reading only; open it for writing";
        if (file_type(fd, &type) < 0)
                return "it cannot be examined";
        *ret_is_regular = type == S_IFREG;
        if (type == S_IFREG || type == S_IFIFO)
                return NULL;
        return "it is neither a file nor a pipe; pass a pipe, and copy from that to a socket or a "
               "device";
}

int sink_check_file_system(int fd) {
        struct statfs fs;

        if (fstatfs(fd, &fs) <
            0) /* a user's file system may not know this question; the kernel then answers */
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(kernel_file_systems); i++)
                if ((unsigned long)fs.f_type == kernel_file_systems[i])
                        return -EPERM;
        return 0;
}
