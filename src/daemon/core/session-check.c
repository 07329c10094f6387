/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a config may ask for. The checks are a table, run in order, none of which changes anything; the first that
 * fails says what was asked, what is wrong with it and, for a limit, its name.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/policy.h"
#include "core/session-private.h"
#include "shared/text.h"

#define REGEX_BYTES_MAX 256

typedef Perfetto__Protos__TraceConfig ConfigPb;

typedef struct Check {
        Service *service;
        const ConfigPb *config;
        const SessionOptions *options;
        SessionError *error;
} Check;

int session_error(SessionError *error, int outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(error->message, sizeof(error->message), format, arguments);
        va_end(arguments);
        return outcome;
}

/* Every limit is refused in the same words: what, how much, which limit, how much that is. */
static int check_range(const Check *check,
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

static int check_counts(const Check *check) {
        const ConfigPb *config = check->config;
        int r;

        if (config->n_buffers == 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "the config has no buffers: add \"buffers { size_kb: 4096 }\"");
        if (config->n_data_sources == 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "the config has no data_sources: there would be nothing to record");
        r = check_range(check,
                        "the number of buffers",
                        config->n_buffers,
                        SESSION_BUFFERS_MAX,
                        "SESSION_BUFFERS_MAX");
        if (r)
                return r;
        return check_range(check,
                           "the number of data_sources",
                           config->n_data_sources,
                           SESSION_SOURCES_MAX,
                           "SESSION_SOURCES_MAX");
}

/*
 * Buffers
 */

/* Smaller ones than the minimum are made larger: Perfetto's configs have them, and mean no harm. */
uint64_t session_buffer_bytes(const Perfetto__Protos__TraceConfig__BufferConfig *buffer) {
        return MAX((uint64_t)buffer->size_kb * 1024, (uint64_t)TRACE_BUFFER_BYTES_MIN);
}

/* The first of that name, which tells duplicates from their originals. */
static ssize_t config_find_buffer(const ConfigPb *config, const char *name) {
        for (size_t i = 0; i < config->n_buffers; i++)
                if (config->buffers[i]->name && streq(config->buffers[i]->name, name))
                        return (ssize_t)i;
        return -1;
}

static int check_buffer(const Check *check, size_t i) {
        const Perfetto__Protos__TraceConfig__BufferConfig *buffer = check->config->buffers[i];
        char field[48];

        snprintf(field, sizeof(field), "buffers[%zu].size_kb", i);
        if (buffer->size_kb == 0)
                return session_error(check->error, SESSION_E_CONFIG, "%s is not set", field);
        if (buffer->fill_policy >
                    PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD ||
            buffer->fill_policy < 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "buffers[%zu].fill_policy %d is not known: RING_BUFFER or DISCARD",
                        i,
                        (int)buffer->fill_policy);
        if (buffer->name && buffer->name[0] &&
            config_find_buffer(check->config, buffer->name) != (ssize_t)i)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "two buffers are named \"%.64s\"",
                                     buffer->name);
        return check_range(check,
                           field,
                           buffer->size_kb,
                           TRACE_BUFFER_BYTES_MAX / 1024,
                           "TRACE_BUFFER_BYTES_MAX");
}

static int check_buffers(const Check *check) {
        uint64_t n_bytes = 0;

        for (size_t i = 0; i < check->config->n_buffers; i++) {
                int r = check_buffer(check, i);

                if (r)
                        return r;
                n_bytes += session_buffer_bytes(check->config->buffers[i]);
        }
        if (!quota_has_room(
                    &check->service->quota, check->options->owner.uid, QUOTA_BUFFER_BYTES, n_bytes))
                return session_error(
                        check->error,
                        SESSION_E_LIMIT,
                        "%llu KiB of buffers, with the other sessions of uid %u, are over the "
                        "limit %s, %llu KiB",
                        (unsigned long long)n_bytes / 1024,
                        check->options->owner.uid,
                        quota_limit_name(QUOTA_BUFFER_BYTES),
                        (unsigned long long)quota_limit(QUOTA_BUFFER_BYTES) / 1024);
        return 0;
}

/* The index, or -1 for none. Name and index have been checked to agree. */
ssize_t session_target_buffer(const ConfigPb *config,
                              const Perfetto__Protos__DataSourceConfig *source) {
        if (source->target_buffer_name && source->target_buffer_name[0])
                return config_find_buffer(config, source->target_buffer_name);
        return source->target_buffer < config->n_buffers ? (ssize_t)source->target_buffer : -1;
}

static const char *config_nearest_buffer(const ConfigPb *config, const char *name) {
        const char *known[SESSION_BUFFERS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < config->n_buffers && n < ARRAY_SIZE(known); i++)
                if (config->buffers[i]->name && config->buffers[i]->name[0])
                        known[n++] = config->buffers[i]->name;
        return text_nearest(name, known, n);
}

static int check_target(const Check *check, const Perfetto__Protos__DataSourceConfig *source) {
        ssize_t target = session_target_buffer(check->config, source);
        const char *name = source->target_buffer_name;

        if (target < 0 && name && name[0]) {
                const char *nearest = config_nearest_buffer(check->config, name);

                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: no buffer is named \"%.64s\"%s%.64s%s",
                                     source->name,
                                     name,
                                     nearest ? "; did you mean \"" : "",
                                     nearest ?: "",
                                     nearest ? "\"?" : "");
        }
        if (target < 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "%.64s: target_buffer %u is out of range: there are %zu buffers",
                        source->name,
                        source->target_buffer,
                        check->config->n_buffers);
        if (source->has_target_buffer && source->target_buffer != (uint64_t)target)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: target_buffer %u and target_buffer_name \"%.64s\" "
                                     "(%zd) do not agree",
                                     source->name,
                                     source->target_buffer,
                                     name,
                                     target);
        return 0;
}

/*
 * Data sources
 */

/* Counted repetition, "+" of what repeats already and back references can take exponential time and memory (regcomp(3)
 * copies what a "+" is about), and none is needed for a program's name. */
static const char *regex_refusal(const char *text) {
        if (strlen(text) > REGEX_BYTES_MAX)
                return "is too long";
        for (const char *at = text; *at; at++) {
                if (at[0] == '{')
                        return "has a counted repetition, which is not supported";
                if (strchr(")*+?", at[0]) && at[1] == '+')
                        return "has \"+\" after a group or another repetition, which is not "
                               "supported; \"*\" is";
                if (at[0] == '\\' && at[1] >= '1' && at[1] <= '9')
                        return "has a back reference, which is not supported";
                if (at[0] == '\\' && at[1])
                        at++;
        }
        return NULL;
}

/* Perfetto's filters match the whole name. */
static int regex_compile(regex_t *ret, const char *text, char ret_why[static 128]) {
        char whole[REGEX_BYTES_MAX + sizeof("^()$")];
        const char *refusal = regex_refusal(text);
        int r;

        if (refusal) {
                snprintf(ret_why, 128, "%s", refusal);
                return -EINVAL;
        }
        snprintf(whole, sizeof(whole), "^(%s)$", text);
        r = regcomp(ret, whole, REG_EXTENDED | REG_NOSUB);
        if (r != 0) {
                regerror(r, ret, ret_why, 128);
                return -EINVAL;
        }
        return 0;
}

int session_compile_filters(regex_t **ret,
                            size_t *ret_n,
                            const Perfetto__Protos__TraceConfig__DataSource *source,
                            char ret_why[static 128]) {
        size_t n = source->n_producer_name_regex_filter;
        regex_t *filters = calloc(n + 1, sizeof(*filters));

        if (!filters)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = regex_compile(&filters[i], source->producer_name_regex_filter[i], ret_why);

                if (r < 0) {
                        session_free_filters(filters, i);
                        return r;
                }
        }
        *ret = filters;
        *ret_n = n;
        return 0;
}

void session_free_filters(regex_t *filters, size_t n) {
        for (size_t i = 0; i < n; i++)
                regfree(&filters[i]);
        free(filters);
}

/* Compiled for the error only; a session that is made compiles them again, to keep. */
static int check_filters(const Check *check,
                         const Perfetto__Protos__TraceConfig__DataSource *source) {
        char why[128] = "";
        regex_t *filters;
        size_t n;
        int r;

        r = check_range(check,
                        "the number of producer name filters",
                        source->n_producer_name_filter + source->n_producer_name_regex_filter,
                        SESSION_FILTERS_MAX,
                        "SESSION_FILTERS_MAX");
        if (r)
                return r;
        r = session_compile_filters(&filters, &n, source, why);
        if (r == -EINVAL)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: producer_name_regex_filter: %s",
                                     source->config->name,
                                     why);
        if (r < 0)
                return r;
        session_free_filters(filters, n);
        return 0;
}

#define KNOWN_SOURCES_MAX 4096 /* names that a suggestion is looked for in */

/* Names of all users' programs: anybody may list the data sources. */
static size_t service_known_sources(const Service *service,
                                    const char *known[static KNOWN_SOURCES_MAX]) {
        const Producer *producer;
        size_t n = 0;

        known[n++] = "track_event";
        for (size_t i = 0; i < service->n_activatables; i++)
                for (char **at = service->activatables[i].sources; *at && n < KNOWN_SOURCES_MAX;
                     at++)
                        known[n++] = *at;
        list_for_each (producer, &service->producers, link)
                for (size_t i = 0; i < producer->n_sources && n < KNOWN_SOURCES_MAX; i++)
                        known[n++] = producer->sources[i]->name;
        return n;
}

static bool service_knows_source(const Service *service, const char *name) {
        const Producer *producer;

        if (streq(name, "track_event") || service_find_activatable((Service *)service, name) >= 0)
                return true;
        list_for_each (producer, &service->producers, link)
                for (size_t i = 0; i < producer->n_sources; i++)
                        if (streq(producer->sources[i]->name, name))
                                return true;
        return false;
}

/* A name that nobody offers may come yet, unless only the machine could offer it, or it looks like a slip. */
static int check_exists(const Check *check, const char *name) {
        _cleanup_(freep) const char **known = NULL;
        const char *nearest;

        if (service_knows_source(check->service, name))
                return 0;
        known = calloc(KNOWN_SOURCES_MAX, sizeof(*known));
        if (!known)
                return -ENOMEM;
        nearest = text_nearest(name, known, service_known_sources(check->service, known));
        if (nearest)
                return session_error(check->error,
                                     SESSION_E_NO_SOURCE,
                                     "no data source is named \"%.100s\"; did you mean \"%.100s\"?",
                                     name,
                                     nearest);
        if (policy_source_is_reserved(name))
                return session_error(
                        check->error,
                        SESSION_E_NO_SOURCE,
                        "no data source is named \"%.100s\": no producer that is running or can "
                        "be started offers it",
                        name);
        return 0;
}

/* Kernel data is everybody's: it does not come with a session that is only about one's own programs. */
static int check_scope(const Check *check, const char *name) {
        if (check->options->scope == SESSION_SCOPE_SYSTEM || !policy_source_is_reserved(name) ||
            policy_may_register(&check->service->info, &check->options->owner, name))
                return 0;
        return session_error(check->error,
                             SESSION_E_CONFIG,
                             "%.100s is data of the whole machine: it needs scope \"system\"",
                             name);
}

static int check_source(const Check *check, size_t i) {
        const Perfetto__Protos__TraceConfig__DataSource *source = check->config->data_sources[i];
        const char *name = source->config ? source->config->name : NULL;
        int r;

        if (!name || !name[0])
                return session_error(
                        check->error, SESSION_E_CONFIG, "data_sources[%zu] has no config.name", i);
        r = check_range(check,
                        "the length of a data source's name",
                        strlen(name),
                        SOURCE_NAME_MAX,
                        "SOURCE_NAME_MAX");
        if (r)
                return r;
        r = check_target(check, source->config);
        if (r)
                return r;
        r = check_filters(check, source);
        if (r)
                return r;
        r = check_exists(check, name);
        if (r)
                return r;
        return check_scope(check, name);
}

static int check_sources(const Check *check) {
        for (size_t i = 0; i < check->config->n_data_sources; i++) {
                int r = check_source(check, i);

                if (r)
                        return r;
        }
        return 0;
}

/*
 * The session
 */

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

/* Cheap ones first; what depends on the other sessions last, as it can change by the next try. */
static int (*const checks[])(const Check *) = {
        check_times,  check_counts, check_buffers,  check_sources,
        check_output, check_name,   check_sessions,
};

int session_check(Service *service,
                  const Config *config,
                  const SessionOptions *options,
                  SessionError *error) {
        const Check check = { service, config->pb, options, error };

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                int r = checks[i](&check);

                if (r)
                        return r;
        }
        return 0;
}
