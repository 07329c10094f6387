/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the names of triggers, and who sends them, and passes them to the core. */

#include "bus/session/bus-trigger.h"
#include "bus/link/bus-error.h"
#include "bus/link/names-read.h"
#include "bus/link/option-reader.h"
#include "bus/object/bus-producer.h"
#include "core/model/trigger-history.h"
#include "core/producer.h"
#include "core/trigger.h"

typedef struct TriggerArguments {
        char **names;
        char *producer;
        uint64_t given;
} TriggerArguments;

static const OptionField trigger_fields[] = {
        { "producer", "s", offsetof(TriggerArguments, producer) },
};

static const OptionTable trigger_table = { "ActivateTriggers",
                                           trigger_fields,
                                           ARRAY_SIZE(trigger_fields) };

static void trigger_arguments_deinit(TriggerArguments *arguments) {
        names_free(arguments->names);
        free(arguments->producer);
}

static int trigger_check(const TriggerArguments *arguments, sd_bus_error *error) {
        if (arguments->producer && strlen(arguments->producer) > PRODUCER_NAME_MAX)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "the option \"producer\" is longer than %d bytes; shorten it",
                                     PRODUCER_NAME_MAX);
        return 0;
}

/* A producer name counts for filters only if the caller has registered under it. */
static TriggerSender trigger_sender(const Client *client, const TriggerArguments *arguments) {
        return (TriggerSender){
                .identity = client->identity,
                .producer = client->producer ? producer_name(client->producer->producer) : NULL,
                .name = arguments->producer,
        };
}

int bus_method_activate_triggers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(trigger_arguments_deinit) TriggerArguments arguments = {};
        size_t n_names = 0, n_sessions;
        TriggerSender sender;
        Bus *bus = userdata;
        int r;

        r = names_read(&arguments.names, &n_names, message, TRIGGER_NAMES_MAX);
        if (r == NAMES_E_TOO_MANY)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "one call may send %d triggers (TRIGGER_NAMES_MAX), and this "
                                     "one has more; send the others in another call",
                                     TRIGGER_NAMES_MAX);
        if (r >= 0)
                r = options_read(&trigger_table, &arguments, &arguments.given, message, error);
        if (r < 0)
                return r;
        r = trigger_check(&arguments, error);
        if (r < 0)
                return r;
        sender = trigger_sender(bus->caller, &arguments);
        r = service_activate_triggers(bus->service,
                                      &sender,
                                      (const char *const *)arguments.names,
                                      n_names,
                                      &n_sessions,
                                      bus_now(bus));
        if (r == TRIGGER_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "uid %u sends too many triggers: %d at once and %d a second "
                                     "are allowed (TRIGGER_SENDS_MAX, TRIGGER_SENDS_RATE); wait",
                                     (unsigned)bus->caller->identity.uid,
                                     TRIGGER_SENDS_MAX,
                                     TRIGGER_SENDS_RATE);
        if (r < 0)
                return r;
        return sd_bus_reply_method_return(message, "u", (uint32_t)n_sessions);
}
