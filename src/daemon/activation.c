/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How producers are started: by a call to the bus daemon or systemd, or a connection to the producer's socket. */

#include <errno.h>
#include <stdio.h>

#include "activation.h"
#include "bus/link/guard.h"
#include "shared/log.h"

typedef struct Activation {
        Activator *activator;
        size_t index;       /* in config->producers, and in the core */
        sd_bus *connection; /* to its socket; NULL: it has none */
        sd_bus_slot *slot;
        char *error; /* it failed, and why */
        List link;
} Activation;

static Activation *activation_free(Activation *activation) {
        sd_bus_slot_unref(activation->slot);
        sd_bus_close_unref(activation->connection);
        list_unlink(&activation->link);
        free(activation->error);
        free(activation);
        return NULL;
}

void activator_init(Activator *activator,
                    Service *service,
                    sd_event *event,
                    sd_bus *bus,
                    const DaemonConfig *config) {
        *activator = (Activator){
                .service = service,
                .event = event,
                .bus = bus,
                .config = config,
        };
        list_init(&activator->activations);
}

void activator_deinit(Activator *activator) {
        while (!list_is_empty(&activator->activations))
                activation_free(list_entry(activator->activations.next, Activation, link));
}

static int on_started(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Activation *activation = userdata;

        if (!sd_bus_message_is_method_error(reply, NULL)) {
                activation_free(activation);
                return 0;
        }
        activation->slot = sd_bus_slot_unref(activation->slot);
        /* The text is optional. */
        activation->error = strdup(sd_bus_message_get_error(reply)->message
                                           ?: sd_bus_message_get_error(reply)->name);
        if (!activation->error)
                activation_free(activation); /* the core's deadline ends the wait */
        return 0;
}

/* An answer on the socket means that the producer was started. */
static int activation_connect(Activation *activation, const ProducerEntry *entry) {
        int r;

        r = guard_connect(&activation->connection, activation->activator->event, entry->socket);
        return r < 0 ? r
                     : sd_bus_call_method_async(activation->connection,
                                                &activation->slot,
                                                NULL,
                                                "/",
                                                "org.freedesktop.DBus.Peer",
                                                "Ping",
                                                on_started,
                                                activation,
                                                NULL);
}

static int activation_send(Activation *activation, const ProducerEntry *entry) {
        sd_bus *bus = activation->activator->bus;

        if (!bus)
                return -ENOTCONN;
        if (entry->socket)
                return activation_connect(activation, entry);
        if (entry->bus_name)
                return sd_bus_call_method_async(bus,
                                                &activation->slot,
                                                "org.freedesktop.DBus",
                                                "/org/freedesktop/DBus",
                                                "org.freedesktop.DBus",
                                                "StartServiceByName",
                                                on_started,
                                                activation,
                                                "su",
                                                entry->bus_name,
                                                0);
        return sd_bus_call_method_async(bus,
                                        &activation->slot,
                                        "org.freedesktop.systemd1",
                                        "/org/freedesktop/systemd1",
                                        "org.freedesktop.systemd1.Manager",
                                        "StartUnit",
                                        on_started,
                                        activation,
                                        "ss",
                                        entry->unit,
                                        "replace");
}

void activator_start(Activator *activator, size_t index) {
        const ProducerEntry *entry = &activator->config->producers[index];
        Activation *activation;
        int r;

        activation = calloc(1, sizeof(*activation));
        if (!activation)
                return; /* the core's deadline ends the wait */
        activation->activator = activator;
        activation->index = index;
        list_append(&activator->activations, &activation->link);
        log_debug("starting %s for its data sources", entry->name);
        r = activation_send(activation, entry);
        if (r < 0)
                activation->error = strdup(strerror(-r));
}

void activator_settle(Activator *activator, uint64_t now) {
        Activation *activation;

        list_for_each (activation, &activator->activations, link) {
                const ProducerEntry *entry = &activator->config->producers[activation->index];

                if (activation->slot)
                        continue;
                log_warning("cannot start %s (%s): %s",
                            entry->name,
                            entry->bus_name ?: entry->unit ?: entry->socket,
                            activation->error ? activation->error : "out of memory");
                service_activation_failed(activator->service,
                                          activation->index,
                                          activation->error ? activation->error : "out of memory",
                                          now);
                activation_free(activation);
        }
}
