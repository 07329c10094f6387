/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf scope: which processes are sampled, by pid, by how they were called or by their unit
 *
 * As Perfetto has it: what is excluded first, then patterns, then pids; nothing given means all. A pattern has one `*`
 * at most. One that begins with `/` is held against the whole first argument, any other against what follows its last
 * slash. Units are held against the names of a process's unit, of its unit in the user's manager, and of its app.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "perf_event_config.pb-c.h"

#define PERF_SCOPE_ENTRIES_MAX 256u /* of each list */
#define PERF_SCOPE_TEXT_BYTES  512u /* of a pattern, and of a command line */

typedef struct PerfScope {
        pid_t *pids;
        size_t n_pids;
        pid_t *excluded_pids;
        size_t n_excluded_pids;
        char **patterns;
        size_t n_patterns;
        char **excluded_patterns;
        size_t n_excluded_patterns;
        char **units;
        size_t n_units;
} PerfScope;

/* Returns 0, PROBE_E_REFUSED with *ret_error, or -ENOMEM. `config` may be NULL. */
int perf_scope_init(PerfScope *ret,
                    const Perfetto__Protos__PerfEventConfig__Scope *config,
                    char **ret_error);
void perf_scope_deinit(PerfScope *scope);

bool perf_scope_is_all(const PerfScope *scope);
/* Whether the scope depends on processes' command lines, or on their units. */
bool perf_scope_needs_command(const PerfScope *scope);
bool perf_scope_needs_unit(const PerfScope *scope);
/* `command` is the first argument, `cgroup` the text of /proc/PID/cgroup; each "" if it is not known. */
bool perf_scope_has(const PerfScope *scope, pid_t pid, const char *command, const char *cgroup);
