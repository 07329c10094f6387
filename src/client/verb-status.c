/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Status: whether the service is running, and for each data source whether it is recording, and why not if it is not
 *
 * Looking must not start the service, so the bus is asked before the service is.
 */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "client/reason.h"
#include "client/say.h"
#include "client/service-view.h"
#include "client/table.h"
#include "client/verbs.h"
#include "shared/names.h"

typedef enum InstanceState {
        INSTANCE_NO_BUS,      /* and no socket */
        INSTANCE_ABSENT,      /* no process owns the name, and the bus cannot start one */
        INSTANCE_ACTIVATABLE, /* the bus starts it when it is needed */
        INSTANCE_RUNNING,
} InstanceState;

typedef struct InstanceStatus {
        const char *name; /* "system", … */
        InstanceState state;
        ViewManager manager;
        GArray *sources, *sessions; /* NULL unless running */
} InstanceStatus;

static void instance_status_deinit(InstanceStatus *status) {
        view_manager_deinit(&status->manager);
        g_clear_pointer(&status->sources, g_array_unref);
        g_clear_pointer(&status->sessions, g_array_unref);
}

static void strings_free(char **strings) {
        for (char **at = strings; at && *at; at++)
                free(*at);
        free(strings);
}

static InstanceState state_on_bus(sd_bus *bus) {
        char **running = NULL, **activatable = NULL;
        InstanceState state = INSTANCE_ABSENT;

        if (sd_bus_list_names(bus, &running, &activatable) < 0)
                return INSTANCE_NO_BUS;
        if (g_strv_contains((const char *const *)running, TRACING_BUS_NAME))
                state = INSTANCE_RUNNING;
        else if (g_strv_contains((const char *const *)activatable, TRACING_BUS_NAME))
                state = INSTANCE_ACTIVATABLE;
        strings_free(running);
        strings_free(activatable);
        return state;
}

static ExitStatus instance_look(InstanceStatus *instance, const BusClient *client) {
        ExitStatus status;

        instance->state = client->destination ? state_on_bus(client->bus) : INSTANCE_RUNNING;
        if (instance->state != INSTANCE_RUNNING)
                return STATUS_OK;
        status = view_manager_get(&instance->manager, client);
        if (!status)
                status = view_list_sources(&instance->sources, client);
        if (!status)
                status = view_list_sessions(&instance->sessions, client);
        return status;
}

static ExitStatus instance_get(InstanceStatus *instance, BusChoice choice, const char *name) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };

        *instance = (InstanceStatus){ .name = name, .state = INSTANCE_NO_BUS };
        if (bus_client_try_open(&client, choice) < 0)
                return STATUS_OK;
        instance->name = client.where;
        return instance_look(instance, &client);
}

/* The sessions that record a data source, as "3, 5". */
static char *recording_sessions(const InstanceStatus *instance, const char *source) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < instance->sessions->len; i++) {
                const SessionInfo *session = &g_array_index(instance->sessions, SessionInfo, i);

                for (guint j = 0; j < session->sources->len; j++) {
                        const SessionSource *at =
                                &g_array_index(session->sources, SessionSource, j);

                        if (!streq(at->source, source) || !streq(at->state, "started"))
                                continue;
                        g_string_append_printf(
                                text, "%s%" PRIu64, text->len ? ", " : "", session->id);
                        break;
                }
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Why it is not recording now; not translated yet. */
static const char *source_reason(const ViewSource *source) {
        if (source->unavailable)
                return source->unavailable;
        if (source->producers[0])
                return N_("none of your sessions records it");
        if (streq(source->name, TRACING_SELF_SOURCE))
                return N_("part of the service; none of your sessions records it");
        if (source->is_activatable)
                return N_("its program starts when a session needs it");
        return N_("no running program offers it");
}

static void add_reason(Table *table, const ViewSource *source) {
        g_autofree char *reason = source->unavailable ? reason_translate(source->unavailable)
                                                      : g_strdup(_(source_reason(source)));

        table_add(table, reason);
}

static void add_source(Table *table, const InstanceStatus *instance, const ViewSource *source) {
        g_autofree char *sessions = recording_sessions(instance, source->name);
        bool is_on = *sessions;

        table_add(table, source->name);
        table_add(table, is_on ? _("on") : _("off"));
        table_add_format(table, "%u", g_strv_length(source->producers));
        if (is_on)
                table_add_format(table, _("in session %s"), sessions);
        else
                add_reason(table, source);
}

/* Says that the service was away, for each session that was recorded before and goes on. */
static bool is_own_note(const SessionNote *note) {
        return streq(note->producer, TRACING_SERVICE_PRODUCER) &&
               streq(note->source, TRACING_SERVICE_PRODUCER);
}

static void print_own_notes(const SessionInfo *session) {
        for (guint i = 0; i < session->notes->len; i++) {
                const SessionNote *note = &g_array_index(session->notes, SessionNote, i);
                g_autofree char *reason = NULL, *text = NULL;

                if (!is_own_note(note))
                        continue;
                reason = reason_translate(note->text);
                text = say_clean(reason, strlen(reason));
                printf(_("session %" PRIu64 ": %s\n"), session->id, text);
        }
}

static void print_running(const InstanceStatus *instance, const Invocation *invocation) {
        static const TableColumn columns[] = {
                { N_("DATA SOURCE") },
                { N_("STATE") },
                { N_("PRODUCERS"), true },
                { N_("WHY") },
        };
        _cleanup_(table_deinit) Table table = { 0 };

        printf(_("running, version %s; sessions: %" PRIu32 ", producers: %" PRIu32 "\n"),
               instance->manager.version,
               instance->manager.n_sessions,
               instance->manager.n_producers);
        for (guint i = 0; i < instance->sessions->len; i++)
                print_own_notes(&g_array_index(instance->sessions, SessionInfo, i));
        if (instance->sources->len == 0)
                return;
        table_init(&table, columns, ARRAY_SIZE(columns));
        for (guint i = 0; i < instance->sources->len; i++)
                add_source(&table, instance, &g_array_index(instance->sources, ViewSource, i));
        table_print(&table, invocation->has_legend);
}

static void print_instance(const InstanceStatus *instance, const Invocation *invocation) {
        static const char *const states[] = {
                [INSTANCE_NO_BUS] = N_("no bus available"),
                [INSTANCE_ABSENT] = N_("not installed for this bus"),
                [INSTANCE_ACTIVATABLE] = N_("not running; starts when needed"),
        };

        printf("%s%s:%s ",
               style(stdout, STYLE_BOLD),
               _(instance->name),
               style(stdout, STYLE_NORMAL));
        if (instance->state == INSTANCE_RUNNING)
                print_running(instance, invocation);
        else
                puts(_(states[instance->state]));
}

static void
write_source(JsonWriter *writer, const InstanceStatus *instance, const ViewSource *source) {
        g_autofree char *sessions = recording_sessions(instance, source->name);
        g_autofree char *name = say_clean(source->name, strlen(source->name));
        g_autofree char *why = say_clean(source_reason(source), strlen(source_reason(source)));

        json_begin_object(writer, NULL);
        json_string(writer, "name", name);
        json_bool(writer, "on", *sessions);
        json_string(writer, "why", *sessions ? NULL : why);
        json_uint(writer, "producers", g_strv_length(source->producers));
        json_bool(writer, "activatable", source->is_activatable);
        json_bool(writer, "system", source->is_system);
        json_end_object(writer);
}

static void write_own_notes(JsonWriter *writer, const SessionInfo *session) {
        for (guint i = 0; i < session->notes->len; i++) {
                const SessionNote *note = &g_array_index(session->notes, SessionNote, i);
                g_autofree char *text = NULL;

                if (!is_own_note(note))
                        continue;
                text = say_clean(note->text, strlen(note->text));
                json_begin_object(writer, NULL);
                json_uint(writer, "session", session->id);
                json_string(writer, "text", text);
                json_end_object(writer);
        }
}

static void write_instance(JsonWriter *writer, const InstanceStatus *instance) {
        static const char *const states[] = {
                [INSTANCE_NO_BUS] = "no-bus",
                [INSTANCE_ABSENT] = "absent",
                [INSTANCE_ACTIVATABLE] = "activatable",
                [INSTANCE_RUNNING] = "running",
        };

        json_begin_object(writer, NULL);
        json_string(writer, "instance", instance->name);
        json_string(writer, "state", states[instance->state]);
        json_string(writer, "version", instance->manager.version);
        json_uint(writer, "sessions", instance->manager.n_sessions);
        json_uint(writer, "producers", instance->manager.n_producers);
        json_begin_array(writer, "sources");
        for (guint i = 0; instance->sources && i < instance->sources->len; i++)
                write_source(writer, instance, &g_array_index(instance->sources, ViewSource, i));
        json_end_array(writer);
        json_begin_array(writer, "notes");
        for (guint i = 0; instance->sessions && i < instance->sessions->len; i++)
                write_own_notes(writer, &g_array_index(instance->sessions, SessionInfo, i));
        json_end_array(writer);
        json_end_object(writer);
}

static void show(const InstanceStatus *instances, size_t n, const Invocation *invocation) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        if (invocation->json == JSON_OFF) {
                for (size_t i = 0; i < n; i++)
                        print_instance(&instances[i], invocation);
                return;
        }
        json_writer_init(&writer, invocation->json);
        json_begin_array(&writer, NULL);
        for (size_t i = 0; i < n; i++)
                write_instance(&writer, &instances[i]);
        json_end_array(&writer);
        json_writer_print(&writer);
}

/* The service can be used: the next call would be answered. */
static bool is_reachable(const InstanceStatus *instances, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (instances[i].state >= INSTANCE_ACTIVATABLE)
                        return true;
        return false;
}

static ExitStatus show_status(const Invocation *invocation) {
        bool is_private = invocation->bus == BUS_CHOICE_DEFAULT && g_getenv(TRACING_ENV_SOCKET);
        bool is_both = invocation->bus == BUS_CHOICE_DEFAULT && !is_private;
        InstanceStatus instances[2] = { 0 };
        size_t n = 1;
        ExitStatus status;

        if (is_both) {
                status = instance_get(&instances[0], BUS_CHOICE_SYSTEM, N_("system"));
                if (!status)
                        status = instance_get(&instances[n++], BUS_CHOICE_USER, N_("user"));
        } else {
                status = instance_get(&instances[0],
                                      invocation->bus,
                                      is_private                           ? N_("standalone")
                                      : invocation->bus == BUS_CHOICE_USER ? N_("user")
                                                                           : N_("system"));
        }
        if (!status)
                show(instances, n, invocation);
        if (!status && !is_reachable(instances, n))
                status = STATUS_NO_SERVICE;
        for (size_t i = 0; i < n; i++)
                instance_status_deinit(&instances[i]);
        return status;
}

ExitStatus verb_status(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, NULL);

        if (!status)
                status = invocation_expect(invocation, 0, 0);
        return status ? status : show_status(invocation);
}
