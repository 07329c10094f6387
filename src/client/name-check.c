/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Name check: whether the names on the command line are offered by any producer */

#include <glib/gi18n.h>
#include <string.h>
#include <unistd.h>

#include "client/kernel-events.h"
#include "client/name-check.h"
#include "client/say.h"
#include "client/service-view.h"
#include "client/standalone.h"
#include "shared/names.h"
#include "shared/text.h"

typedef struct NameCheck {
        NameCheckWait wait;
        bool is_quiet;
        KernelEvents events;
        GArray *sources; /* of ViewSource */
} NameCheck;

static void name_check_deinit(NameCheck *check) {
        kernel_events_deinit(&check->events);
        g_clear_pointer(&check->sources, g_array_unref);
}

static const ViewSource *find_source(const NameCheck *check, const char *name) {
        for (guint i = 0; i < check->sources->len; i++) {
                const ViewSource *source = &g_array_index(check->sources, ViewSource, i);

                if (streq(source->name, name))
                        return source;
        }
        return NULL;
}

/* Reports a missing name, as an error or a note. `nearest` may be NULL; `format` has one %s. */
static ExitStatus
say_absent(const NameCheck *check, const char *format, const char *name, const char *nearest) {
        g_autofree char *clean = say_clean(name, strlen(name));
        g_autofree char *clean_nearest = nearest ? say_clean(nearest, strlen(nearest)) : NULL;
        g_autofree char *what = g_strdup_printf(format, clean);
        g_autofree char *meant =
                nearest ? g_strdup_printf(_(" Did you mean '%s'?"), clean_nearest) : g_strdup("");

        if (check->wait == NAME_CHECK_NOW) {
                say_error("%s.%s", what, meant);
                say_hint(_("Start the program first or name it behind --, or leave out -t to wait "
                           "for it. \"desktrace list sources{bus}\" shows what there is."));
                return STATUS_NOT_FOUND;
        }
        if (!check->is_quiet)
                say_error(_("note: %s. It is recorded once a program that has it starts.%s"),
                          what,
                          meant);
        return STATUS_OK;
}

/*
 * Data sources
 */

static char *nearest_source(const NameCheck *check, const char *name) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        for (guint i = 0; i < check->sources->len; i++)
                g_ptr_array_add(names, g_array_index(check->sources, ViewSource, i).name);
        nearest = text_nearest(name, (const char *const *)names->pdata, names->len);
        return nearest ? g_strdup(nearest) : kernel_events_nearest(&check->events, name);
}

/* A name with the prefix of the machine's own sources, or a misspelt one, is left to the service, which refuses it. */
static ExitStatus check_source(const NameCheck *check, const char *name) {
        g_autofree char *nearest = NULL;
        ExitStatus status = kernel_events_check_word(&check->events, name);

        if (status || check->wait == NAME_CHECK_OURS || standalone_is_probe_source(name) ||
            standalone_is_bridge_source(name) || find_source(check, name))
                return status;
        nearest = nearest_source(check, name);
        return say_absent(check, _("nothing that runs offers the data source '%s'"), name, nearest);
}

/*
 * Categories
 */

/* "*" and "prefix*" are what a config may have. */
static bool category_matches(const char *pattern, const char *category) {
        size_t n = strlen(pattern);

        if (n > 0 && pattern[n - 1] == '*')
                return strncmp(pattern, category, n - 1) == 0;
        return streq(pattern, category);
}

static bool has_category(const ViewSource *source, const char *pattern) {
        for (char **category = source->categories; category && *category; category++)
                if (category_matches(pattern, *category))
                        return true;
        return false;
}

static ExitStatus check_category(const NameCheck *check, const char *pattern) {
        const ViewSource *source = find_source(check, TRACING_TRACK_EVENT_SOURCE);
        const char *nearest;

        if (check->wait == NAME_CHECK_OURS || (source && has_category(source, pattern)))
                return STATUS_OK;
        if (!source || !source->producers[0])
                return say_absent(check,
                                  _("nothing that runs uses Desktrace or Perfetto's SDK, so "
                                    "nothing has the category '%s'"),
                                  pattern,
                                  NULL);
        if (!source->categories || !*source->categories) /* set up when they are first used */
                return STATUS_OK;
        nearest = text_nearest(pattern,
                               (const char *const *)source->categories,
                               g_strv_length(source->categories));
        return say_absent(check, _("nothing that runs has the category '%s'"), pattern, nearest);
}

/*
 * The kernel events of a config
 */

/* The probes report entries of a config that have no effect, and record the rest, as a config may be written for
 * several kernels. A user who has to type a password first should hear of a slip before that. */
static void note_slips(const NameCheck *check, const GPtrArray *events) {
        for (guint i = 0; i < events->len; i++) {
                const char *event = g_ptr_array_index(events, i);
                g_autofree char *meant = kernel_events_meant(&check->events, event);
                g_autofree char *clean = say_clean(event, strlen(event));

                if (meant)
                        say_error(_("note: the config has an unknown kernel event '%s'. Did you "
                                    "mean '%s'?"),
                                  clean,
                                  meant);
        }
}

/*
 * All names
 */

static ExitStatus check_events(const NameCheck *check, const GPtrArray *events) {
        ExitStatus status = STATUS_OK;

        for (guint i = 0; !status && i < events->len; i++)
                status = kernel_events_check(&check->events, g_ptr_array_index(events, i));
        return status;
}

static ExitStatus check_all(const NameCheck *check, const RecordRequest *request) {
        ExitStatus status = check_events(check, request->events);

        if (!status)
                status = check_events(check, request->stack_events);
        for (guint i = 0; !status && i < request->sources->len; i++)
                status = check_source(check, g_ptr_array_index(request->sources, i));
        for (guint i = 0; !status && i < request->categories->len; i++)
                status = check_category(check, g_ptr_array_index(request->categories, i));
        return status;
}

ExitStatus name_check(const BusClient *client,
                      const RecordRequest *request,
                      NameCheckWait wait,
                      bool is_quiet) {
        _cleanup_(name_check_deinit) NameCheck check = { .wait = wait, .is_quiet = is_quiet };
        g_autoptr(GPtrArray) of_config = record_request_config_events(request);
        const bool names_events = request->events->len || request->stack_events->len;
        bool needs_events = names_events || (of_config->len && !is_quiet && geteuid());
        ExitStatus status;

        if (needs_events || request->sources->len)
                kernel_events_read(&check.events, client, needs_events);
        if (needs_events)
                note_slips(&check, of_config);
        if (!names_events && !request->sources->len && !request->categories->len)
                return STATUS_OK;
        view_await_producers(client);
        status = view_list_sources(&check.sources, client);
        return status ? status : check_all(&check, request);
}
