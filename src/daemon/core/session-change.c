/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Changing the config of a session that is not over: producer names may be added to filters, and all of a data source's
 * filters may go, which lets all producers in. Nothing else can be changed. All is checked before anything happens.
 */

#include <errno.h>

#include "config/config-compare.h"
#include "core/life/check.h"
#include "core/life/settle.h"
#include "core/model/service.h"
#include "core/requests/session-match.h"
#include "core/session.h"

typedef Perfetto__Protos__TraceConfig__DataSource DataSource;

static const char *const changeable[] = { "producer_name_filter", "producer_name_regex_filter" };

static bool is_changeable(const ProtobufCMessageDescriptor *message,
                          const ProtobufCFieldDescriptor *field) {
        if (message != &perfetto__protos__trace_config__data_source__descriptor)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(changeable); i++)
                if (streq(field->name, changeable[i]))
                        return true;
        return false;
}

/* What counts now: the latest change, or else what the session began with. */
static const Config *session_latest_config(const Session *session) {
        return session->change ?: session->config;
}

static bool strings_contain(char *const strings[], size_t n, const char *wanted) {
        for (size_t i = 0; i < n; i++)
                if (streq(strings[i], wanted))
                        return true;
        return false;
}

/* The first of `before` that is not among `after`; NULL: all are. */
static const char *
strings_removed(char *const before[], size_t n_before, char *const after[], size_t n_after) {
        for (size_t i = 0; i < n_before; i++)
                if (!strings_contain(after, n_after, before[i]))
                        return before[i];
        return NULL;
}

static size_t n_filters(const DataSource *source) {
        return source->n_producer_name_filter + source->n_producer_name_regex_filter;
}

/* A producer that records cannot be told that it does not: filters get wider only. None is the widest. */
static int
check_wider(const Check *check, size_t i, const DataSource *before, const DataSource *after) {
        const char *removed;

        if (n_filters(after) == 0)
                return 0;
        removed = strings_removed(before->producer_name_filter,
                                  before->n_producer_name_filter,
                                  after->producer_name_filter,
                                  after->n_producer_name_filter)
                          ?: strings_removed(before->producer_name_regex_filter,
                                             before->n_producer_name_regex_filter,
                                             after->producer_name_regex_filter,
                                             after->n_producer_name_regex_filter);
        if (removed)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "data_sources[%zu]: the filter \"%.64s\" is missing: filters "
                                    "can only be added, or all be removed",
                                    i,
                                    removed);
        if (n_filters(before) == 0)
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "data_sources[%zu]: it has no filter, so it records all "
                                    "producers: a first filter would leave some out",
                                    i);
        return check_filters(check, after);
}

static int check_change(const Check *check, const ConfigPb *before) {
        char path[CONFIG_PATH_BYTES];
        int r = 0;

        if (config_find_difference(&before->base, &check->config->base, is_changeable, path))
                return check_refuse(check,
                                    SESSION_E_CONFIG,
                                    "%s cannot be changed: only producer_name_filter and "
                                    "producer_name_regex_filter can be added to",
                                    path);
        r = check_regexes(check);
        for (size_t i = 0; i < before->n_data_sources && r == 0; i++)
                r = check_wider(check, i, before->data_sources[i], check->config->data_sources[i]);
        return r;
}

/* Everything of the new filters that can fail. Filters of all sources, an array a source; NULL-terminated. */
typedef struct NewFilters {
        Pattern ***sources;
        const ConfigPb *config;
} NewFilters;

static void new_filters_deinit(NewFilters *filters) {
        for (size_t i = 0; filters->sources && i < filters->config->n_data_sources; i++)
                if (filters->sources[i])
                        patterns_free(
                                filters->sources[i],
                                filters->config->data_sources[i]->n_producer_name_regex_filter);
        free(filters->sources);
}

static int new_filters_init(NewFilters *filters, const ConfigPb *config) {
        char why[PATTERN_WHY_BYTES];
        int r = 0;

        filters->config = config;
        filters->sources = calloc(config->n_data_sources + 1, sizeof(*filters->sources));
        if (!filters->sources)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_data_sources && r == 0; i++)
                r = patterns_new(&filters->sources[i],
                                 config->data_sources[i]->producer_name_regex_filter,
                                 config->data_sources[i]->n_producer_name_regex_filter,
                                 why);
        return r;
}

/* Nothing here can fail. The old filters say who is in already. */
static void source_change(SessionSource *source, const DataSource *pb, Pattern **filters) {
        const SessionSource before = *source;

        source->pb = pb;
        source->filters = filters;
        source->n_filters = pb->n_producer_name_regex_filter;
        session_match_newcomers(source, &before);
        patterns_free(before.filters, before.n_filters);
}

int session_change_config(Session *session, Config *config, SessionError *error, uint64_t now) {
        _cleanup_(new_filters_deinit) NewFilters filters = {};
        const Check check = { session->service, config->pb, &session->options, error, now };
        int r;

        service_note_now(session->service, now);
        if (!session_is_open(session))
                return session_error(error,
                                     SESSION_E_STATE,
                                     "the config can no longer be changed: the session is %s",
                                     session_state_name(session->state));
        r = check_change(&check, session_latest_config(session)->pb);
        if (r)
                return r;
        r = new_filters_init(&filters, config->pb);
        if (r < 0)
                return r;

        for (size_t i = 0; i < session->n_sources; i++)
                source_change(&session->sources[i],
                              config->pb->data_sources[i],
                              TAKE(filters.sources[i]));
        config_free(session->change);
        session->change = config;
        session->reader.said_change = false;
        session_mark(session);
        service_settle(session->service);
        return 0;
}
