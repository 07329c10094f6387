/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Service view: the service's objects, as lists */

#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client/bus-properties.h"
#include "client/service-view.h"
#include "shared/names.h"

void view_manager_deinit(ViewManager *manager) {
        g_clear_pointer(&manager->version, g_free);
}

ExitStatus view_manager_get(ViewManager *ret, const BusClient *client) {
        static const PropertyRow rows[] = {
                { "Version", "s", offsetof(ViewManager, version), property_read_string },
                { "NumSessions", "u", offsetof(ViewManager, n_sessions), property_read_uint32 },
                { "NumProducers", "u", offsetof(ViewManager, n_producers), property_read_uint32 },
        };

        *ret = (ViewManager){ 0 };
        return properties_get(
                client, TRACING_PATH, TRACING_MANAGER_INTERFACE, rows, ARRAY_SIZE(rows), ret);
}

/*
 * Sources
 */

static void source_clear(gpointer item) {
        ViewSource *source = item;

        g_free(source->name);
        g_strfreev(source->producers);
        g_strfreev(source->categories);
        g_free(source->unavailable);
}

static int read_paths(sd_bus_message *message, char ***ret) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        const char *path;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "o");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "o", &path)) > 0)
                g_strv_builder_add(builder, path);
        *ret = g_strv_builder_end(builder);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_source(sd_bus_message *message, ViewSource *source) {
        static const PropertyRow rows[] = {
                { "activatable", "b", offsetof(ViewSource, is_activatable), property_read_bool },
                { "system", "b", offsetof(ViewSource, is_system), property_read_bool },
                { "categories", "as", offsetof(ViewSource, categories), property_read_strings },
                { "unavailable", "s", offsetof(ViewSource, unavailable), property_read_string },
        };
        int r;

        r = property_read_string(message, &source->name);
        if (r >= 0)
                r = read_paths(message, &source->producers);
        if (r >= 0)
                r = properties_read(message, rows, ARRAY_SIZE(rows), source);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_sources(sd_bus_message *message, GArray *sources) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(saoa{sv})");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'r', "saoa{sv}")) > 0) {
                ViewSource source = { 0 };

                r = read_source(message, &source);
                g_array_append_val(sources, source); /* half a source is freed like a whole one */
                if (r < 0)
                        return r;
        }
        return r;
}

static GArray *list_new(size_t n_item, GDestroyNotify clear) {
        GArray *list = g_array_new(FALSE, TRUE, (guint)n_item);

        g_array_set_clear_func(list, clear);
        return list;
}

static gint compare_sources(gconstpointer a, gconstpointer b) {
        return strcmp(((const ViewSource *)a)->name, ((const ViewSource *)b)->name);
}

ExitStatus view_activate_producers(const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        return bus_client_call(
                client, &reply, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ActivateProducers", NULL);
}

/* A service that does not know the call is older, and is listed as it is. */
void view_await_producers(const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;

        if (bus_client_new_call(
                    client, &call, TRACING_PATH, TRACING_MANAGER_INTERFACE, "AwaitProducers") >= 0)
                sd_bus_call(client->bus, call, BUS_CALL_TIMEOUT_USEC, NULL, &reply);
}

ExitStatus view_list_sources(GArray **ret, const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(GArray) sources = list_new(sizeof(ViewSource), source_clear);
        ExitStatus status;
        int r;

        status = bus_client_call(
                client, &reply, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListSources", NULL);
        if (status)
                return status;
        r = read_sources(reply, sources);
        if (r < 0)
                return bus_client_say_errno(r);
        g_array_sort(sources, compare_sources);
        *ret = g_steal_pointer(&sources);
        return STATUS_OK;
}

/*
 * Producers: those that offer something
 */

static void producer_clear(gpointer item) {
        ViewProducer *producer = item;

        g_free(producer->path);
        g_free(producer->name);
        g_free(producer->unit);
        g_free(producer->app);
        g_free(producer->container);
        g_strfreev(producer->sources);
}

static ExitStatus producer_get(ViewProducer *producer, const BusClient *client) {
        static const PropertyRow rows[] = {
                { "Name", "s", offsetof(ViewProducer, name), property_read_string },
                { "UID", "u", offsetof(ViewProducer, uid), property_read_uint32 },
                { "PID", "u", offsetof(ViewProducer, pid), property_read_uint32 },
                { "Unit", "s", offsetof(ViewProducer, unit), property_read_string },
                { "App", "s", offsetof(ViewProducer, app), property_read_string },
                { "Container", "s", offsetof(ViewProducer, container), property_read_string },
                { "Sources", "as", offsetof(ViewProducer, sources), property_read_strings },
                { "SharedMemory",
                  "t",
                  offsetof(ViewProducer, n_memory_bytes),
                  property_read_uint64 },
        };

        return properties_get(client,
                              producer->path,
                              TRACING_PRODUCER_INFO_INTERFACE,
                              rows,
                              ARRAY_SIZE(rows),
                              producer);
}

static bool has_producer(const GArray *producers, const char *path) {
        for (guint i = 0; i < producers->len; i++)
                if (streq(g_array_index(producers, ViewProducer, i).path, path))
                        return true;
        return false;
}

static ExitStatus
add_producers(GArray *producers, const BusClient *client, const ViewSource *source) {
        for (char **path = source->producers; *path; path++) {
                ViewProducer producer = { .path = g_strdup(*path) };
                ExitStatus status;

                if (has_producer(producers, *path)) {
                        producer_clear(&producer);
                        continue;
                }
                status = producer_get(&producer, client);
                g_array_append_val(producers, producer);
                if (status)
                        return status;
        }
        return STATUS_OK;
}

ExitStatus view_list_producers(GArray **ret, const BusClient *client) {
        g_autoptr(GArray) producers = list_new(sizeof(ViewProducer), producer_clear);
        g_autoptr(GArray) sources = NULL;
        ExitStatus status;

        status = view_list_sources(&sources, client);
        for (guint i = 0; !status && i < sources->len; i++)
                status = add_producers(producers, client, &g_array_index(sources, ViewSource, i));
        if (!status)
                *ret = g_steal_pointer(&producers);
        return status;
}

/*
 * Sessions
 */

static void session_clear(gpointer item) {
        session_info_deinit(item);
}

static ExitStatus
read_sessions(sd_bus_message *message, GArray *sessions, const BusClient *client) {
        const char *path;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(otsus)");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'r', "otsus")) > 0) {
                SessionInfo info;
                ExitStatus status;

                r = sd_bus_message_read(message, "o", &path);
                if (r < 0)
                        break;
                session_info_init(&info);
                status = session_info_get(&info, client, path);
                g_array_append_val(sessions, info);
                if (status)
                        return status;
                r = sd_bus_message_skip(message, "tsus");
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

ExitStatus view_list_sessions(GArray **ret, const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(GArray) sessions = list_new(sizeof(SessionInfo), session_clear);
        ExitStatus status;

        status = bus_client_call(
                client, &reply, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListSessions", NULL);
        if (!status)
                status = read_sessions(reply, sessions, client);
        if (!status)
                *ret = g_steal_pointer(&sessions);
        return status;
}

char *view_user_name(uint32_t uid) {
        const struct passwd *user = getpwuid(uid);

        return user ? g_strdup(user->pw_name) : g_strdup_printf("%u", uid);
}
