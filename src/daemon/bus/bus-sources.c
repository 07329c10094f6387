/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Collects (source, producer) pairs, sorts them, and writes each run of equal names as one entry: the time is
 * n log n in what is registered, whoever registered it.
 */

#include <errno.h>
#include <stdlib.h>

#include "bus/bus-producer.h"
#include "bus/bus-sources.h"
#include "core/policy.h"

typedef struct SourceEntry {
        const char *source;
        const BusProducer *producer; /* NULL: activatable */
        size_t index;                /* of the source in the producer */
} SourceEntry;

typedef struct SourceList {
        SourceEntry *entries;
        size_t n, n_allocated;
} SourceList;

typedef struct NameList {
        const char **names;
        size_t n, n_allocated;
} NameList;

static void source_list_deinit(SourceList *list) {
        free(list->entries);
}

static void name_list_deinit(NameList *list) {
        free(list->names);
}

static int
source_list_add(SourceList *list, const char *source, const BusProducer *producer, size_t index) {
        if (list->n == list->n_allocated) {
                const size_t n = MAX(list->n_allocated * 2, (size_t)64);
                SourceEntry *entries = reallocarray(list->entries, n, sizeof(*entries));

                if (!entries)
                        return -ENOMEM;
                list->entries = entries;
                list->n_allocated = n;
        }
        list->entries[list->n++] = (SourceEntry){ source, producer, index };
        return 0;
}

static int name_list_add(NameList *list, const char *name) {
        if (list->n == list->n_allocated) {
                const size_t n = MAX(list->n_allocated * 2, (size_t)64);
                const char **names = reallocarray(list->names, n, sizeof(*names));

                if (!names)
                        return -ENOMEM;
                list->names = names;
                list->n_allocated = n;
        }
        list->names[list->n++] = name;
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        return strcmp(((const SourceEntry *)a)->source, ((const SourceEntry *)b)->source);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int collect_activatable(SourceList *list, Service *service) {
        const Activatable *activatables;
        size_t n;
        int r;

        activatables = service_activatables(service, &n);
        for (size_t i = 0; i < n; i++) {
                for (char **source = activatables[i].sources; *source; source++) {
                        r = source_list_add(list, *source, NULL, 0);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int collect_running(SourceList *list, Bus *bus) {
        BusProducer *producer;
        int r;

        list_for_each (producer, &bus->producers, link) {
                if (!bus_producer_is_visible(producer, bus->caller))
                        continue;
                for (size_t i = 0; i < producer_n_sources(producer->producer); i++) {
                        r = source_list_add(
                                list, producer_source_name(producer->producer, i), producer, i);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int append_producers(sd_bus_message *reply, const SourceEntry *entries, size_t n) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "o");
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (entries[i].producer)
                        r = sd_bus_message_append(reply, "o", entries[i].producer->path);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int collect_categories(NameList *names, const SourceEntry *entries, size_t n) {
        int r;

        for (size_t i = 0; i < n; i++) {
                const char *const *at = NULL;

                if (entries[i].producer)
                        at = producer_source_categories(entries[i].producer->producer,
                                                        entries[i].index);
                for (; at && *at; at++) {
                        r = name_list_add(names, *at);
                        if (r < 0)
                                return r;
                }
        }
        if (names->n > 0)
                qsort(names->names, names->n, sizeof(*names->names), compare_names);
        return 0;
}

static int append_categories(sd_bus_message *reply, const SourceEntry *entries, size_t n) {
        _cleanup_(name_list_deinit) NameList names = {};
        int r;

        r = collect_categories(&names, entries, n);
        if (r < 0 || names.n == 0)
                return r;
        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "categories");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < names.n; i++)
                if (i == 0 || !streq(names.names[i], names.names[i - 1]))
                        r = sd_bus_message_append(reply, "s", names.names[i]);
        for (int level = 0; r >= 0 && level < 3; level++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_details(sd_bus_message *reply, Bus *bus, const SourceEntry *entries, size_t n) {
        const char *name = entries[0].source;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply,
                                          "{sv}",
                                          "activatable",
                                          "b",
                                          service_can_activate(bus->service, name));
        if (r >= 0)
                r = sd_bus_message_append(
                        reply, "{sv}", "system", "b", policy_source_is_reserved(name));
        if (r >= 0)
                r = append_categories(reply, entries, n);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_source(sd_bus_message *reply, Bus *bus, const SourceEntry *entries, size_t n) {
        int r;

        r = sd_bus_message_open_container(reply, 'r', "saoa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", entries[0].source);
        if (r >= 0)
                r = append_producers(reply, entries, n);
        if (r >= 0)
                r = append_details(reply, bus, entries, n);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_sources(sd_bus_message *reply, Bus *bus, const SourceList *list) {
        size_t n;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(saoa{sv})");
        for (size_t i = 0; r >= 0 && i < list->n; i += n) {
                n = 1;
                while (i + n < list->n &&
                       streq(list->entries[i].source, list->entries[i + n].source))
                        n++;
                r = append_source(reply, bus, list->entries + i, n);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_method_list_sources(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(source_list_deinit) SourceList list = {};
        Bus *bus = userdata;
        int r;

        r = collect_activatable(&list, bus->service);
        if (r >= 0)
                r = collect_running(&list, bus);
        if (r < 0)
                return r;
        if (list.n > 0)
                qsort(list.entries, list.n, sizeof(*list.entries), compare_entries);
        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = append_sources(reply, bus, &list);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
