/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/host-task.h"
#include "lib/library.h"
#include "shared/pid-namespace.h"

static _Atomic int kept_link = -1; /* written once */

void host_task_offer(int link_fd) {
        pid_t pid, tid;
        int fd;

        if (atomic_load(&kept_link) >= 0 || task_link_read(link_fd, &pid, &tid) < 0 ||
            (pid == getpid() && tid == gettid()))
                return;
        fd = fcntl(link_fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return;
        library_fork_close(fd);
        atomic_store(&kept_link, fd);
}

void host_task_get(pid_t own_tid, pid_t *ret_pid, pid_t *ret_tid) {
        int fd = atomic_load(&kept_link);

        /* An application that closes all descriptors may have something else there by now: then it is no task. */
        if (fd >= 0 && task_link_read(fd, ret_pid, ret_tid) == 0)
                return;
        *ret_pid = getpid();
        *ret_tid = own_tid;
}
