/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, names: whether an event, data source or category exists */

#include <glib/gi18n.h>
#include <string.h>

#include "client/doctor-names.h"
#include "client/reason.h"
#include "shared/names.h"
#include "shared/text.h"

#define SETTLE_USEC 300000 /* after the service has started: running programs register with it */

/*
 * Facts
 */

static bool read_lists(NameFacts *facts, const BusClient *client) {
        return view_list_events(&facts->events, client, false) == STATUS_OK &&
               view_list_sources(&facts->sources, client) == STATUS_OK &&
               view_list_producers(&facts->producers, client) == STATUS_OK;
}

void *name_facts_new(void *argument) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        NameFacts *facts = g_new0(NameFacts, 1);
        ViewManager manager = { 0 };

        if (bus_client_try_open(&client, (BusChoice)GPOINTER_TO_INT(argument)) < 0)
                return facts;
        if (view_manager_get(&manager, &client) == STATUS_OK) {
                g_usleep(SETTLE_USEC);
                facts->is_known = read_lists(facts, &client);
        }
        view_manager_deinit(&manager);
        return facts;
}

NameFacts *name_facts_free(NameFacts *facts) {
        if (!facts)
                return NULL;
        g_clear_pointer(&facts->sources, g_array_unref);
        g_clear_pointer(&facts->producers, g_array_unref);
        view_events_deinit(&facts->events);
        g_free(facts);
        return NULL;
}

static const ViewSource *find_source(const NameFacts *facts, const char *name) {
        for (guint i = 0; facts->sources && i < facts->sources->len; i++) {
                const ViewSource *source = &g_array_index(facts->sources, ViewSource, i);

                if (streq(source->name, name))
                        return source;
        }
        return NULL;
}

bool name_is_source(const NameFacts *facts, const char *name) {
        return find_source(facts, name);
}

/* The event with this name; in any group if the name has no group. */
static const char *find_event(const NameFacts *facts, const char *name) {
        const bool has_group = strchr(name, '/');

        for (guint i = 0; facts->events.names && i < facts->events.names->len; i++) {
                const char *event = facts->events.names->pdata[i];
                const char *slash = strchr(event, '/');

                if (streq(has_group || !slash ? event : slash + 1, name))
                        return event;
        }
        return NULL;
}

bool name_is_event(const NameFacts *facts, const char *name) {
        return find_event(facts, name);
}

char *name_sources_of(const NameFacts *facts, uint32_t pid) {
        for (guint i = 0; facts->producers && i < facts->producers->len; i++) {
                const ViewProducer *producer = &g_array_index(facts->producers, ViewProducer, i);

                if (producer->pid == pid)
                        return g_strjoinv(", ", producer->sources);
        }
        return NULL;
}

/*
 * Checks
 */

static void add_unavailable(DoctorReport *report, const ViewSource *source) {
        g_autofree char *why = reason_translate(source->unavailable);

        doctor_add(report,
                   DOCTOR_PROBLEM,
                   "source",
                   NULL,
                   _("%s cannot record on this machine: %s"),
                   source->name,
                   why);
}

static void check_known_source(DoctorReport *report, const ViewSource *source) {
        if (source->unavailable)
                add_unavailable(report, source);
        else if (source->producers[0])
                doctor_add(report,
                           DOCTOR_OK,
                           "source",
                           NULL,
                           g_dngettext(GETTEXT_PACKAGE,
                                       "%s is offered by %u program that runs",
                                       "%s is offered by %u programs that run",
                                       g_strv_length(source->producers)),
                           source->name,
                           g_strv_length(source->producers));
        else if (source->is_activatable)
                doctor_add(report,
                           DOCTOR_OK,
                           "source",
                           NULL,
                           _("the program of %s starts when it is recorded"),
                           source->name);
        else
                doctor_add(report,
                           DOCTOR_PROBLEM,
                           "source",
                           _("start the program that has it"),
                           _("no program that runs offers %s"),
                           source->name);
}

static const char *nearest_source(const NameFacts *facts, const char *name) {
        const guint n = facts->sources ? facts->sources->len : 0;
        g_autofree const char **names = g_new0(const char *, n + 1);

        for (guint i = 0; i < n; i++)
                names[i] = g_array_index(facts->sources, ViewSource, i).name;
        return text_nearest(name, names, n);
}

static void add_unknown(DoctorReport *report, const char *topic) {
        doctor_add(report,
                   DOCTOR_PROBLEM,
                   topic,
                   NULL,
                   _("the service could not be asked; see what is said of it above"));
}

void source_check(DoctorReport *report, const NameFacts *facts, const char *name) {
        const ViewSource *source = find_source(facts, name);
        const char *nearest;

        if (!facts->is_known) {
                add_unknown(report, "source");
                return;
        }
        if (source) {
                check_known_source(report, source);
                return;
        }
        nearest = nearest_source(facts, name);
        doctor_add(report,
                   DOCTOR_PROBLEM,
                   "source",
                   "desktrace list sources",
                   nearest ? _("no program offers a data source \"%s\"; did you mean \"%s\"?")
                           : _("no program offers a data source \"%s\""),
                   name,
                   nearest);
}

static unsigned count_matches(const NameFacts *facts, const char *glob) {
        g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(glob);
        unsigned n = 0;

        for (guint i = 0; i < facts->events.names->len; i++)
                n += g_pattern_spec_match_string(pattern, facts->events.names->pdata[i]);
        return n;
}

static void add_missing_event(DoctorReport *report, const NameFacts *facts, const char *name) {
        const char *nearest = text_nearest(
                name, (const char *const *)facts->events.names->pdata, facts->events.names->len);
        const char *slash = strchr(name, '/');
        g_autofree char *glob =
                slash ? g_strdup_printf("%.*s/*", (int)(slash - name), name) : g_strdup("*");
        g_autofree char *quoted = g_shell_quote(glob);
        g_autofree char *remedy = g_strconcat("desktrace list events ", quoted, NULL);

        doctor_add(report,
                   DOCTOR_PROBLEM,
                   "event",
                   remedy,
                   nearest ? _("this kernel has no event \"%s\"; did you mean \"%s\"?")
                           : _("this kernel has no event \"%s\""),
                   name,
                   nearest);
}

static void check_event_name(DoctorReport *report, const NameFacts *facts, const char *name) {
        const char *event = find_event(facts, name);
        g_autofree char *record = event ? g_strconcat("desktrace record ", event, NULL) : NULL;
        const unsigned n_matches = strchr(name, '*') ? count_matches(facts, name) : 0;

        if (n_matches > 0)
                doctor_add(report,
                           DOCTOR_OK,
                           "event",
                           NULL,
                           g_dngettext(GETTEXT_PACKAGE,
                                       "%u event of this kernel matches",
                                       "%u events of this kernel match",
                                       n_matches),
                           n_matches);
        else if (event && streq(event, name))
                doctor_add(report, DOCTOR_OK, "event", NULL, _("this kernel has %s"), event);
        else if (event)
                doctor_add(report,
                           DOCTOR_NOTE,
                           "event",
                           record,
                           _("this kernel has it as %s: recordings need its group, too"),
                           event);
        else
                add_missing_event(report, facts, name);
}

void event_check(DoctorReport *report, const NameFacts *facts, const char *name) {
        if (!facts->is_known) {
                add_unknown(report, "event");
                return;
        }
        if (facts->events.names->len == 0) {
                g_autofree char *why = reason_translate(
                        facts->events.why ? facts->events.why
                                          : _("the service is too old to list them"));

                doctor_add(report,
                           DOCTOR_NOTE,
                           "event",
                           "sudo desktrace list events",
                           _("the kernel's events are not known: %s"),
                           why);
        } else
                check_event_name(report, facts, name);
        source_check(report, facts, TRACING_EVENTS_SOURCE);
}

void category_check(DoctorReport *report, const NameFacts *facts, const char *name) {
        const ViewSource *source = find_source(facts, "track_event");
        char **categories = source ? source->categories : NULL;
        const char *nearest = NULL;

        if (!facts->is_known) {
                add_unknown(report, "category");
                return;
        }
        if (categories && g_strv_contains((const char *const *)categories, name)) {
                doctor_add(report,
                           DOCTOR_OK,
                           "category",
                           NULL,
                           _("a program that runs has the category \"%s\""),
                           name);
                return;
        }
        if (categories)
                nearest = text_nearest(
                        name, (const char *const *)categories, g_strv_length(categories));
        doctor_add(report,
                   DOCTOR_PROBLEM,
                   "category",
                   "desktrace list producers",
                   nearest ? _("no program that runs has the category \"%s\"; did you mean \"%s\"?")
                           : _("no program that runs has the category \"%s\""),
                   name,
                   nearest);
}
