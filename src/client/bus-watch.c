/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/bus-watch.h"
#include "shared/names.h"

#define OWNER_MATCH                                                   \
        "type='signal',sender='" MESSAGE_BUS_NAME "',"                \
        "path='" MESSAGE_BUS_PATH "',"                                \
        "interface='" MESSAGE_BUS_NAME "',member='NameOwnerChanged'," \
        "arg0='" TRACING_BUS_NAME "'"

static int bus_watch_tell(BusWatch *watch) {
        if (watch->is_told)
                return 0;
        watch->is_told = true;
        return watch->on_gone(watch->userdata);
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        return bus_watch_tell(userdata);
}

/* A first owner is the service that our call has started. Peers can send such signals, too: the match does not keep
 * them out. */
static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *name, *old_owner, *new_owner;
        int r;

        if (!streq(sd_bus_message_get_sender(message) ?: "", MESSAGE_BUS_NAME))
                return 0;
        r = sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner);
        if (r < 0 || !*old_owner)
                return r < 0 ? r : 0;
        return bus_watch_tell(userdata);
}

int bus_watch_start(BusWatch *watch,
                    const BusClient *client,
                    int (*on_gone)(void *userdata),
                    void *userdata) {
        int r;

        *watch = (BusWatch){ .on_gone = on_gone, .userdata = userdata };
        r = sd_bus_match_signal(client->bus,
                                &watch->disconnected_match,
                                NULL,
                                "/org/freedesktop/DBus/Local",
                                "org.freedesktop.DBus.Local",
                                "Disconnected",
                                on_disconnected,
                                watch);
        if (r < 0 || !client->destination)
                return r < 0 ? r : 0;
        r = sd_bus_add_match(
                client->bus, &watch->owner_match, OWNER_MATCH, on_owner_changed, watch);
        return r < 0 ? r : 0;
}

void bus_watch_deinit(BusWatch *watch) {
        watch->disconnected_match = sd_bus_slot_unref(watch->disconnected_match);
        watch->owner_match = sd_bus_slot_unref(watch->owner_match);
}
