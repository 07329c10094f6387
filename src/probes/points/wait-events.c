/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Wait events: the system calls in which main loops wait, as tracepoints of an instance */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/points/wait-events.h"

#define PATH_BYTES 128

/* Not every machine has the old calls, and not every kernel has the new ones. */
static const char *const calls[] = {
        "poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2", "select", "pselect6",
};

/* Enables an event, and sets its number. Returns false if the kernel does not have it. */
static bool enable(const TraceDir *dir,
                   Instance *instance,
                   const char *prefix,
                   const char *call,
                   uint16_t *ret) {
        _cleanup_(freep) char *text = NULL;
        char file[PATH_BYTES];

        snprintf(file, sizeof(file), "events/syscalls/%s%s/id", prefix, call);
        if (trace_dir_read(dir, file, &text, NULL, NULL) != 0)
                return false;
        *ret = (uint16_t)strtoul(text, NULL, 10);
        snprintf(file, sizeof(file), "events/syscalls/%s%s/enable", prefix, call);
        return instance_write(instance, file, "1", NULL) == 0;
}

int wait_events_enable(WaitEvents *ret, const TraceDir *dir, Instance *instance, char **ret_error) {
        *ret = (WaitEvents){};
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (enable(dir, instance, "sys_exit_", calls[i], &ret->exit[ret->n]) &&
                    enable(dir, instance, "sys_enter_", calls[i], &ret->enter[ret->n]))
                        ret->n++;
        if (ret->n > 0)
                return 0;
        return probe_refuse(ret_error,
                            "stall_ms: this kernel has no events of system calls "
                            "(CONFIG_FTRACE_SYSCALLS); leave it out");
}
