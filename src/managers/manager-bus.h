/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Manager bus: a data source's own connection to a message bus
 *
 * A data source is polled and must not wait. So no function here waits: calls are answered later or time out, and
 * the connection lives in an event loop of its own, which runs when the source is polled. manager_bus_fd() is
 * readable when that is due. The peer may never answer: at most MANAGER_BUS_CALLS_MAX calls wait at a time, and each
 * for MANAGER_BUS_TIMEOUT_US.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "shared/macro.h"

#define MANAGER_BUS_CALLS_MAX  256
#define MANAGER_BUS_TIMEOUT_US UINT64_C(3000000)
#define MANAGER_BUS_TURNS_MAX \
        256 /* messages in one poll; more wait for the next one, which comes at once */
#define MANAGER_BUS_OWNER_BYTES \
        256 /* of a connection's name: D-Bus has names of at most 255 bytes */

typedef enum ManagerBusKind {
        MANAGER_BUS_SYSTEM,
        MANAGER_BUS_USER,
} ManagerBusKind;

typedef struct ManagerBus {
        sd_event *event;
        sd_bus *bus;
        unsigned n_calls;                    /* calls that wait for their answers */
        char owner[MANAGER_BUS_OWNER_BYTES]; /* the connection whose signals count; "": none does */
} ManagerBus;

/* Whether there is such a bus. Returns 0, or PROBE_E_REFUSED with the reason in *ret_error. */
int manager_bus_check(ManagerBusKind kind, char **ret_error);

/* Returns 0, PROBE_E_REFUSED or a negative errno. */
int manager_bus_open(ManagerBus *bus,
                     ManagerBusKind kind,
                     const char *description,
                     char **ret_error);
void manager_bus_close(ManagerBus *bus);

int manager_bus_fd(const ManagerBus *bus);
bool manager_bus_is_open(const ManagerBus *bus);

/* Handles the messages that have arrived. Returns whether there may be more. */
bool manager_bus_poll(ManagerBus *bus);

static inline bool manager_bus_has_room(const ManagerBus *bus) {
        return bus->n_calls < MANAGER_BUS_CALLS_MAX;
}

/* These return 0 or a negative errno; -EBUSY: MANAGER_BUS_CALLS_MAX wait. The answer, which may be an error, goes to
 * `answered`, which calls manager_bus_answered() first. `destroy` (NULL: none) is called once for `userdata` after it,
 * or if there is no answer because the connection is closed; but not after an error of these. */

/* Any call. */
int manager_bus_send(ManagerBus *bus,
                     sd_bus_message *call,
                     sd_bus_message_handler_t answered,
                     void *userdata,
                     sd_bus_destroy_t destroy);
/* Asks for one property, or for all of them if `property` is NULL. */
int manager_bus_get(ManagerBus *bus,
                    const char *service,
                    const char *path,
                    const char *interface,
                    const char *property,
                    sd_bus_message_handler_t answered,
                    void *userdata,
                    sd_bus_destroy_t destroy);
/* Calls a method without arguments. */
int manager_bus_call(ManagerBus *bus,
                     const char *service,
                     const char *path,
                     const char *interface,
                     const char *method,
                     sd_bus_message_handler_t answered,
                     void *userdata);
/* Calls a method with one string argument, or with none if that is NULL. */
int manager_bus_ask(ManagerBus *bus,
                    const char *service,
                    const char *path,
                    const char *interface,
                    const char *method,
                    const char *argument,
                    sd_bus_message_handler_t answered,
                    void *userdata,
                    sd_bus_destroy_t destroy);
static inline void manager_bus_answered(ManagerBus *bus) {
        bus->n_calls--;
}

/* From now on, only signals from the bus itself and from the service's owner are handled. A match rule with the
 * service's name does not ensure that, as buses also deliver messages that any peer sends to us directly. Call it
 * before adding rules. Returns 0 or a negative errno. */
int manager_bus_follow(ManagerBus *bus, const char *service);

int manager_bus_match(ManagerBus *bus,
                      const char *rule,
                      sd_bus_message_handler_t handler,
                      void *userdata);

/* Whether a reply is no error; an error is logged together with the question. */
bool manager_bus_is_answer(sd_bus_message *answer, const char *what);
