/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists that are made for one caller: of the sources that it may see, and of their categories. */

#include <errno.h>
#include <stdlib.h>

#include "bus/object/bus-categories.h"
#include "bus/object/bus-producer.h"
#include "bus/object/bus-source.h"
#include "bus/object/bus-sources.h"
#include "core/model/policy.h"

typedef struct Listing {
        sd_bus_message *reply;
        const Client *viewer;
        int r;
} Listing;

static int append_categories(sd_bus_message *reply, const BusSource *source, const Client *viewer) {
        _cleanup_(freep) const char **names = NULL;
        size_t n;
        int r;

        r = bus_source_categories(&names, &n, source, viewer);
        if (r < 0 || n == 0)
                return r;
        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "categories");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(reply, "s", names[i]);
        for (int level = 0; r >= 0 && level < 3; level++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_details(sd_bus_message *reply, const BusSource *source, const Client *viewer) {
        const char *why = bus_source_unavailable(source, viewer);
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}", "activatable", "b", source->is_permanent);
        if (r >= 0)
                r = sd_bus_message_append(
                        reply,
                        "{sv}",
                        "system",
                        "b",
                        policy_source_is_reserved(source->bus->info, source->name));
        if (r >= 0 && why)
                r = sd_bus_message_append(reply, "{sv}", "unavailable", "s", why);
        if (r >= 0)
                r = append_categories(reply, source, viewer);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_source(sd_bus_message *reply, const BusSource *source, const Client *viewer) {
        int r;

        r = sd_bus_message_open_container(reply, 'r', "saoa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", source->name);
        if (r >= 0)
                r = bus_source_append_producers(reply, source, viewer);
        if (r >= 0)
                r = append_details(reply, source, viewer);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static void list_source(BusSource *source, void *userdata) {
        Listing *listing = userdata;

        if (listing->r >= 0 && bus_source_exists(source, listing->viewer))
                listing->r = append_source(listing->reply, source, listing->viewer);
}

int bus_method_list_sources(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Bus *bus = userdata;
        Listing listing = { .viewer = bus->caller };
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(saoa{sv})");
        if (r < 0)
                return r;
        listing.reply = reply;
        bus_source_for_each(bus, list_source, &listing);
        r = listing.r < 0 ? listing.r : sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

int bus_method_list_categories(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(category_rows_deinit) CategoryRows rows = {};
        Bus *bus = userdata;
        BusProducer *producer;
        int r = 0;

        list_for_each (producer, &bus->producers, link) {
                if (r == 0 && bus_producer_is_visible(producer, bus->caller))
                        r = category_rows_add(&rows, producer->producer, producer->path);
        }
        if (r == 0)
                r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = category_rows_append(&rows, reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
