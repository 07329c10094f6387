/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Manager bus: a data source's own connection to a message bus */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "managers/manager-bus.h"
#include "shared/log.h"
#include "shared/names.h"

#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"
#define SYSTEM_BUS_SOCKET    "/run/dbus/system_bus_socket"

static int refuse_no_system_bus(char **ret_error) {
        return probe_refuse(ret_error,
                            "there is no system bus: %s does not exist; start dbus.service",
                            SYSTEM_BUS_SOCKET);
}

/* Only looks for files; it does not connect yet. */
int manager_bus_check(ManagerBusKind kind, char **ret_error) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        char path[256];

        if (kind == MANAGER_BUS_SYSTEM)
                return getenv("DBUS_SYSTEM_BUS_ADDRESS") || access(SYSTEM_BUS_SOCKET, F_OK) == 0
                               ? 0
                               : refuse_no_system_bus(ret_error);
        snprintf(path, sizeof(path), "%s/bus", runtime ?: "");
        if (getenv("DBUS_SESSION_BUS_ADDRESS") || (runtime && access(path, F_OK) == 0))
                return 0;
        return probe_refuse(ret_error, "there is no session bus; log in to a session that has one");
}

int manager_bus_open(ManagerBus *bus,
                     ManagerBusKind kind,
                     const char *description,
                     char **ret_error) {
        int r;

        *bus = (ManagerBus){};
        r = sd_event_new(&bus->event);
        if (r < 0)
                return r;
        r = kind == MANAGER_BUS_SYSTEM ? sd_bus_open_system_with_description(&bus->bus, description)
                                       : sd_bus_open_user_with_description(&bus->bus, description);
        if (r < 0 && kind == MANAGER_BUS_SYSTEM)
                return probe_refuse(
                        ret_error, "cannot connect to the system bus: %s", strerror(-r));
        if (r < 0)
                return probe_refuse(
                        ret_error, "cannot connect to the session bus: %s", strerror(-r));
        (void)sd_bus_set_exit_on_disconnect(bus->bus, false);
        r = sd_bus_set_method_call_timeout(bus->bus, MANAGER_BUS_TIMEOUT_US);
        return r < 0 ? r : MIN(sd_bus_attach_event(bus->bus, bus->event, 0), 0);
}

void manager_bus_close(ManagerBus *bus) {
        if (bus->bus)
                sd_bus_detach_event(bus->bus);
        sd_bus_close_unref(bus->bus); /* does not wait for unsent messages */
        sd_event_unref(bus->event);
        *bus = (ManagerBus){};
}

int manager_bus_fd(const ManagerBus *bus) {
        return sd_event_get_fd(bus->event);
}

bool manager_bus_is_open(const ManagerBus *bus) {
        return sd_bus_is_open(bus->bus) > 0;
}

bool manager_bus_poll(ManagerBus *bus) {
        for (int i = 0; i < MANAGER_BUS_TURNS_MAX; i++) {
                int r = sd_event_prepare(bus->event);

                if (r == 0)
                        r = sd_event_wait(bus->event, 0);
                if (r > 0)
                        r = sd_event_dispatch(bus->event);
                if (r < 0)
                        log_notice("cannot read from the message bus: %s", strerror(-r));
                if (r <= 0)
                        return false;
        }
        return true;
}

int manager_bus_send(ManagerBus *bus,
                     sd_bus_message *call,
                     sd_bus_message_handler_t answered,
                     void *userdata,
                     sd_bus_destroy_t destroy) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        int r;

        if (!manager_bus_has_room(bus))
                return -EBUSY;
        r = sd_bus_call_async(bus->bus, &slot, call, answered, userdata, MANAGER_BUS_TIMEOUT_US);
        if (r < 0)
                return r;
        bus->n_calls++;
        (void)sd_bus_slot_set_destroy_callback(slot, destroy);
        (void)sd_bus_slot_set_floating(slot, true);
        return 0;
}

/* Both arguments are strings; a method has as many as are not NULL. */
static int call_with(ManagerBus *bus,
                     sd_bus_message **ret,
                     const char *const target[static 4],
                     const char *first,
                     const char *second) {
        int r;

        if (!manager_bus_has_room(bus))
                return -EBUSY;
        r = sd_bus_message_new_method_call(
                bus->bus, ret, target[0], target[1], target[2], target[3]);
        if (r >= 0 && first)
                r = sd_bus_message_append(*ret, "s", first);
        if (r >= 0 && second)
                r = sd_bus_message_append(*ret, "s", second);
        return r;
}

int manager_bus_get(ManagerBus *bus,
                    const char *service,
                    const char *path,
                    const char *interface,
                    const char *property,
                    sd_bus_message_handler_t answered,
                    void *userdata,
                    sd_bus_destroy_t destroy) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const char *const target[] = {
                service, path, PROPERTIES_INTERFACE, property ? "Get" : "GetAll"
        };
        int r = call_with(bus, &call, target, interface, property);

        return r < 0 ? r : manager_bus_send(bus, call, answered, userdata, destroy);
}

int manager_bus_call(ManagerBus *bus,
                     const char *service,
                     const char *path,
                     const char *interface,
                     const char *method,
                     sd_bus_message_handler_t answered,
                     void *userdata) {
        return manager_bus_ask(
                bus, service, path, interface, method, NULL, answered, userdata, NULL);
}

int manager_bus_ask(ManagerBus *bus,
                    const char *service,
                    const char *path,
                    const char *interface,
                    const char *method,
                    const char *argument,
                    sd_bus_message_handler_t answered,
                    void *userdata,
                    sd_bus_destroy_t destroy) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r = call_with(
                bus, &call, (const char *[]){ service, path, interface, method }, argument, NULL);

        return r < 0 ? r : manager_bus_send(bus, call, answered, userdata, destroy);
}

/*
 * Whose signals count
 */

static void set_owner(ManagerBus *bus, const char *owner) {
        if ((size_t)snprintf(bus->owner, sizeof(bus->owner), "%s", owner) >= sizeof(bus->owner))
                bus->owner[0] = '\0';
}

/* sd-bus does not track owners: it takes a signal from any peer for one of the service that a rule names. */
static int drop_foreign(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const ManagerBus *bus = userdata;
        const char *sender = sd_bus_message_get_sender(message);

        return sd_bus_message_is_signal(message, NULL, NULL) && sender && sender[0] == ':' &&
               !streq(sender, bus->owner);
}

static int on_owner(sd_bus_message *answer, void *userdata, sd_bus_error *error) {
        const char *owner;

        manager_bus_answered(userdata);
        if (!sd_bus_message_is_method_error(answer, NULL) &&
            sd_bus_message_read(answer, "s", &owner) > 0)
                set_owner(userdata, owner);
        return 0;
}

static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *owner;

        if (sd_bus_message_read(message, "sss", NULL, NULL, &owner) > 0)
                set_owner(userdata, owner);
        return 0;
}

static int ask_owner(ManagerBus *bus, const char *service) {
        return manager_bus_ask(bus,
                               MESSAGE_BUS_NAME,
                               MESSAGE_BUS_PATH,
                               MESSAGE_BUS_NAME,
                               "GetNameOwner",
                               service,
                               on_owner,
                               bus,
                               NULL);
}

int manager_bus_follow(ManagerBus *bus, const char *service) {
        char rule[512];
        int r;

        snprintf(rule,
                 sizeof(rule),
                 "type='signal',sender='" MESSAGE_BUS_NAME "',interface='" MESSAGE_BUS_NAME
                 "',member='NameOwnerChanged',arg0='%s'",
                 service);
        r = sd_bus_add_filter(bus->bus, NULL, drop_foreign, bus);
        if (r >= 0)
                r = manager_bus_match(bus, rule, on_owner_changed, bus);
        return r < 0 ? r : ask_owner(bus, service);
}

int manager_bus_match(ManagerBus *bus,
                      const char *rule,
                      sd_bus_message_handler_t handler,
                      void *userdata) {
        return MIN(sd_bus_add_match_async(bus->bus, NULL, rule, handler, NULL, userdata), 0);
}

bool manager_bus_is_answer(sd_bus_message *answer, const char *what) {
        const sd_bus_error *error = sd_bus_message_get_error(answer);

        if (error)
                log_notice("%s: %s", what, error->message ?: error->name);
        return !error;
}
