/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel names: names of events, from the running kernel's symbols, which everybody may read
 *
 * Each tracepoint has a function "__traceiter_NAME" (since Linux 5.10), in modules too, and each system call has one
 * from which the names of its two events follow. Groups have symbols only where the kernel keeps those of its data
 * (CONFIG_KALLSYMS_ALL, as Debian, Fedora and Arch do). Events that were defined on this machine (kprobes) have none.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct KernelNames {
        GPtrArray *events; /* of char *, owned: without their groups; NULL: not known */
        GPtrArray *groups; /* likewise; a "-" in a group's name is "_" here */
        GHashTable *is_event, *is_group;
} KernelNames;

/* Reads /proc/kallsyms. Returns false if the names are not in there. */
bool kernel_names_read(KernelNames *ret);
bool kernel_names_read_file(KernelNames *ret, FILE *symbols);
void kernel_names_deinit(KernelNames *names);

bool kernel_names_has_event(const KernelNames *names, const char *event);
bool kernel_names_has_group(const KernelNames *names, const char *group);
