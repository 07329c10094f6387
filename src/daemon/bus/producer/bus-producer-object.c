/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The object /org/desktrace/Tracing1/producer/N
 */

#include <errno.h>

#include "bus/link/bus-property.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-producer.h"
#include "bus/producer/bus-producer-object.h"

PROPERTY(get_name) {
        BusProducer *producer = userdata;

        return sd_bus_message_append(reply, "s", producer_name(producer->producer));
}

PROPERTY(get_uid) {
        BusProducer *producer = userdata;

        return sd_bus_message_append(
                reply, "u", (uint32_t)producer_identity(producer->producer)->uid);
}

PROPERTY(get_pid) {
        BusProducer *producer = userdata;

        return sd_bus_message_append(
                reply, "u", (uint32_t)producer_identity(producer->producer)->pid);
}

static const ProducerHome *get_home(void *userdata) {
        BusProducer *producer = userdata;

        producer_home_read(&producer->home,
                           producer_identity(producer->producer)->pid,
                           producer->has_other_pids);
        return &producer->home;
}

PROPERTY(get_unit) {
        return sd_bus_message_append(reply, "s", get_home(userdata)->unit ?: "");
}

PROPERTY(get_app) {
        return sd_bus_message_append(reply, "s", get_home(userdata)->app ?: "");
}

PROPERTY(get_container) {
        return sd_bus_message_append(reply, "s", get_home(userdata)->container ?: "");
}

PROPERTY(get_sources) {
        BusProducer *producer = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "s");
        if (r < 0)
                return r;
        for (size_t i = 0; i < producer_n_sources(producer->producer); i++) {
                r = sd_bus_message_append(reply, "s", producer_source_name(producer->producer, i));
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

/* Not for producers of the system: everybody sees them, and it would reveal that somebody records. */
PROPERTY(get_shared_memory) {
        const BusProducer *producer = userdata;
        const Client *caller = producer->bus->caller;
        const bool is_own = !caller || client_sees_all(caller) ||
                            caller->identity.uid == producer_identity(producer->producer)->uid;

        return sd_bus_message_append(
                reply, "t", is_own ? (uint64_t)producer_memory_bytes(producer->producer) : 0);
}

const sd_bus_vtable bus_producer_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("UID", "u", get_uid, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("PID", "u", get_pid, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Unit", "s", get_unit, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("App", "s", get_app, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Container", "s", get_container, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Sources", "as", get_sources, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("SharedMemory", "t", get_shared_memory, 0, 0),
        SD_BUS_VTABLE_END,
};

int bus_producer_find(sd_bus *connection,
                      const char *path,
                      const char *interface,
                      void *userdata,
                      void **ret_found,
                      sd_bus_error *error) {
        Bus *bus = userdata;
        BusProducer *producer;

        list_for_each (producer, &bus->producers, link) {
                if (!streq(producer->path, path))
                        continue;
                if (!bus->caller || !bus_producer_is_visible(producer, bus->caller))
                        return 0;
                *ret_found = producer;
                return 1;
        }
        return 0;
}

int bus_producer_enumerate(sd_bus *connection,
                           const char *prefix,
                           void *userdata,
                           char ***ret_nodes,
                           sd_bus_error *error) {
        Bus *bus = userdata;
        BusProducer *producer;
        char **nodes;
        size_t n = 0;

        list_for_each (producer, &bus->producers, link) {
                n++;
        }
        nodes = calloc(n + 1, sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        n = 0;
        list_for_each (producer, &bus->producers, link) {
                if (!bus->caller || !bus_producer_is_visible(producer, bus->caller))
                        continue;
                nodes[n] = strdup(producer->path);
                if (!nodes[n])
                        break; /* sd-bus frees what it gets, so it gets the nodes that were made */
                n++;
        }
        *ret_nodes = nodes;
        return 0;
}

void bus_producer_sources_changed(BusProducer *producer) {
        if (!producer->is_announced) {
                producer->is_announced = true;
                bus_emit_producer_added(producer);
                return;
        }
        bus_emit_producer_changed(producer, (const char *const[]){ "Sources", NULL });
}
