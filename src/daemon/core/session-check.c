/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a config may ask for. The checks are a table, run in order, none of which changes anything; the first that
 * fails says what was asked, what is wrong with it and, for a limit, its name.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/session-check.h"

int session_error(SessionError *error, int outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(error->message, sizeof(error->message), format, arguments);
        va_end(arguments);
        return outcome;
}

int check_range(const Check *check,
                const char *field,
                uint64_t value,
                uint64_t max,
                const char *limit) {
        if (value <= max)
                return 0;
        return session_error(check->error,
                             SESSION_E_LIMIT,
                             "%s %llu is over the limit %s, %llu",
                             field,
                             (unsigned long long)value,
                             limit,
                             (unsigned long long)max);
}

static int check_times(const Check *check) {
        const struct {
                const char *field;
                uint64_t value, max;
                const char *limit;
        } times[] = {
                { "duration_ms",
                  check->config->duration_ms,
                  SESSION_DURATION_MAX_MS,
                  "SESSION_DURATION_MAX_MS" },
                { "flush_timeout_ms",
                  check->config->flush_timeout_ms,
                  SESSION_TIMEOUT_MAX_MS,
                  "SESSION_TIMEOUT_MAX_MS" },
                { "data_source_stop_timeout_ms",
                  check->config->data_source_stop_timeout_ms,
                  SESSION_TIMEOUT_MAX_MS,
                  "SESSION_TIMEOUT_MAX_MS" },
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(times) && r == 0; i++)
                r = check_range(
                        check, times[i].field, times[i].value, times[i].max, times[i].limit);
        return r;
}

static int check_output(const Check *check) {
        if (check->config->write_into_file && !check->options->has_output)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "write_into_file needs an output: pass a descriptor as \"output\"");
        return 0;
}

/* Of any user: a name is how people and scripts find the one session that they mean. */
static int check_name(const Check *check) {
        const char *name = check->config->unique_session_name;
        const Session *other;
        int r;

        if (!name || !name[0])
                return 0;
        r = check_range(check,
                        "the length of unique_session_name",
                        strlen(name),
                        SESSION_NAME_MAX,
                        "SESSION_NAME_MAX");
        if (r)
                return r;
        other = service_find_session_by_name(check->service, name);
        if (other && other->state != SESSION_STOPPED)
                return session_error(check->error,
                                     SESSION_E_NAME_IN_USE,
                                     "a session named \"%.128s\" is running",
                                     name);
        return 0;
}

static int check_sessions(const Check *check) {
        uid_t uid = check->options->owner.uid;

        if (!quota_has_room(&check->service->quota, uid, QUOTA_SESSIONS, 1))
                return session_error(
                        check->error,
                        SESSION_E_LIMIT,
                        "uid %u has %llu sessions, which is the limit %s: free one first",
                        uid,
                        (unsigned long long)quota_limit(QUOTA_SESSIONS),
                        quota_limit_name(QUOTA_SESSIONS));
        if (check->service->n_sessions >= SERVICE_SESSIONS_MAX)
                return session_error(
                        check->error,
                        SESSION_E_LIMIT,
                        "there are %u sessions, which is the limit SERVICE_SESSIONS_MAX",
                        SERVICE_SESSIONS_MAX);
        return 0;
}

/* Compiled for the error only, as the filters of sources are. */
static int check_trace_filter(const Check *check) {
        char why[SESSION_FILTER_WHY_BYTES] = "";
        TraceFilter *filter;
        int r;

        r = session_filter_new(&filter, check->config, why);
        if (r == -EINVAL)
                return session_error(
                        check->error, SESSION_E_CONFIG, "trace_filter cannot be loaded: %s", why);
        trace_filter_free(r == 0 ? filter : NULL);
        return r;
}

/* In the order of Perfetto's service: what is wrong with the config alone first, then what depends on the other
 * sessions, which can change by the next try, and last what there is room for. */
static int (*const checks[])(const Check *) = {
        check_times,  check_buffer_count, check_buffer_names, check_targets,      check_sources,
        check_output, check_name,         check_sessions,     check_trace_filter, check_buffers,
};

int session_check(Service *service,
                  const Config *config,
                  const SessionOptions *options,
                  SessionError *error,
                  uint64_t now) {
        const Check check = { service, config->pb, options, error, now };

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                int r = checks[i](&check);

                if (r)
                        return r;
        }
        return 0;
}
