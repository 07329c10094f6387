/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus watch: notices when the service disappears, and when it is back */

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
        BusWatch *watch = userdata;

        watch->is_closed = true;
        return bus_watch_tell(watch);
}

static int bus_watch_tell_back(BusWatch *watch) {
        if (!watch->is_told || !watch->on_back)
                return 0;
        watch->is_told = false;
        return watch->on_back(watch->userdata);
}

/* A first owner is the service that this client's call has started. Peers can send such signals, too: the match does
 * not keep them out. */
static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        BusWatch *watch = userdata;
        const char *name, *old_owner, *new_owner;
        int r;

        if (!streq(sd_bus_message_get_sender(message) ?: "", MESSAGE_BUS_NAME))
                return 0;
        r = sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner);
        if (r >= 0 && *old_owner)
                r = bus_watch_tell(watch);
        if (r >= 0 && *new_owner)
                r = bus_watch_tell_back(watch);
        return r < 0 ? r : 0;
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

void bus_watch_go_on(BusWatch *watch, int (*on_back)(void *userdata)) {
        watch->on_back = on_back;
}

bool bus_watch_is_closed(const BusWatch *watch) {
        return watch->is_closed;
}

/* Only the bus itself sends this error for another peer: when the service has gone before its reply, or had not started
 * yet. */
bool bus_watch_has_lost(sd_bus_message *reply) {
        static const char *const errors[] = {
                SD_BUS_ERROR_NO_REPLY,
                SD_BUS_ERROR_SERVICE_UNKNOWN,
                SD_BUS_ERROR_NAME_HAS_NO_OWNER,
        };

        if (!streq(sd_bus_message_get_sender(reply) ?: "", MESSAGE_BUS_NAME))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                if (sd_bus_message_is_method_error(reply, errors[i]) > 0)
                        return true;
        return false;
}

void bus_watch_deinit(BusWatch *watch) {
        watch->disconnected_match = sd_bus_slot_unref(watch->disconnected_match);
        watch->owner_match = sd_bus_slot_unref(watch->owner_match);
}
