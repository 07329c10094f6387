/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Syscall names: the numbers of this architecture's system calls */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/ftrace/syscall-names.h"
#include "shared/text.h"

/* { "read", 0 }, … */
const SyscallName syscall_names[] = {
#include "syscall-table.h"
};

const size_t n_syscall_names = ARRAY_SIZE(syscall_names);

#define NAME_BYTES_MAX 64

static const SyscallName *find_exact(const char *name) {
        for (size_t i = 0; i < n_syscall_names; i++)
                if (streq(syscall_names[i].name, name))
                        return &syscall_names[i];
        return NULL;
}

/* Others write "sys_read", "__x64_sys_read" or "syscalls/sys_enter_read" for "read". "exit_group" is a name. */
static const char *without_prefix(const char *name) {
        static const char *const prefixes[] = { "syscalls/", "__x64_", "__arm64_", "__se_",
                                                "__do_",     "sys_",   "enter_",   "exit_" };

        for (size_t i = 0; i < ARRAY_SIZE(prefixes) && !find_exact(name); i++)
                if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
                        name += strlen(prefixes[i]);
        return name;
}

/* Names of the same call on machines with narrower words (mmap2, fcntl64, getuid32, futex_time64, _llseek) or wider
 * ones (pread for pread64). */
static const SyscallName *find_variant(const char *name) {
        static const char *const suffixes[] = { "_time64", "64", "32", "2" };
        const SyscallName *found = NULL;
        char variant[NAME_BYTES_MAX];
        size_t n;

        if (strlen(name) + 3 > sizeof(variant))
                return NULL;
        for (size_t i = 0; !found && i < ARRAY_SIZE(suffixes); i++) {
                n = strlen(suffixes[i]);
                if (strlen(name) <= n || !streq(name + strlen(name) - n, suffixes[i]))
                        continue;
                snprintf(variant, sizeof(variant), "%.*s", (int)(strlen(name) - n), name);
                found = find_exact(variant);
        }
        if (!found) {
                snprintf(variant, sizeof(variant), "%s64", name);
                found = find_exact(variant);
        }
        if (!found && name[0] == '_')
                found = find_exact(streq(name, "_llseek") ? "lseek" : name + 1);
        return found;
}

static const SyscallName *syscall_find(const char *name) {
        name = without_prefix(name);
        return find_exact(name) ?: find_variant(name);
}

static int refuse_name(const char *name, char **ret_error) {
        const char *known[ARRAY_SIZE(syscall_names)];
        const char *nearest;

        for (size_t i = 0; i < n_syscall_names; i++)
                known[i] = syscall_names[i].name;
        nearest = text_nearest(without_prefix(name), known, n_syscall_names);
        if (nearest)
                return probe_refuse(ret_error,
                                    "syscall_events: this machine has no system call \"%s\"; did "
                                    "you mean \"%s\"?",
                                    name,
                                    nearest);
        return probe_refuse(
                ret_error, "syscall_events: this machine has no system call \"%s\"", name);
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
