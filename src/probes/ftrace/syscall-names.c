/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/syscall-names.h"
#include "probes/probe.h"
#include "shared/text.h"

/* { "read", 0 }, … */
const SyscallName syscall_names[] = {
#include "syscall-table.h"
};

const size_t n_syscall_names = ARRAY_SIZE(syscall_names);

static const SyscallName *syscall_find(const char *name) {
        if (strncmp(name, "sys_", 4) == 0)
                name += 4;
        for (size_t i = 0; i < n_syscall_names; i++)
                if (streq(syscall_names[i].name, name))
                        return &syscall_names[i];
        return NULL;
}

static int refuse_name(const char *name, char **ret_error) {
        const char *known[ARRAY_SIZE(syscall_names)];
        const char *nearest;

        for (size_t i = 0; i < n_syscall_names; i++)
                known[i] = syscall_names[i].name;
        nearest = text_nearest(
                strncmp(name, "sys_", 4) == 0 ? name + 4 : name, known, n_syscall_names);
        return probe_refuse(ret_error,
                            "syscall_events: no system call is called \"%s\"%s%s%s",
                            name,
                            nearest ? "; did you mean \"" : "",
                            nearest ?: "",
                            nearest ? "\"?" : "");
}

int syscall_filter_new(char **ret, char *const *names, size_t n_names, char **ret_error) {
        _cleanup_(freep) char *filter = NULL;
        size_t n_filter;
        FILE *stream;
        int r = 0;

        stream = open_memstream(&filter, &n_filter);
        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n_names; i++) {
                const SyscallName *found = syscall_find(names[i]);

                if (!found)
                        r = refuse_name(names[i], ret_error);
                else
                        fprintf(stream, "%sid == %u", i ? " || " : "", found->number);
        }
        if (fclose(stream) < 0)
                r = -ENOMEM;
        if (r != 0)
                return r;
        *ret = TAKE(filter);
        return 0;
}
