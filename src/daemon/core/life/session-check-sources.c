/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of data sources: names, filters, and whether anybody offers them. */

#include <errno.h>
#include <search.h>
#include <string.h>

#include "core/life/check.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/source-index.h"
#include "shared/text.h"

int check_regexes(const Check *check) {
        uint64_t n = 0;

        for (size_t i = 0; i < check->config->n_data_sources; i++)
                n += check->config->data_sources[i]->n_producer_name_regex_filter;
        return check_range(check,
                           "the number of producer_name_regex_filter in all data_sources",
                           n,
                           SESSION_REGEXES_MAX,
                           "SESSION_REGEXES_MAX");
}

/* Compiled only to find errors; the session compiles its own later. */
int check_filters(const Check *check, const Perfetto__Protos__TraceConfig__DataSource *source) {
        char why[PATTERN_WHY_BYTES] = "";
        size_t n = source->n_producer_name_regex_filter;
        Pattern **filters;
        int r;

        r = check_range(check,
                        "the number of producer name filters",
                        source->n_producer_name_filter + source->n_producer_name_regex_filter,
                        SESSION_FILTERS_MAX,
                        "SESSION_FILTERS_MAX");
        if (r)
                return r;
        r = patterns_new(&filters, source->producer_name_regex_filter, n, why);
        if (r == -EINVAL)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: producer_name_regex_filter: %s",
                                     source->config->name,
                                     why);
        if (r < 0)
                return r;
        patterns_free(filters, n);
        return 0;
}

#define KNOWN_SOURCES_MAX 1024 /* that are searched for a suggestion */

/* What is known of the config's sources, and of others, for a suggestion. */
typedef struct Known {
        SourceIndex index;
        bool is_known[SESSION_SOURCES_MAX];
        unsigned n_slips;
        const char *names[KNOWN_SOURCES_MAX]; /* each once; none before the first slip */
        size_t n_names;
        void *tree; /* tsearch(3) of them */
} Known;

static int compare_texts(const void *a, const void *b) {
        return strcmp(a, b);
}

static void known_deinit(Known *known) {
        for (size_t i = 0; i < known->n_names; i++)
                tdelete(known->names[i], &known->tree, compare_texts);
}

/* Sources of other users' programs do not exist for an owner who may neither see nor record them. */
static bool check_knows(const Check *check, const Producer *producer) {
        const ServiceInfo *info = &check->service->info;

        return policy_may_see(info, &check->options->owner, producer->identity.uid) ||
               policy_may_record(info, check->options, &producer->identity);
}

/* Calls it with each name that there is, also those that several offer. */
static void
check_each_known(const Check *check, Known *known, void (*take)(Known *known, const char *name)) {
        const Service *service = check->service;
        const Producer *producer;

        take(known, "track_event");
        take(known, SERVICE_SELF_SOURCE);
        for (size_t i = 0; i < service->n_activatables; i++)
                for (char **at = service->activatables[i].sources; *at; at++)
                        take(known, *at);
        list_for_each (producer, &service->producers, link)
                for (size_t i = 0; i < producer->n_sources && check_knows(check, producer); i++)
                        take(known, producer->sources[i]->name);
}

static void known_mark(Known *known, const char *name) {
        const SourceIndex *index = &known->index;

        for (size_t entry = source_index_first(index, name); source_index_is(index, entry, name);
             entry++)
                known->is_known[index->all[entry].at] = true;
}

static void known_add(Known *known, const char *name) {
        const char **place;

        if (known->n_names == KNOWN_SOURCES_MAX)
                return;
        place = tsearch(name, &known->tree, compare_texts);
        if (place && *place == name)
                known->names[known->n_names++] = name;
}

/* A source that nobody offers may come later, unless only the system could offer it or the name looks like a typo. */
static int check_exists(const Check *check, Known *known, size_t i) {
        const char *name = check->config->data_sources[i]->config->name, *nearest = NULL;

        if (check->options->allows_missing || known->is_known[i])
                return 0;
        if (known->n_slips == 0)
                check_each_known(check, known, known_add);
        if (known->n_slips++ < CHECK_SLIPS_MAX)
                nearest = text_nearest(name, known->names, known->n_names);
        if (nearest)
                return session_error(check->error,
                                     SESSION_E_NO_SOURCE,
                                     "no data source is named \"%.100s\"; did you mean \"%.100s\"?",
                                     name,
                                     nearest);
        if (policy_source_is_reserved(&check->service->info, name))
                return session_error(
                        check->error,
                        SESSION_E_NO_SOURCE,
                        "no data source is named \"%.100s\": no producer that is running or can "
                        "be started offers it",
                        name);
        return 0;
}

/* The kernel's data is about all users, so a session about one's own programs does not get it. */
static int check_scope(const Check *check, const char *name) {
        if (check->options->scope == SESSION_SCOPE_SYSTEM ||
            !policy_source_is_reserved(&check->service->info, name) ||
            policy_source_is_of_owner(&check->service->info, name) ||
            policy_may_register(&check->service->info, &check->options->owner, name))
                return 0;
        return session_error(check->error,
                             SESSION_E_CONFIG,
                             "%.100s records the whole machine, which requires scope \"system\"",
                             name);
}

/* The check of buffers has seen that it has a name. */
static int check_source(const Check *check, Known *known, size_t i) {
        const Perfetto__Protos__TraceConfig__DataSource *source = check->config->data_sources[i];
        const char *name = source->config->name;
        int r;

        r = check_range(check,
                        "the length of a data source's name",
                        strlen(name),
                        SOURCE_NAME_MAX,
                        "SOURCE_NAME_MAX");
        if (r)
                return r;
        r = check_filters(check, source);
        if (r)
                return r;
        r = check_exists(check, known, i);
        if (r)
                return r;
        return check_scope(check, name);
}

static int check_each_source(const Check *check, Known *known) {
        int r = 0;

        for (size_t i = 0; i < check->config->n_data_sources; i++)
                source_index_add(&known->index, check->config->data_sources[i]->config->name, i);
        source_index_sort(&known->index);
        check_each_known(check, known, known_mark);
        for (size_t i = 0; r == 0 && i < check->config->n_data_sources; i++)
                r = check_source(check, known, i);
        known_deinit(known);
        return r;
}

int check_sources(const Check *check) {
        _cleanup_(freep) Known *known = NULL;
        int r;

        if (check->config->n_data_sources == 0 && !check->options->allows_missing)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "the config has no data_sources: there would be nothing to record");
        r = check_range(check,
                        "the number of data_sources",
                        check->config->n_data_sources,
                        SESSION_SOURCES_MAX,
                        "SESSION_SOURCES_MAX");
        if (r)
                return r;
        r = check_regexes(check);
        if (r)
                return r;
        known = calloc(1, sizeof(*known));
        return known ? check_each_source(check, known) : -ENOMEM;
}
