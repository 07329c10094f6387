/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Source list: the program's data sources, their options, and how they are described to the service */

#include <errno.h>

#include "lib/source-private.h"
#include "shared/assert-in-tests.h"
#include "shared/utf8.h"

#define UNAVAILABLE_BYTES_MAX 1024
#define CATEGORY_BYTES_MAX    1024

/*
 * Options
 */

static char **categories_free(char **categories) {
        for (char **at = categories; at && *at; at++)
                free(*at);
        free(categories);
        return NULL;
}

static int categories_copy(char ***ret, const char *const *categories) {
        char **copy;
        size_t n = 0;

        *ret = NULL;
        if (!categories)
                return 0;
        while (categories[n])
                n++;
        copy = calloc(n + 1, sizeof(*copy));
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                copy[i] = utf8_copy_line(categories[i], CATEGORY_BYTES_MAX);
                if (!copy[i]) {
                        categories_free(copy);
                        return -ENOMEM;
                }
        }
        *ret = copy;
        return 0;
}

int source_set_options(dt_source *source, const dt_source_options *options) {
        _cleanup_(bytes_deinit) Bytes descriptor = { 0 }, fields = { 0 };
        _cleanup_(freep) char *unavailable = NULL;
        char **categories;

        if (!options)
                return 0;
        if (options->unavailable &&
            !(unavailable = utf8_copy_line(options->unavailable, UNAVAILABLE_BYTES_MAX)))
                return -ENOMEM;
        if (bytes_append(&descriptor, options->descriptor, options->n_descriptor) < 0 ||
            bytes_append(&fields,
                         options->packet_fields,
                         options->n_packet_fields * sizeof(uint32_t)) < 0 ||
            categories_copy(&categories, options->categories) < 0)
                return -ENOMEM;
        bytes_deinit(&source->descriptor);
        bytes_deinit(&source->packet_fields);
        categories_free(source->categories);
        source->descriptor = descriptor;
        source->packet_fields = fields;
        descriptor = fields = (Bytes){ 0 };
        source->categories = categories;
        free(source->unavailable);
        source->unavailable = TAKE(unavailable);
        source->no_flush = options->no_flush;
        return 0;
}

dt_source *source_free(dt_source *source) {
        if (!source)
                return NULL;
        assert_in_tests(list_is_empty(&source->instances));
        assert_in_tests(!list_is_linked(&source->link));
        bytes_deinit(&source->descriptor);
        bytes_deinit(&source->packet_fields);
        categories_free(source->categories);
        free(source->unavailable);
        free(source->name);
        free(source);
        return NULL;
}

int source_new(dt_source **ret,
               const char *name,
               const dt_source_options *options,
               const dt_source_ops *ops,
               void *userdata) {
        _cleanup_(source_freep) dt_source *source = calloc(1, sizeof(*source));

        if (!source)
                return -ENOMEM;
        source->ops = ops;
        source->userdata = userdata;
        list_init(&source->link);
        list_init(&source->instances);
        source->name = strdup(name);
        if (!source->name || source_set_options(source, options) < 0)
                return -ENOMEM;
        *ret = TAKE(source);
        return 0;
}

/*
 * The list
 */

dt_source *source_find(const char *name) {
        dt_source *source;

        list_for_each (source, &library.sources, link)
                if (streq(source->name, name) && !source->doomed)
                        return source;
        return NULL;
}

void source_set_dirty(dt_source *source) {
        source->registered_on = 0;
        library.sources_changed = true;
        library_wake();
}

/*
 * Registration
 */

static int append_array(sd_bus_message *call, const char *name, char type, const Bytes *elements) {
        const char variant[] = { 'a', type, 0 };
        int r;

        if (elements->n == 0)
                return 0;
        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", name);
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', variant);
        if (r >= 0)
                r = sd_bus_message_append_array(call, type, elements->data, elements->n);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r;
}

static int append_details(sd_bus_message *call, const dt_source *source) {
        int r;

        r = append_array(call, "descriptor", 'y', &source->descriptor);
        if (r >= 0)
                r = append_array(call, "packet-fields", 'u', &source->packet_fields);
        if (r < 0)
                return r;
        if (source->no_flush) {
                r = sd_bus_message_append(call, "{sv}", "no-flush", "b", 1);
                if (r < 0)
                        return r;
        }
        if (source->unavailable) {
                r = sd_bus_message_append(call, "{sv}", "unavailable", "s", source->unavailable);
                if (r < 0)
                        return r;
        }
        if (!source->categories)
                return 0;
        r = sd_bus_message_open_container(call, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(call, "s", "categories");
        if (r >= 0)
                r = sd_bus_message_open_container(call, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_append_strv(call, source->categories);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        return r;
}

static int append_source(sd_bus_message *call, dt_source *source, unsigned connection) {
        int r;

        r = sd_bus_message_append(call, "s", source->name);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "{sv}");
        if (r < 0)
                return r;
        r = append_details(call, source);
        if (r < 0)
                return r;
        source->registered_on |= 1u << connection;
        return sd_bus_message_close_container(call);
}

int sources_append(sd_bus_message *call, unsigned connection) {
        dt_source *source;
        int r;

        r = sd_bus_message_open_container(call, 'a', "(sa{sv})");
        if (r < 0)
                return r;
        list_for_each (source, &library.sources, link) {
                r = sd_bus_message_open_container(call, 'r', "sa{sv}");
                if (r >= 0)
                        r = append_source(call, source, connection);
                if (r >= 0)
                        r = sd_bus_message_close_container(call);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(call);
}

int sources_append_next(sd_bus_message *call, unsigned connection) {
        dt_source *source;

        list_for_each (source, &library.sources, link) {
                int r;

                if (source->registered_on & 1u << connection || source->doomed)
                        continue;
                r = append_source(call, source, connection);
                return r < 0 ? r : 1;
        }
        return 0;
}

void sources_forget_registration(unsigned connection) {
        dt_source *source;

        library_lock();
        list_for_each (source, &library.sources, link)
                source->registered_on &= ~(1u << connection);
        library_unlock();
}
