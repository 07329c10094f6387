/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf scope: which processes are sampled, by pid, by how they were called or by their unit */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/perf/perf-scope.h"
#include "shared/process-unit.h"

static bool pattern_has(const char *pattern, const char *command) {
        const char *star = strchr(pattern, '*');
        const char *slash = strrchr(command, '/');
        size_t n_start, n_end, n;

        if (pattern[0] != '/' && slash)
                command = slash + 1;
        if (!star)
                return streq(pattern, command);
        n_start = (size_t)(star - pattern);
        n_end = strlen(star + 1);
        n = strlen(command);
        return n >= n_start + n_end && strncmp(pattern, command, n_start) == 0 &&
               streq(star + 1, command + n - n_end);
}

static bool any_pattern_has(char *const *patterns, size_t n, const char *command) {
        for (size_t i = 0; i < n; i++)
                if (pattern_has(patterns[i], command))
                        return true;
        return false;
}

static bool has_pid(const pid_t *pids, size_t n, pid_t pid) {
        for (size_t i = 0; i < n; i++)
                if (pids[i] == pid)
                        return true;
        return false;
}

static int copy_pids(pid_t **ret, size_t *ret_n, const int32_t *pids, size_t n) {
        *ret = calloc(n + 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        for (*ret_n = 0; *ret_n < n; ++*ret_n)
                (*ret)[*ret_n] = pids[*ret_n];
        return 0;
}

static int copy_patterns(char ***ret, size_t *ret_n, char *const *patterns, size_t n) {
        *ret = calloc(n + 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        for (*ret_n = 0; *ret_n < n; ++*ret_n) {
                (*ret)[*ret_n] = strdup(patterns[*ret_n]);
                if (!(*ret)[*ret_n])
                        return -ENOMEM;
        }
        return 0;
}

static int check_pattern(const char *pattern, char **ret_error) {
        const char *star = strchr(pattern, '*');

        if (star && strchr(star + 1, '*'))
                return probe_refuse(ret_error,
                                    "the pattern \"%s\" has more than one \"*\"; use one at most",
                                    pattern);
        if (pattern[0] == '\0' || strlen(pattern) >= PERF_SCOPE_TEXT_BYTES)
                return probe_refuse(ret_error,
                                    "a pattern for command lines or units is empty or longer than "
                                    "%u bytes",
                                    PERF_SCOPE_TEXT_BYTES - 1);
        return 0;
}

static int check_scope(const Perfetto__Protos__PerfEventConfig__Scope *config, char **ret_error) {
        int r = 0;

        if (MAX(config->n_target_pid, config->n_exclude_pid) > PERF_SCOPE_ENTRIES_MAX ||
            MAX(config->n_target_cmdline, config->n_exclude_cmdline) > PERF_SCOPE_ENTRIES_MAX ||
            config->n_target_unit > PERF_SCOPE_ENTRIES_MAX)
                return probe_refuse(ret_error,
                                    "a list of the scope has more than %u entries",
                                    PERF_SCOPE_ENTRIES_MAX);
        for (size_t i = 0; i < config->n_target_cmdline && r == 0; i++)
                r = check_pattern(config->target_cmdline[i], ret_error);
        for (size_t i = 0; i < config->n_exclude_cmdline && r == 0; i++)
                r = check_pattern(config->exclude_cmdline[i], ret_error);
        for (size_t i = 0; i < config->n_target_unit && r == 0; i++)
                r = check_pattern(config->target_unit[i], ret_error);
        return r;
}

int perf_scope_init(PerfScope *ret,
                    const Perfetto__Protos__PerfEventConfig__Scope *config,
                    char **ret_error) {
        int r;

        *ret = (PerfScope){};
        if (!config)
                return 0;
        r = check_scope(config, ret_error);
        if (r == 0)
                r = copy_pids(&ret->pids, &ret->n_pids, config->target_pid, config->n_target_pid);
        if (r == 0)
                r = copy_pids(&ret->excluded_pids,
                              &ret->n_excluded_pids,
                              config->exclude_pid,
                              config->n_exclude_pid);
        if (r == 0)
                r = copy_patterns(&ret->patterns,
                                  &ret->n_patterns,
                                  config->target_cmdline,
                                  config->n_target_cmdline);
        if (r == 0)
                r = copy_patterns(&ret->excluded_patterns,
                                  &ret->n_excluded_patterns,
                                  config->exclude_cmdline,
                                  config->n_exclude_cmdline);
        if (r == 0)
                r = copy_patterns(
                        &ret->units, &ret->n_units, config->target_unit, config->n_target_unit);
        if (r != 0)
                perf_scope_deinit(ret);
        return r;
}

static void free_texts(char **texts, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(texts[i]);
        free(texts);
}

void perf_scope_deinit(PerfScope *scope) {
        free(scope->pids);
        free(scope->excluded_pids);
        free_texts(scope->patterns, scope->n_patterns);
        free_texts(scope->excluded_patterns, scope->n_excluded_patterns);
        free_texts(scope->units, scope->n_units);
        *scope = (PerfScope){};
}

bool perf_scope_is_all(const PerfScope *scope) {
        return scope->n_pids == 0 && scope->n_excluded_pids == 0 && scope->n_patterns == 0 &&
               scope->n_excluded_patterns == 0 && scope->n_units == 0;
}

bool perf_scope_needs_command(const PerfScope *scope) {
        return scope->n_patterns > 0 || scope->n_excluded_patterns > 0;
}

bool perf_scope_needs_unit(const PerfScope *scope) {
        return scope->n_units > 0;
}

/* A name that is too long for a unit names none. */
static bool any_unit_has(const PerfScope *scope, const char *text, size_t n) {
        char name[PROCESS_UNIT_NAME_BYTES];

        if (n == 0 || n >= sizeof(name))
                return false;
        memcpy(name, text, n);
        name[n] = '\0';
        return any_pattern_has(scope->units, scope->n_units, name);
}

static bool unit_has(const PerfScope *scope, const char *cgroup) {
        ProcessUnit unit;

        return scope->n_units > 0 && process_unit_parse(&unit, cgroup) &&
               (any_unit_has(scope, unit.unit.text, unit.unit.n) ||
                any_unit_has(scope, unit.user_unit.text, unit.user_unit.n) ||
                any_unit_has(scope, unit.app_id, strlen(unit.app_id)));
}

bool perf_scope_has(const PerfScope *scope, pid_t pid, const char *command, const char *cgroup) {
        if (has_pid(scope->excluded_pids, scope->n_excluded_pids, pid) ||
            any_pattern_has(scope->excluded_patterns, scope->n_excluded_patterns, command))
                return false;
        if (scope->n_patterns == 0 && scope->n_pids == 0 && scope->n_units == 0)
                return true;
        return any_pattern_has(scope->patterns, scope->n_patterns, command) ||
               has_pid(scope->pids, scope->n_pids, pid) || unit_has(scope, cgroup);
}
