/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Host task: the calling thread's pid and tid as the service knows them */

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "desktrace/source.h"
#include "lib/host-task.h"
#include "lib/library.h"
#include "shared/macro.h"
#include "shared/pid-namespace.h"

static _Atomic int kept_link = -1; /* written once */

void host_task_offer(int link_fd) {
        pid_t pid, tid;
        int fd;

        if (atomic_load(&kept_link) >= 0 || task_link_read(link_fd, &pid, &tid) < 0 ||
            (pid == getpid() && tid == gettid()))
                return;
        fd = fcntl(link_fd, F_DUPFD_CLOEXEC, 3);
        if (fd >= 0) /* a forked child may keep it: no peer waits for it to be closed */
                atomic_store(&kept_link, fd);
}

/* An application that closes all descriptors may have another file there by now, which is no task link. */
bool host_task_get(pid_t own_tid, pid_t *ret_pid, pid_t *ret_tid) {
        int fd = atomic_load(&kept_link);
        pid_t tid;

        *ret_pid = getpid();
        *ret_tid = own_tid;
        if (fd < 0 || task_link_read(fd, ret_pid, &tid) < 0)
                return true;
        if (own_tid == gettid())
                *ret_tid = tid;
        else if (own_tid == getpid())
                *ret_tid = *ret_pid;
        else
                return false;
        return true;
}

/* All services outside of a namespace are in the same one, so it does not matter whose instance it is. */
_public_ int dt_instance_get_pid(const dt_instance *instance _unused_) {
        pid_t pid, tid;

        (void)host_task_get(0, &pid, &tid);
        return pid;
}
