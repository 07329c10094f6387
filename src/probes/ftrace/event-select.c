/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/event-select.h"
#include "probes/ftrace/event-table.h"
#include "probes/probe.h"
#include "shared/text.h"

/* Not in available_events, as it cannot be switched off: what programs write to trace_marker. */
#define EVENT_PRINT "ftrace/print"

/* The kernel's events, as "group/name" and as bare names, which is what text_nearest() takes. */
typedef struct EventIndex {
        char *text;
        const char **full, **bare;
        size_t n;
} EventIndex;

static void event_index_deinit(EventIndex *index) {
        free(index->text);
        free(index->full);
        free(index->bare);
}

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

static int event_index_init(EventIndex *index, const char *available) {
        size_t n_max = count_lines(available) + 2;
        char *line, *state = NULL;

        *index = (EventIndex){
                .text = strdup(available),
                .full = calloc(n_max, sizeof(char *)),
                .bare = calloc(n_max, sizeof(char *)),
        };
        if (!index->text || !index->full || !index->bare)
                return -ENOMEM;
        index->full[0] = EVENT_PRINT;
        index->bare[0] = strchr(EVENT_PRINT, '/') + 1;
        index->n = 1;
        for (line = strtok_r(index->text, "\n", &state); line;
             line = strtok_r(NULL, "\n", &state)) {
                char *colon = strchr(line, ':');

                if (!colon)
                        continue;
                *colon = '/';
                index->full[index->n] = line;
                index->bare[index->n++] = colon + 1;
        }
        return 0;
}

static bool selection_has(const EventSelection *selection, const char *full) {
        for (size_t i = 0; i < selection->n_events; i++)
                if (streq(selection->events[i].text, full))
                        return true;
        return false;
}

static int selection_add(EventSelection *selection, const char *full) {
        EventName *events;
        char *text;

        if (selection_has(selection, full))
                return 0;
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

static int selection_add_unknown(EventSelection *selection, const char *name) {
        char **unknown;

        unknown = reallocarray(selection->unknown, selection->n_unknown + 1, sizeof(*unknown));
        if (!unknown)
                return -ENOMEM;
        selection->unknown = unknown;
        unknown[selection->n_unknown] = strdup(name);
        if (!unknown[selection->n_unknown])
                return -ENOMEM;
        selection->n_unknown++;
        return 0;
}

void event_selection_deinit(EventSelection *selection) {
        for (size_t i = 0; i < selection->n_events; i++)
                free(selection->events[i].text);
        for (size_t i = 0; i < selection->n_unknown; i++)
                free(selection->unknown[i]);
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

static bool pattern_matches(const char *pattern, const char *full, const char *bare) {
        size_t n = strlen(pattern);

        if (n >= 2 && streq(pattern + n - 2, "/*"))
                return strncmp(pattern, full, n - 1) == 0;
        return streq(pattern, strchr(pattern, '/') ? full : bare);
}

/* Names what was asked for and what was perhaps meant. */
static int refuse_pattern(const EventIndex *index, const char *pattern, char **ret_error) {
        const char *nearest =
                text_nearest(pattern, strchr(pattern, '/') ? index->full : index->bare, index->n);
        size_t n = strlen(pattern);

        if (n >= 2 && streq(pattern + n - 2, "/*"))
                return probe_refuse(ret_error,
                                    "no kernel event matches \"%s\": this kernel has no such group "
                                    "(see /sys/kernel/tracing/available_events)",
                                    pattern);
        if (nearest)
                return probe_refuse(ret_error,
                                    "no kernel event is called \"%s\"; did you mean \"%s\"?",
                                    pattern,
                                    nearest);
        return probe_refuse(ret_error,
                            "no kernel event is called \"%s\" "
                            "(see /sys/kernel/tracing/available_events)",
                            pattern);
}

static int select_pattern(EventSelection *selection,
                          const EventIndex *index,
                          const char *pattern,
                          char **ret_error) {
        bool found = false;
        int r;

        for (size_t i = 0; i < index->n; i++) {
                if (!pattern_matches(pattern, index->full[i], index->bare[i]))
                        continue;
                found = true;
                r = selection_add(selection, index->full[i]);
                if (r < 0)
                        return r;
        }
        if (found)
                return 0;
        if (is_in_table(pattern))
                return selection_add_unknown(selection, pattern);
        return refuse_pattern(index, pattern, ret_error);
}

int event_select(EventSelection *ret,
                 const char *available,
                 char *const *patterns,
                 size_t n_patterns,
                 char **ret_error) {
        _cleanup_(event_selection_deinit) EventSelection selection = {};
        _cleanup_(event_index_deinit) EventIndex index = {};
        int r;

        if (n_patterns > EVENT_PATTERNS_MAX)
                return probe_refuse(
                        ret_error,
                        "ftrace_events has %zu names; at most %d are allowed (use group/*)",
                        n_patterns,
                        EVENT_PATTERNS_MAX);
        r = event_index_init(&index, available);
        for (size_t i = 0; r == 0 && i < n_patterns; i++)
                r = select_pattern(&selection, &index, patterns[i], ret_error);
        if (r != 0)
                return r;
        *ret = selection;
        selection = (EventSelection){};
        return 0;
}
