/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The C library's functions change all threads of a process, so these are the kernel's own calls. Some architectures
 * have two of each; the newer one takes 32-bit ids.
 */

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/perf/perf-identity.h"

#ifdef SYS_setresuid32
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#endif

/* A capability that is still permitted could be made effective again. */
static int drop_capabilities(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

        return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int perf_identity_assume(uid_t uid, gid_t gid) {
        if (uid == (uid_t)-1 || gid == (gid_t)-1)
                return -EINVAL;
        if (syscall(CALL_SETGROUPS, 0, NULL) < 0 || syscall(CALL_SETRESGID, -1, gid, -1) < 0 ||
            syscall(CALL_SETRESUID, -1, uid, -1) < 0)
                return -errno;
        return drop_capabilities();
}
