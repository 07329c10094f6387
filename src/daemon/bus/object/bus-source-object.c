/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The object /org/desktrace/Tracing1/source/<name>. Its properties cover the producers that the caller may see.
 */

#include <errno.h>

#include "bus/link/bus-property.h"
#include "bus/object/bus-source.h"
#include "core/model/policy.h"
#include "shared/names.h"

PROPERTY(get_name) {
        const BusSource *source = userdata;

        return sd_bus_message_append(reply, "s", source->name);
}

PROPERTY(get_producers) {
        const BusSource *source = userdata;

        return bus_source_append_producers(reply, source, source->bus->caller);
}

PROPERTY(get_activatable) {
        const BusSource *source = userdata;

        return sd_bus_message_append(reply, "b", source->is_permanent);
}

PROPERTY(get_system) {
        const BusSource *source = userdata;

        return sd_bus_message_append(
                reply, "b", policy_source_is_reserved(source->bus->info, source->name));
}

PROPERTY(get_categories) {
        _cleanup_(freep) const char **names = NULL;
        const BusSource *source = userdata;
        size_t n;
        int r;

        r = bus_source_categories(&names, &n, source, source->bus->caller);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(reply, "s", names[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

PROPERTY(get_unavailable) {
        const BusSource *source = userdata;

        return sd_bus_message_append(
                reply, "s", bus_source_unavailable(source, source->bus->caller) ?: "");
}

#define CONST   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

const sd_bus_vtable bus_source_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, CONST),
        SD_BUS_PROPERTY("Producers", "ao", get_producers, 0, CHANGES),
        SD_BUS_PROPERTY("Activatable", "b", get_activatable, 0, CONST),
        SD_BUS_PROPERTY("System", "b", get_system, 0, CONST),
        SD_BUS_PROPERTY("Categories", "as", get_categories, 0, CHANGES),
        SD_BUS_PROPERTY("Unavailable", "s", get_unavailable, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_source_find(sd_bus *connection,
                    const char *path,
                    const char *interface,
                    void *userdata,
                    void **ret_found,
                    sd_bus_error *error) {
        _cleanup_(freep) char *name = NULL;
        Bus *bus = userdata;
        BusSource *source;
        int r;

        r = sd_bus_path_decode(path, TRACING_SOURCE_PATH, &name);
        if (r <= 0)
                return r;
        source = bus_source_by_name(bus, name);
        if (!source || !bus->caller || !bus_source_exists(source, bus->caller))
                return 0;
        *ret_found = source;
        return 1;
}

typedef struct NodeList {
        char **nodes; /* NULL-terminated */
        size_t n, n_allocated;
        const Client *viewer;
        bool has_failed;
} NodeList;

static int node_list_reserve(NodeList *list) {
        const size_t n_wanted = MAX(2 * list->n_allocated, (size_t)16);
        char **nodes;

        if (list->n + 1 < list->n_allocated)
                return 0;
        nodes = reallocarray(list->nodes, n_wanted, sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        list->nodes = nodes;
        list->n_allocated = n_wanted;
        return 0;
}

static void add_node(BusSource *source, void *userdata) {
        NodeList *list = userdata;

        if (list->has_failed || !bus_source_exists(source, list->viewer))
                return;
        list->has_failed =
                node_list_reserve(list) < 0 ||
                sd_bus_path_encode(TRACING_SOURCE_PATH, source->name, &list->nodes[list->n]) < 0;
        if (list->has_failed)
                return; /* sd-bus frees what it gets, so it gets the nodes that were made */
        list->nodes[++list->n] = NULL;
}

int bus_source_enumerate(sd_bus *connection,
                         const char *prefix,
                         void *userdata,
                         char ***ret_nodes,
                         sd_bus_error *error) {
        Bus *bus = userdata;
        NodeList list = { .viewer = bus->caller };

        if (node_list_reserve(&list) < 0)
                return -ENOMEM;
        list.nodes[0] = NULL;
        if (bus->caller)
                bus_source_for_each(bus, add_node, &list);
        *ret_nodes = list.nodes;
        return 0;
}
