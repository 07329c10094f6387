/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The transport as a whole: what is served on each connection, and bus_settle(), which does all work that was queued.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>

#include "bus/bus-manager.h"
#include "bus/bus.h"
#include "bus/client-end.h"
#include "bus/link/bus-error.h"
#include "bus/link/bus-gates.h"
#include "bus/link/bus-identity.h"
#include "bus/link/bus-turns.h"
#include "bus/object/bus-access.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-producer.h"
#include "bus/object/bus-session.h"
#include "bus/object/bus-source.h"
#include "bus/producer/bus-activate.h"
#include "bus/producer/bus-events.h"
#include "bus/producer/bus-producer-object.h"
#include "bus/producer/bus-return.h"
#include "bus/producer/producer-call.h"
#include "bus/session/bus-buffer.h"
#include "bus/session/bus-session-object.h"
#include "bus/session/bus-session-owner.h"
#include "bus/session/bus-session-signals.h"
#include "bus/session/bus-session-work.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

#define PROCESS_STAT_BYTES_MAX 4096

static const BusInterface bus_interfaces[_BUS_KIND_N] = {
        [BUS_MANAGER] = { TRACING_PATH, TRACING_MANAGER_INTERFACE, bus_manager_vtable },
        [BUS_SESSION] = { TRACING_SESSION_PATH,
                          TRACING_SESSION_INTERFACE,
                          bus_session_vtable,
                          bus_session_find,
                          bus_session_enumerate },
        [BUS_BUFFER] = { TRACING_SESSION_PATH,
                         TRACING_BUFFER_INTERFACE,
                         bus_buffer_vtable,
                         bus_buffer_find },
        [BUS_PRODUCER] = { TRACING_PRODUCER_PATH,
                           TRACING_PRODUCER_INFO_INTERFACE,
                           bus_producer_vtable,
                           bus_producer_find,
                           bus_producer_enumerate },
        [BUS_SOURCE] = { TRACING_SOURCE_PATH,
                         TRACING_SOURCE_INFO_INTERFACE,
                         bus_source_vtable,
                         bus_source_find,
                         bus_source_enumerate },
};

int bus_new(Bus **ret, const BusOptions *options) {
        _cleanup_(bus_freep) Bus *bus = NULL;
        int r;

        bus = calloc(1, sizeof(*bus));
        if (!bus)
                return -ENOMEM;
        bus->event = sd_event_ref(options->event);
        bus->service = options->service;
        bus->info = options->info;
        bus->interfaces = bus_interfaces;
        bus->counters_due_at = UINT64_MAX;
        bus->hub.due_usec = UINT64_MAX;
        turns_init(&bus->turns);
        list_init(&bus->unknowns);
        list_init(&bus->clients);
        list_init(&bus->listeners);
        list_init(&bus->producers);
        list_init(&bus->dirty_sources);
        list_init(&bus->queries);
        bus->guards = options->guards;
        bus->n_guards = options->n_guards;
        list_init(&bus->gone);
        call_places_init(&bus->bus_places);
        call_places_init(&bus->socket_places);
        list_init(&bus->parked);
        list_init(&bus->activate_requests);
        list_init(&bus->events_requests);
        r = doorbells_init(&bus->doorbells, bus->event);
        if (r >= 0)
                r = bus_gates_init(bus);
        if (r >= 0)
                r = owned_sessions_init(&bus->sessions,
                                        bus->event,
                                        &bus_owned_ops,
                                        options->output_ops,
                                        options->output_host);
        if (r >= 0)
                r = bus_sources_init(bus);
        if (r < 0)
                return r;
        *ret = TAKE(bus);
        return 0;
}

#define GONE_PER_TURN 16 /* clients that are freed */

static void bus_free_all_clients(List *clients) {
        while (!list_is_empty(clients))
                client_free(list_entry(clients->next, Client, link));
}

/* A user's programs may all leave in the same moment. Returns whether some are left, for the next turn. */
static bool bus_free_some_gone(Bus *bus, size_t *n_left) {
        for (; *n_left > 0 && !list_is_empty(&bus->gone); --*n_left)
                client_free(list_entry(bus->gone.next, Client, link));
        return !list_is_empty(&bus->gone);
}

Bus *bus_free(Bus *bus) {
        if (!bus)
                return NULL;
        bus_identities_deinit(bus);
        sd_bus_message_unref(bus->tried);
        turns_deinit(&bus->turns);
        bus_free_all_clients(&bus->gone);
        bus_free_all_clients(&bus->clients);
        bus_away_end(bus);
        owned_sessions_deinit(&bus->sessions);
        assert(list_is_empty(&bus->producers));
        call_places_deinit(&bus->bus_places);
        call_places_deinit(&bus->socket_places);
        assert(list_is_empty(&bus->parked));
        assert(list_is_empty(&bus->queries) && bus->n_private_clients == 0);
        assert(list_is_empty(&bus->activate_requests) && list_is_empty(&bus->events_requests));
        if (bus->message_bus)
                sd_bus_detach_event(bus->message_bus);
        sd_bus_flush_close_unref(bus->message_bus);
        bus_sources_deinit(bus);
        event_names_deinit(&bus->events);
        hub_deinit(&bus->hub);
        bus_gates_deinit(bus);
        doorbells_deinit(&bus->doorbells);
        sd_event_unref(bus->event);
        free(bus);
        return NULL;
}

/* Calls to paths outside our tree need no access rule: they reach only introspection and the log level, which checks
 * its callers itself (log-control.c). */
bool bus_message_is_ours(sd_bus_message *message) {
        const char *path = sd_bus_message_get_path(message);

        return sd_bus_message_is_method_call(message, NULL, NULL) > 0 &&
               !strncmp(path, TRACING_PATH, strlen(TRACING_PATH));
}

int bus_check(Bus *bus, Client *client, sd_bus_message *message, sd_bus_error *error) {
        int r;

        bus->n_calls_received++;
        r = access_check(client, message, error);
        bus->caller = r == 0 ? client : NULL;
        return r;
}

static int on_known(Bus *bus, const char *name, const Identity *identity, sd_bus_error *error) {
        Client *client;
        int r;

        r = client_new_public(&client, bus, bus->message_bus, name, identity);
        if (r == CLIENT_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "the service has too many connections, or this user has %d "
                                     "(SERVICE_CONNECTIONS_PER_USER_MAX); close some, or try later",
                                     SERVICE_CONNECTIONS_PER_USER_MAX);
        if (r < 0)
                return sd_bus_error_set_errnof(
                        error, r, "cannot identify the caller: %s", strerror(-r));
        bus_owners_came(bus, client);
        return 0;
}

void bus_find_owners(Bus *bus) {
        const BusSession *session;

        if (!bus->message_bus)
                return;
        list_for_each (session, &bus->sessions.all, owned.link)
                if (session->awaited.until > 0 && session->awaited.name[0])
                        (void)bus_identity_ask_for(bus, session->awaited.name, on_known);
}

static bool is_property_set(sd_bus_message *message) {
        return sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Set") > 0;
}

static int on_bus_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        const char *sender;
        Client *client;
        int r;

        bus->caller = NULL;
        bus_turns_end(bus);
        if (!bus_message_is_ours(message) && !is_property_set(message))
                return 0;
        sender = sd_bus_message_get_sender(message);
        client = sender ? client_find(bus, sender) : NULL;
        if (!client)
                return bus_identity_ask(bus, message, on_known, error);
        if (bus_message_is_ours(message)) {
                r = bus_turns_take(client, message, error);
                return r ? r : bus_check(bus, client, message, error);
        }
        bus->caller = client;
        return 0;
}

/* The match does not keep others out: a bus delivers a signal that any peer addresses to us, and sd-bus accepts a
 * peer's unique name in place of any other. */
static int on_name_gone(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name;
        int r;

        if (!streq(sd_bus_message_get_sender(message) ?: "", MESSAGE_BUS_NAME))
                return 0;
        r = sd_bus_message_read(message, "s", &name);
        if (r > 0 && name[0] == ':')
                clients_name_gone(userdata, name);
        return 0;
}

static int serve_interface(Bus *bus, sd_bus *connection, const BusInterface *interface) {
        int r;

        if (!interface->find)
                return sd_bus_add_object_vtable(
                        connection, NULL, interface->path, interface->name, interface->vtable, bus);
        r = sd_bus_add_fallback_vtable(connection,
                                       NULL,
                                       interface->path,
                                       interface->name,
                                       interface->vtable,
                                       interface->find,
                                       bus);
        if (r >= 0 && interface->enumerate)
                r = sd_bus_add_node_enumerator(
                        connection, NULL, interface->path, interface->enumerate, bus);
        return r;
}

int bus_serve(Bus *bus, sd_bus *connection) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < _BUS_KIND_N; i++)
                r = serve_interface(bus, connection, &bus->interfaces[i]);
        return r < 0 ? r : sd_bus_add_object_manager(connection, NULL, TRACING_PATH);
}

int bus_set_message_bus(Bus *bus, sd_bus *message_bus, bool is_shared) {
        int r;

        bus->message_bus = sd_bus_ref(message_bus);
        bus->is_shared = is_shared;
        /* A bus for many users allows a connection 128 calls without a reply; one user's own sets no such limit. */
        bus->bus_places.is_shared = is_shared;
        bus->bus_places.n_max = is_shared ? BUS_CALLS_MAX : BUS_CALLS_OF_ONE_USER_MAX;
        r = sd_bus_set_exit_on_disconnect(message_bus, true);
        if (r >= 0)
                r = sd_bus_set_close_on_exit(message_bus,
                                             false); /* bus_free() still has something to send */
        if (r >= 0)
                r = sd_bus_add_filter(message_bus, NULL, on_bus_message, bus);
        if (r >= 0)
                r = sd_bus_add_match(
                        message_bus,
                        NULL,
                        "type='signal',sender='" MESSAGE_BUS_NAME "',path='" MESSAGE_BUS_PATH "',"
                        "interface='" MESSAGE_BUS_NAME "',member='NameOwnerChanged',arg2=''",
                        on_name_gone,
                        bus);
        if (r >= 0)
                r = bus_serve(bus, message_bus);
        return r < 0 ? r : sd_bus_attach_event(message_bus, bus->event, SD_EVENT_PRIORITY_NORMAL);
}

/* The kernel's flag of a thread that a signal has killed. While a core is dumped it is no zombie yet, and waits for the
 * thread that hangs. */
#define PF_SIGNALED 0x400u

/* Whether its main thread has ended, or will: proc(5), "/proc/pid/stat". */
static bool process_is_dead(pid_t pid) {
        _cleanup_(freep) char *text = NULL;
        const char *end;
        unsigned flags;
        char path[64], state;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (fd_read_file(&text, NULL, AT_FDCWD, path, PROCESS_STAT_BYTES_MAX) < 0)
                return false;
        end = strrchr(text, ')');
        return end && sscanf(end, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 &&
               (state == 'Z' || state == 'X' || (flags & PF_SIGNALED));
}

static bool owner_is_dead(sd_bus *message_bus) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *owner = NULL;
        pid_t pid;

        return sd_bus_get_name_creds(message_bus, TRACING_BUS_NAME, SD_BUS_CREDS_PID, &owner) >=
                       0 &&
               sd_bus_creds_get_pid(owner, &pid) >= 0 && process_is_dead(pid);
}

/* The kernel keeps all descriptors of a process of which a thread hangs in the file system of a user, even if it was
 * killed or has crashed. So it stays on the bus, and has the name until somebody takes it away. */
int bus_request_name(Bus *bus) {
        int r;

        if (!bus->message_bus)
                return 0;
        r = sd_bus_request_name(bus->message_bus, TRACING_BUS_NAME, SD_BUS_NAME_ALLOW_REPLACEMENT);
        if (r != -EEXIST || !owner_is_dead(bus->message_bus))
                return r;
        log_warning("the process before this one cannot end: its bus name is taken away");
        return sd_bus_request_name(bus->message_bus,
                                   TRACING_BUS_NAME,
                                   SD_BUS_NAME_ALLOW_REPLACEMENT | SD_BUS_NAME_REPLACE_EXISTING);
}

int bus_release_name(Bus *bus) {
        return bus->message_bus ? sd_bus_release_name(bus->message_bus, TRACING_BUS_NAME) : 0;
}

/* lockdown_mode is kept in memory only, so the process must stay. */
bool bus_is_busy(const Bus *bus) {
        return !list_is_empty(&bus->unknowns) || !turns_are_over(&bus->turns) ||
               !list_is_empty(&bus->sessions.all) || !list_is_empty(&bus->queries) ||
               !list_is_empty(&bus->activate_requests) || !list_is_empty(&bus->events_requests) ||
               bus->n_private_clients > 0 || service_is_locked_down(bus->service);
}

void bus_stop_sessions(Bus *bus, const char *reason) {
        owned_sessions_stop(&bus->sessions, reason);
}

bool bus_is_stopped(const Bus *bus) {
        return owned_sessions_are_stopped(&bus->sessions);
}

uint64_t bus_next_deadline(const Bus *bus, uint64_t now) {
        uint64_t deadline = gates_are_ready(bus->gates) || !list_is_empty(&bus->gone) ||
                                            bus_has_calls_to_send(bus)
                                    ? 0
                                    : MIN(bus->counters_due_at, hub_deadline(&bus->hub, now));

        deadline = MIN(deadline, bus_turns_deadline(bus, now));
        deadline = MIN(deadline, bus_parked_deadline(bus));
        deadline = MIN(deadline, bus_away_deadline(bus));
        deadline = MIN(deadline, doorbells_deadline(&bus->doorbells));
        deadline = MIN(deadline, bus_owners_deadline(bus));
        return MIN(deadline, owned_sessions_deadline(&bus->sessions));
}

void bus_tick(Bus *bus, uint64_t now) {
        BusSession *session;

        hub_tick(&bus->hub);
        bus_look_at_parked(bus, now);
        bus_away_tick(bus, now);
        doorbells_tick(&bus->doorbells, now);
        if (bus->counters_due_at <= now) {
                bus->counters_due_at = UINT64_MAX;
                bus->counters_sent_at = now;
                bus_sources_signal(bus);
                list_for_each (session, &bus->sessions.all, owned.link) {
                        bus_session_signal_counters(session);
                }
        }
        bus_owners_tick(bus, now);
        owned_sessions_tick(&bus->sessions, now);
}

/* Each step may make work for the others. */
void bus_settle(Bus *bus) {
        size_t n_left = GONE_PER_TURN;

        hub_begin_round(&bus->hub);
        bus_send_calls(bus);
        if (gates_are_ready(bus->gates))
                gates_turn(bus->gates);
        hub_settle(&bus->hub);
        bus_turns_run(bus);
        while ((bus_free_some_gone(bus, &n_left) && n_left > 0) ||
               !owned_sessions_are_settled(&bus->sessions))
                (void)owned_sessions_work(&bus->sessions);
        bus_answer_activations(bus);
        bus_answer_event_lists(bus);
        bus_send_calls(bus); /* whatever the steps above have queued */
        if (bus->has_released) {
                bus->has_released = false;
                malloc_trim(0);
        }
        if (bus->counts_changed) {
                bus->counts_changed = false;
                bus_emit_counts(bus);
        }
        /* Sends what the steps above have written to sockets. */
        hub_settle(&bus->hub);
}
