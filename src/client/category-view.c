/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Category view: the categories of the programs that run */

#include <stddef.h>
#include <string.h>

#include "client/bus-properties.h"
#include "client/category-view.h"
#include "client/service-view.h"
#include "shared/macro.h"
#include "shared/names.h"

static void category_clear(gpointer item) {
        ViewCategory *category = item;

        g_free(category->name);
        g_free(category->description);
        g_strfreev(category->tags);
        g_strfreev(category->programs);
}

/* Path → "name (pid)". Programs that have ended since are left out. */
static GHashTable *name_programs(const BusClient *client) {
        GHashTable *programs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autoptr(GArray) producers = NULL;

        if (view_list_producers(&producers, client) != STATUS_OK)
                return programs;
        for (guint i = 0; i < producers->len; i++) {
                const ViewProducer *producer = &g_array_index(producers, ViewProducer, i);

                g_hash_table_insert(programs,
                                    g_strdup(producer->path),
                                    g_strdup_printf("%s (%u)", producer->name, producer->pid));
        }
        return programs;
}

static int read_programs(sd_bus_message *message, GHashTable *programs, char ***ret) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        const char *path;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "o");
        while (r >= 0 && (r = sd_bus_message_read(message, "o", &path)) > 0) {
                const char *program = g_hash_table_lookup(programs, path);

                if (program)
                        g_strv_builder_add(builder, program);
        }
        *ret = g_strv_builder_end(builder);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_category(sd_bus_message *message, ViewCategory *category, GHashTable *programs) {
        static const PropertyRow rows[] = {
                { "description", "s", offsetof(ViewCategory, description), property_read_string },
                { "tags", "as", offsetof(ViewCategory, tags), property_read_strings },
        };
        int r;

        r = property_read_string(message, &category->name);
        if (r >= 0)
                r = read_programs(message, programs, &category->programs);
        if (r >= 0)
                r = properties_read(message, rows, ARRAY_SIZE(rows), category);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_categories(sd_bus_message *message, GArray *categories, GHashTable *programs) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(saoa{sv})");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'r', "saoa{sv}")) > 0) {
                ViewCategory category = { 0 };

                r = read_category(message, &category, programs);
                g_array_append_val(
                        categories,
                        category); /* an unfinished element is freed like a finished one */
        }
        return r;
}

/* The error from a service that is older than the method. */
static ExitStatus list_names(GArray *categories, const BusClient *client) {
        g_autoptr(GArray) sources = NULL;
        ExitStatus status = view_list_sources(&sources, client);

        for (guint i = 0; !status && i < sources->len; i++) {
                const ViewSource *source = &g_array_index(sources, ViewSource, i);
                char **name = source->categories;

                if (!streq(source->name, TRACING_TRACK_EVENT_SOURCE))
                        continue;
                for (; name && *name; name++) {
                        ViewCategory category = { .name = g_strdup(*name) };

                        g_array_append_val(categories, category);
                }
        }
        return status;
}

ExitStatus view_list_categories(GArray **ret, const BusClient *client) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        g_autoptr(GArray) categories = g_array_new(FALSE, TRUE, sizeof(ViewCategory));
        g_autoptr(GHashTable) programs = NULL;
        ExitStatus status = STATUS_OK;
        int r;

        g_array_set_clear_func(categories, category_clear);
        r = bus_client_new_call(
                client, &call, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListCategories");
        if (r >= 0)
                r = sd_bus_call(client->bus, call, BUS_CALL_TIMEOUT_USEC, &error, &reply);
        if (r >= 0) {
                programs = name_programs(client);
                r = read_categories(reply, categories, programs);
        }
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_METHOD))
                status = list_names(categories, client);
        else if (r < 0)
                status = sd_bus_error_is_set(&error) ? bus_client_say_error(&error)
                                                     : bus_client_say_errno(r);
        if (!status)
                *ret = g_steal_pointer(&categories);
        return status;
}
