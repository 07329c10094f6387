/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel events: the names of this machine's kernel events, as far as we can find out */

#include <fcntl.h>
#include <glib/gi18n.h>
#include <string.h>

#include "client/kernel-events.h"
#include "client/say.h"
#include "config/preset.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/text.h"

#define AVAILABLE_EVENTS     "/sys/kernel/tracing/available_events"
#define AVAILABLE_EVENTS_MAX (4u << 20)

void kernel_events_deinit(KernelEvents *events) {
        g_clear_pointer(&events->names, g_ptr_array_unref);
        kernel_names_deinit(&events->symbols);
}

/*
 * Sources of the names
 */

/* tracefs writes "group:name". */
void kernel_events_read_local(KernelEvents *events) {
        _cleanup_(freep) char *text = NULL;
        char *line, *next;

        *events = (KernelEvents){ 0 };
        if (fd_read_file(&text, NULL, AT_FDCWD, AVAILABLE_EVENTS, AVAILABLE_EVENTS_MAX) < 0)
                return;
        events->names = g_ptr_array_new_with_free_func(g_free);
        for (line = text; *line; line = next) {
                next = line + strcspn(line, "\n");
                if (*next)
                        *next++ = 0;
                g_strdelimit(line, ":", '/');
                g_ptr_array_add(events->names, g_strdup(line));
        }
        events->origin = KERNEL_EVENTS_ALL;
        if (events->names->len == 0)
                kernel_events_deinit(events);
}

static gint compare_names(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_is_current(sd_bus_message *reply, KernelEventsOrigin *ret) {
        const char *key;
        int r, current = 0;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                r = sd_bus_message_read(reply, "s", &key);
                if (r >= 0 && streq(key, "current")) {
                        r = sd_bus_message_read(reply, "v", "b", &current);
                        *ret = current ? KERNEL_EVENTS_CURRENT : KERNEL_EVENTS_LAST;
                } else if (r >= 0)
                        r = sd_bus_message_skip(reply, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        return r;
}

static int read_reply(KernelEvents *events, sd_bus_message *reply) {
        const char *name;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &name)) > 0)
                if (strchr(name, '/'))
                        g_ptr_array_add(events->names, g_strdup(name));
        if (r >= 0)
                r = sd_bus_message_exit_container(reply);
        if (r >= 0)
                r = read_is_current(reply, &events->origin);
        g_ptr_array_sort(events->names, compare_names);
        return r;
}

/* No password is asked for. An older service does not know the call. */
static void read_service(KernelEvents *events, const BusClient *client, bool starts_probes) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        int r;

        events->names = g_ptr_array_new_with_free_func(g_free);
        r = bus_client_new_call(
                client, &call, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListEvents");
        if (r >= 0)
                r = sd_bus_message_append(call, "a{sv}", 1, "start", "b", starts_probes);
        if (r >= 0)
                r = sd_bus_call(client->bus, call, BUS_CALL_TIMEOUT_USEC, NULL, &reply);
        if (r >= 0)
                r = read_reply(events, reply);
        if (r < 0 || events->names->len == 0)
                kernel_events_deinit(events);
}

static void add_of_config(KernelEvents *events, const Config *config) {
        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;
                const Perfetto__Protos__FtraceConfig *ftrace =
                        source ? source->ftrace_config : NULL;

                for (size_t j = 0; ftrace && j < ftrace->n_ftrace_events; j++)
                        if (strchr(ftrace->ftrace_events[j], '/'))
                                g_ptr_array_add(events->names, g_strdup(ftrace->ftrace_events[j]));
        }
}

static void read_presets(KernelEvents *events) {
        Preset *presets;
        size_t n = 0;

        if (presets_list(&presets, &n) < 0)
                return;
        *events = (KernelEvents){ .names = g_ptr_array_new_with_free_func(g_free) };
        for (size_t i = 0; i < n; i++) {
                _cleanup_(config_freep) Config *config = NULL;
                ConfigError error;

                if (preset_load(&config, presets[i].name, &error) == 0)
                        add_of_config(events, config);
        }
        presets_free(presets, n);
        g_ptr_array_sort(events->names, compare_names);
        (void)kernel_names_read(&events->symbols);
}

void kernel_events_read(KernelEvents *events, const BusClient *client, bool starts_probes) {
        kernel_events_read_local(events);
        if (!events->names)
                read_service(events, client, starts_probes);
        if (!events->names)
                read_presets(events);
}

/*
 * Names to compare with
 */

static bool is_group(const char *event) {
        return g_str_has_suffix(event, "/*");
}

static bool is_of_group(const char *name, const char *group, size_t n_group) {
        return strncmp(name, group, n_group) == 0 && name[n_group] == '/';
}

static bool name_matches(const char *name, const char *event) {
        return is_group(event) ? is_of_group(name, event, strlen(event) - 2) : streq(name, event);
}

static const char *event_name(const KernelEvents *events, guint i) {
        return g_ptr_array_index(events->names, i);
}

/* As "group" and a star. The names are sorted by it, so that one look back finds doubles. */
static GPtrArray *list_groups(const KernelEvents *events) {
        GPtrArray *groups = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < events->names->len; i++) {
                const char *name = event_name(events, i);
                g_autofree char *group = g_strdup_printf("%.*s/*", (int)strcspn(name, "/"), name);

                if (groups->len == 0 || !streq(g_ptr_array_index(groups, groups->len - 1), group))
                        g_ptr_array_add(groups, g_steal_pointer(&group));
        }
        return groups;
}

static const char *nearest_of(const char *name, const GPtrArray *names) {
        return text_nearest(name, (const char *const *)names->pdata, names->len);
}

/* Whether an event that is not in the list certainly does not exist. If that is uncertain, the probes decide, and
 * refuse an event that does not exist. */
static bool is_none(const KernelEvents *events, const char *event, const char *nearest) {
        size_t n_group = strcspn(event, "/");

        if (events->origin != KERNEL_EVENTS_LAST)
                return events->origin == KERNEL_EVENTS_ALL ||
                       (events->origin == KERNEL_EVENTS_CURRENT && nearest);
        for (guint i = 0; nearest && i < events->names->len; i++)
                if (is_of_group(event_name(events, i), event, n_group))
                        return true;
        return false;
}

/*
 * Misspelt names, found by the kernel's symbols. The nearest group or name is taken for the one that was meant. If
 * nothing is near, the event may have been defined on this machine.
 */

static bool has_group(const KernelEvents *events, const char *group) {
        for (guint i = 0; i < events->names->len; i++)
                if (is_of_group(event_name(events, i), group, strlen(group)))
                        return true;
        return kernel_names_has_group(&events->symbols, group);
}

/* The event of that name: tracepoints are called differently, whatever their groups. Returns NULL if its group is
 * not known. */
static const char *find_named(const KernelEvents *events, const char *name) {
        for (guint i = 0; i < events->names->len; i++)
                if (streq(strchr(event_name(events, i), '/') + 1, name))
                        return event_name(events, i);
        return NULL;
}

/* "group/name" in an existing group; NULL: nothing is near. */
static char *meant_in_group(const KernelEvents *events, const char *group, const char *name) {
        const GPtrArray *known = events->symbols.events;
        const char *nearest, *whole;

        if (streq(name, "*") || kernel_names_has_event(&events->symbols, name))
                nearest = name;
        else
                nearest = nearest_of(name, known);
        if (!nearest)
                return NULL;
        whole = find_named(events, nearest);
        return whole ? g_strdup(whole) : g_strconcat(group, "/", nearest, NULL);
}

/* Whether the group certainly does not exist. */
static char *
meant_of_unknown_group(const KernelEvents *events, const char *group, const char *name) {
        const char *whole = find_named(events, name), *nearest;

        if (whole) {
                g_autofree char *of_name = g_strndup(whole, strcspn(whole, "/"));
                const char *const only[] = { of_name };

                return text_nearest(group, only, 1) ? g_strdup(whole) : NULL;
        }
        nearest = nearest_of(group, events->symbols.groups);
        return nearest ? meant_in_group(events, nearest, name) : NULL;
}

static char *meant_by_symbols(const KernelEvents *events, const char *event) {
        g_autofree char *group = g_strndup(event, strcspn(event, "/"));
        const char *name = event + strlen(group) + (event[strlen(group)] == '/');
        g_autofree char *meant = has_group(events, group)
                                         ? meant_in_group(events, group, name)
                                         : meant_of_unknown_group(events, group, name);

        return meant && !streq(meant, event) ? g_steal_pointer(&meant) : NULL;
}

/* Whether the event does not exist; *ret_meant is the event with the most similar name, or NULL. */
static bool find_absent(const KernelEvents *events, const char *event, char **ret_meant) {
        g_autoptr(GPtrArray) known = NULL;

        *ret_meant = NULL;
        if (!events->names)
                return false;
        for (guint i = 0; i < events->names->len; i++)
                if (name_matches(event_name(events, i), event))
                        return false;
        if (events->symbols.events) {
                *ret_meant = meant_by_symbols(events, event);
                return *ret_meant;
        }
        known = is_group(event) ? list_groups(events) : g_ptr_array_ref(events->names);
        *ret_meant = g_strdup(nearest_of(event, known));
        return is_none(events, event, *ret_meant);
}

ExitStatus kernel_events_check(const KernelEvents *events, const char *event) {
        g_autofree char *meant = NULL;

        return find_absent(events, event, &meant)
                       ? usage_meant(_("unknown kernel event '%s'"), event, meant)
                       : STATUS_OK;
}

/* A name without its group, as configs may have it. */
static char *meant_by_name(const KernelEvents *events, const char *name) {
        g_autoptr(GPtrArray) names = NULL;

        if (!events->names || find_named(events, name))
                return NULL;
        if (events->symbols.events)
                return kernel_names_has_event(&events->symbols, name)
                               ? NULL
                               : g_strdup(nearest_of(name, events->symbols.events));
        if (events->origin == KERNEL_EVENTS_SAMPLES)
                return NULL;
        names = g_ptr_array_new();
        for (guint i = 0; i < events->names->len; i++)
                g_ptr_array_add(names, strchr(event_name(events, i), '/') + 1);
        return g_strdup(nearest_of(name, names));
}

char *kernel_events_meant(const KernelEvents *events, const char *event) {
        g_autofree char *meant = NULL;

        if (!strchr(event, '/'))
                return meant_by_name(events, event);
        return find_absent(events, event, &meant) ? g_steal_pointer(&meant) : NULL;
}

/* Returns NULL if it is neither an event's name nor a group's. */
static char *find_word(const KernelEvents *events, const char *word) {
        for (guint i = 0; events->names && i < events->names->len; i++)
                if (streq(strchr(event_name(events, i), '/') + 1, word))
                        return g_strdup(event_name(events, i));
        for (guint i = 0; events->names && i < events->names->len; i++)
                if (is_of_group(event_name(events, i), word, strlen(word)))
                        return g_strdup_printf("%s/*", word);
        return NULL;
}

ExitStatus kernel_events_check_word(const KernelEvents *events, const char *word) {
        g_autofree char *meant = find_word(events, word);

        if (!meant)
                return STATUS_OK;
        say_error(_("'%s' is the kernel's, and those events are written group/name or group/*: did "
                    "you mean '%s'?"),
                  word,
                  meant);
        return STATUS_USAGE;
}

char *kernel_events_nearest(const KernelEvents *events, const char *word) {
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GPtrArray) groups = NULL;
        const char *nearest;

        if (!events->names)
                return NULL;
        groups = list_groups(events);
        for (guint i = 0; i < events->names->len; i++)
                g_ptr_array_add(words, g_strdup(strchr(event_name(events, i), '/') + 1));
        for (guint i = 0; i < groups->len; i++) {
                const char *group = g_ptr_array_index(groups, i);

                g_ptr_array_add(words, g_strndup(group, strlen(group) - strlen("/*")));
        }
        nearest = nearest_of(word, words);
        return nearest ? find_word(events, nearest) : NULL;
}
