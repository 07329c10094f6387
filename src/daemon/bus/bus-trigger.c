/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A snapshot that a trigger asked for belongs to nobody's connection: it lives for SESSION_LINGER_NS, and less long
 * when many come and nobody reads them. Signals are sent from within the core, which sd-bus only queues; sessions are
 * freed when the core has returned.
 */

#include <errno.h>
#include <inttypes.h>

#include "bus/bus-emit.h"
#include "bus/bus-producer.h"
#include "bus/bus-session.h"
#include "bus/bus-trigger.h"
#include "bus/option-reader.h"
#include "core/producer.h"
#include "core/session-clone.h"
#include "core/trigger-history.h"
#include "core/trigger.h"
#include "shared/log-user.h"

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
        for (char **at = arguments->names; at && *at; at++)
                free(*at);
        free(arguments->names);
        free(arguments->producer);
}

static int trigger_check(const TriggerArguments *arguments, size_t n_names, sd_bus_error *error) {
        if (n_names > TRIGGER_NAMES_MAX)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "%zu triggers are too many for one call; at most %d are "
                                     "allowed (TRIGGER_NAMES_MAX)",
                                     n_names,
                                     TRIGGER_NAMES_MAX);
        if (arguments->producer && strlen(arguments->producer) > PRODUCER_NAME_MAX)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "the option \"producer\" is longer than %d bytes; shorten it",
                                     PRODUCER_NAME_MAX);
        return 0;
}

/* What the caller calls itself counts for filters only if it has registered by that name. */
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

        r = sd_bus_message_read_strv(message, &arguments.names);
        if (r >= 0)
                r = options_read(&trigger_table, &arguments, &arguments.given, message, error);
        if (r < 0)
                return r;
        while (arguments.names && arguments.names[n_names])
                n_names++;
        r = trigger_check(&arguments, n_names, error);
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

void bus_op_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
        BusSession *session = peer;

        log_user(uid,
                 LOG_INFO,
                 "session %" PRIu64 ": trigger \"%s\" from \"%s\", uid %u",
                 session_id(session->session),
                 trigger,
                 producer,
                 (unsigned)uid);
        bus_emit_session_triggered(session, trigger, producer, uid);
}

static bool snapshot_is_unread(const BusSession *snapshot, uint64_t source) {
        SessionTotals totals;

        if (!snapshot->is_snapshot || snapshot->free_when_finished ||
            session_cloned_from(snapshot->session) != source || snapshot->output.output)
                return false;
        session_totals(snapshot->session, &totals);
        return totals.bytes_output == 0;
}

/* One that somebody reads is not counted, and its reader not disturbed. */
static void drop_old_snapshots(const BusSession *source) {
        const uint64_t id = session_id(source->session);
        BusSession *snapshot;
        size_t n = 0;

        list_for_each (snapshot, &source->bus->sessions, link)
                n += snapshot_is_unread(snapshot, id);
        list_for_each (snapshot, &source->bus->sessions, link) {
                if (n <= SESSION_TRIGGERED_CLONES_MAX)
                        return;
                if (!snapshot_is_unread(snapshot, id))
                        continue;
                log_user(session_options(source->session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 ": snapshot %" PRIu64
                         " is dropped unread: there are %d later ones",
                         id,
                         session_id(snapshot->session),
                         SESSION_TRIGGERED_CLONES_MAX);
                snapshot->free_when_finished = true;
                bus_session_mark(snapshot);
                n--;
        }
}

void bus_op_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        BusSession *source = peer, *snapshot = NULL;
        int r;

        r = bus_session_allocate(&snapshot, source->bus);
        if (r < 0)
                session_free(clone);
        else
                r = bus_clone_publish(snapshot, clone, source, NULL);
        if (r < 0) {
                bus_op_snapshot_failed(peer, trigger, r, "");
                return;
        }
        snapshot->is_snapshot = true;
        bus_emit_session_snapshot(source, snapshot->path, trigger);
        drop_old_snapshots(source);
}

void bus_op_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        const BusSession *session = peer;

        log_user(session_options(session->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": no snapshot for trigger \"%s\": %s",
                 session_id(session->session),
                 trigger,
                 why[0]        ? why
                 : outcome < 0 ? strerror(-outcome)
                               : "the session has ended, or there are too many");
}
