/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event selection: finds the events of the running kernel that a config names */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/event-table.h"
#include "shared/text.h"

/* These are not in available_events, as they have no switch: what programs write to trace_marker, and what tracers
 * write. */
static const char *const implied_events[] = {
        "ftrace/print",
        "ftrace/funcgraph_entry",
        "ftrace/funcgraph_exit",
};

#define EVENT_GROUP_BYTES 128
#define UNKNOWN_NAMED_MAX 5 /* named in one error; the trace lists all of them */

/* The kernel's events as "group/name" and as bare names, which is what text_nearest() takes. Events that recordings
 * have defined are left out, as each recording has its own. */
typedef struct EventIndex {
        char *text;
        const char **full, **bare;
        size_t n;
        const char **groups; /* each is "group/" and a star */
        char *group_text;
        size_t n_groups;
} EventIndex;

static void event_index_deinit(EventIndex *index) {
        free(index->text);
        free(index->full);
        free(index->bare);
        free(index->groups);
        free(index->group_text);
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

static int event_index_init(EventIndex *index, const char *available) {
        size_t n_max = count_lines(available) + 1 + ARRAY_SIZE(implied_events);
        char *line, *state = NULL;

        *index = (EventIndex){
                .text = strdup(available),
                .full = calloc(n_max, sizeof(char *)),
                .bare = calloc(n_max, sizeof(char *)),
        };
        if (!index->text || !index->full || !index->bare)
                return -ENOMEM;
        for (; index->n < ARRAY_SIZE(implied_events); index->n++) {
                index->full[index->n] = implied_events[index->n];
                index->bare[index->n] = strchr(implied_events[index->n], '/') + 1;
        }
        for (line = strtok_r(index->text, "\n", &state); line;
             line = strtok_r(NULL, "\n", &state)) {
                char *colon = strchr(line, ':');

                if (!colon || dynamic_event_is_ours(line))
                        continue;
                *colon = '/';
                index->full[index->n] = line;
                index->bare[index->n++] = colon + 1;
        }
        return 0;
}

int event_selection_add(EventSelection *selection, const char *full) {
        EventName *events;
        char *text;

        events = reallocarray(selection->events, selection->n_events + 1, sizeof(*events));
        if (!events)
                return -ENOMEM;
        selection->events = events;
        text = strdup(full);
        if (!text)
                return -ENOMEM;
        events[selection->n_events++] =
                (EventName){ .text = text, .n_group = (size_t)(strchr(text, '/') - text) };
        return 0;
}

int event_selection_add_unknown(EventSelection *selection, const char *name, char *why) {
        UnknownEvent *unknown, event = { .name = strdup(name), .why = why };

        unknown = reallocarray(selection->unknown, selection->n_unknown + 1, sizeof(*unknown));
        if (unknown)
                selection->unknown = unknown;
        if (!unknown || !event.name) {
                free(event.name);
                free(why);
                return -ENOMEM;
        }
        unknown[selection->n_unknown++] = event;
        return 0;
}

void event_selection_deinit(EventSelection *selection) {
        for (size_t i = 0; i < selection->n_events; i++)
                free(selection->events[i].text);
        for (size_t i = 0; i < selection->n_unknown; i++) {
                free(selection->unknown[i].name);
                free(selection->unknown[i].why);
        }
        free(selection->events);
        free(selection->unknown);
        *selection = (EventSelection){};
}

static bool is_in_table(const char *pattern) {
        const char *slash = strchr(pattern, '/');
        const char *name = slash ? slash + 1 : pattern;

        for (size_t i = 0; i < n_event_specs; i++)
                if (streq(event_specs[i].name, name) &&
                    (!slash ||
                     (strncmp(event_specs[i].group, pattern, (size_t)(slash - pattern)) == 0 &&
                      event_specs[i].group[slash - pattern] == '\0')))
                        return true;
        return false;
}

/* The groups among whose events the nearest name is looked for. The kernel lists the events of a group together. */
static void event_index_add_groups(EventIndex *index, size_t n_text) {
        char *to = malloc(n_text + EVENT_GROUP_BYTES + 3 * index->n);
        size_t n_last = 0;

        index->group_text = to;
        index->groups = calloc(index->n, sizeof(char *));
        for (size_t i = 0; to && index->groups && i < index->n; i++) {
                const char *full = index->full[i];
                size_t n = (size_t)(strchr(full, '/') - full) + 1;

                if (i > 0 && n == n_last && strncmp(full, index->full[i - 1], n) == 0)
                        continue;
                n_last = n;
                index->groups[index->n_groups++] = to;
                to = mempcpy(to, full, n);
                to = mempcpy(to, "*", 2);
        }
}

static bool is_group(const char *pattern) {
        size_t n = strlen(pattern);

        return n >= 2 && streq(pattern + n - 2, "/*");
}

static bool pattern_matches(const char *pattern, const char *full, const char *bare) {
        if (streq(pattern, EVENT_ALL))
                return true;
        if (is_group(pattern))
                return strncmp(pattern, full, strlen(pattern) - 1) == 0;
        return streq(pattern, strchr(pattern, '/') ? full : bare);
}

/* Says which event was asked for, and which one was perhaps meant. An event of the event table, or one unlike any
 * event, is simply missing in this kernel. */
static int
explain_unknown(const EventIndex *index, const char *pattern, bool looks_near, char **ret) {
        const char *nearest = NULL;

        if (looks_near && is_group(pattern))
                nearest = text_nearest(pattern, index->groups, index->n_groups);
        else if (looks_near && !is_in_table(pattern))
                nearest = text_nearest(
                        pattern, strchr(pattern, '/') ? index->full : index->bare, index->n);
        if (nearest)
                (void)probe_refuse(ret,
                                   "no kernel event is called \"%s\"; did you mean \"%s\"?",
                                   pattern,
                                   nearest);
        else if (is_group(pattern))
                (void)probe_refuse(ret,
                                   "this kernel has no events \"%s\" "
                                   "(see /sys/kernel/tracing/available_events)",
                                   pattern);
        else
                (void)probe_refuse(ret,
                                   "this kernel has no event \"%s\" "
                                   "(see /sys/kernel/tracing/available_events)",
                                   pattern);
        return *ret ? 0 : -ENOMEM;
}

static bool is_wanted(const EventIndex *index, size_t i, bool generic) {
        const char *full = index->full[i];
        char group[EVENT_GROUP_BYTES];

        if (generic)
                return true;
        snprintf(group, sizeof(group), "%.*s", (int)(strchr(full, '/') - full), full);
        return event_spec_find(group, index->bare[i]);
}

static bool is_same_group(const EventName *a, const EventName *b) {
        return a->n_group == b->n_group && memcmp(a->text, b->text, a->n_group) == 0;
}

/* From `first` on there are only whole groups. */
static void mark_groups(EventSelection *selection, size_t first) {
        size_t n;

        for (; first < selection->n_events; first += n) {
                EventName *event = &selection->events[first];

                for (n = 1; first + n < selection->n_events && is_same_group(event, event + n); n++)
                        continue;
                event->n_whole = n;
        }
}

/* `taken` has the events that are in the selection already. */
static int select_pattern(EventSelection *selection,
                          const EventIndex *index,
                          bool *taken,
                          const char *pattern,
                          bool generic) {
        size_t first = selection->n_events, n_found = 0;
        char *why = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < index->n; i++) {
                if (!pattern_matches(pattern, index->full[i], index->bare[i]))
                        continue;
                n_found++;
                if (taken[i] || !is_wanted(index, i, generic))
                        continue;
                taken[i] = true;
                r = event_selection_add(selection, index->full[i]);
        }
        if (r == 0 && is_group(pattern) && selection->n_events == first + n_found)
                mark_groups(selection, first);
        if (n_found > 0 || r < 0)
                return r;
        r = explain_unknown(index, pattern, selection->n_unknown < EVENT_NEAREST_MAX, &why);
        return r < 0 ? r : event_selection_add_unknown(selection, pattern, why);
}

int event_select(EventSelection *ret,
                 const char *available,
                 char *const *patterns,
                 size_t n_patterns,
                 bool generic,
                 char **ret_error) {
        _cleanup_(event_selection_deinit) EventSelection selection = {};
        _cleanup_(event_index_deinit) EventIndex index = {};
        _cleanup_(freep) bool *taken = NULL;
        int r;

        if (n_patterns > EVENT_PATTERNS_MAX)
                return probe_refuse(
                        ret_error,
                        "ftrace_events has %zu names; at most %d are allowed (use group/*)",
                        n_patterns,
                        EVENT_PATTERNS_MAX);
        r = event_index_init(&index, available);
        if (r < 0)
                return r;
        event_index_add_groups(&index, strlen(available));
        taken = calloc(index.n, sizeof(*taken));
        if (!taken)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < n_patterns; i++)
                r = select_pattern(&selection, &index, taken, patterns[i], generic);
        if (r != 0)
                return r;
        *ret = selection;
        selection = (EventSelection){};
        return 0;
}

int event_selection_refuse(const EventSelection *selection, char **ret_error) {
        _cleanup_(freep) char *whys = NULL;
        size_t n = MIN(selection->n_unknown, (size_t)UNKNOWN_NAMED_MAX), n_whys;
        FILE *stream = open_memstream(&whys, &n_whys);

        if (!stream)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                fprintf(stream, "%s%s", i ? "; " : "", selection->unknown[i].why);
        if (selection->n_unknown > n)
                fprintf(stream, "; and %zu more", selection->n_unknown - n);
        if (fclose(stream) < 0)
                return -ENOMEM;
        return probe_refuse(ret_error, "nothing to record: %s", whys);
}
