/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * sd-bus can emit these signals, but only as broadcasts. The values of properties come from the same vtables that serve
 * Get().
 */

#include <errno.h>
#include <unistd.h>

#include "bus/link/bus-counts.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-producer.h"
#include "bus/object/bus-session.h"
#include "shared/log.h"
#include "shared/names.h"

#define OBJECT_MANAGER_INTERFACE "org.freedesktop.DBus.ObjectManager"
#define PROPERTIES_INTERFACE     "org.freedesktop.DBus.Properties"

/* One signal: its object, who may see it, and its content. */
typedef struct Emission Emission;

typedef struct EmittedTrigger {
        const char *name, *producer;
        uid_t uid;
        const char *clone_path;
} EmittedTrigger;

struct Emission {
        const char *path, *interface, *member; /* the message's */
        int (*fill)(sd_bus_message *message, const Emission *emission);
        /* NULL: everybody may see it. `client` NULL: asks whether it may be broadcast on a bus of one user. */
        bool (*is_visible)(const Emission *emission, const Client *client);
        bool is_public;  /* the owner lets everybody see it */
        bool is_awaited; /* somebody may wait for it: see signal-room.h */

        const char *object_path;
        const BusInterface *class; /* the object's */
        void *object;              /* the vtable's userdata */
        const char *const *properties;
        const char *left_out[3]; /* those of them whose values are too long for signals */
        EmittedTrigger trigger;
        const InstanceInfo *source;
};

static void emission_send(const Emission *emission, sd_bus *connection, const char *destination) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_signal(
                connection, &message, emission->path, emission->interface, emission->member);
        if (r >= 0)
                r = emission->fill(message, emission);
        if (r >= 0 && destination)
                r = sd_bus_message_set_destination(message, destination);
        if (r >= 0)
                r = sd_bus_send(connection, message, NULL);
        if (r < 0)
                log_debug("cannot send signal %s: %s", emission->member, strerror(-r));
}

/* The value of a property may depend on who reads it, so `client` is the caller meanwhile. NULL: a broadcast. */
static void emission_send_to(const Emission *emission, Bus *bus, Client *client) {
        Client *caller = bus->caller;

        bus->caller = client;
        if (client)
                emission_send(emission, client->connection, client->name);
        else
                emission_send(emission, bus->message_bus, NULL);
        bus->caller = caller;
}

/* Root and the account of the service can harm it in any case. A user instance serves no others. */
static bool emission_has_room(const Emission *emission, Bus *bus, const Client *client) {
        return client->user == 0 || client->user == geteuid() ||
               signal_room_take(
                       &bus->signal_room, client->user, emission->is_awaited, bus_now(bus));
}

static void bus_emit(Bus *bus, const Emission *emission) {
        const bool is_broadcast = bus->message_bus &&
                                  (!bus->is_shared || !emission->is_visible || emission->is_public);
        Client *client;

        if (is_broadcast &&
            (!emission->is_visible || emission->is_public || emission->is_visible(emission, NULL)))
                emission_send_to(emission, bus, NULL);
        list_for_each (client, &bus->listeners, listener_link) {
                if (is_broadcast && !client_is_private(client))
                        continue;
                if (emission->is_visible && !emission->is_visible(emission, client))
                        continue;
                if (!emission_has_room(emission, bus, client))
                        continue;
                emission_send_to(emission, bus, client);
                hub_touch(&client->hub_link);
        }
}

static bool is_among(const char *name, const char *const names[]) {
        for (; *names; names++)
                if (streq(*names, name))
                        return true;
        return false;
}

/* Whether the emission is about the property, though its value may be left out. */
static bool emission_means(const Emission *emission, const char *property) {
        return !emission->properties || is_among(property, emission->properties);
}

static bool emission_has(const Emission *emission, const char *property) {
        return emission_means(emission, property) && !is_among(property, emission->left_out);
}

static int append_property(sd_bus_message *message, const sd_bus_vtable *entry, void *object) {
        int r;

        r = sd_bus_message_open_container(message, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", entry->x.property.member);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', entry->x.property.signature);
        if (r >= 0)
                r = entry->x.property.get(
                        NULL, NULL, NULL, entry->x.property.member, message, object, NULL);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r;
}

/* a{sv} of the properties that the emission is about. */
static int append_properties(sd_bus_message *message, const Emission *emission) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        for (const sd_bus_vtable *entry = emission->class->vtable;
             entry->type != _SD_BUS_VTABLE_END;
             entry++) {
                if (entry->type != _SD_BUS_VTABLE_PROPERTY ||
                    !emission_has(emission, entry->x.property.member))
                        continue;
                r = append_property(message, entry, emission->object);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(message);
}

/* as of the properties that have changed, and have to be read. */
static int append_invalidated(sd_bus_message *message, const Emission *emission) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "s");
        for (const char *const *at = emission->left_out; r >= 0 && *at; at++)
                if (emission_means(emission, *at))
                        r = sd_bus_message_append(message, "s", *at);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int fill_properties_changed(sd_bus_message *message, const Emission *emission) {
        int r;

        r = sd_bus_message_append(message, "s", emission->class->name);
        if (r >= 0)
                r = append_properties(message, emission);
        return r < 0 ? r : append_invalidated(message, emission);
}

static int fill_interfaces_added(sd_bus_message *message, const Emission *emission) {
        int r;

        r = sd_bus_message_append(message, "o", emission->object_path);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "{sa{sv}}");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'e', "sa{sv}");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", emission->class->name);
        if (r >= 0)
                r = append_properties(message, emission);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r;
}

static int fill_interfaces_removed(sd_bus_message *message, const Emission *emission) {
        return sd_bus_message_append(
                message, "oas", emission->object_path, 1, emission->class->name);
}

static int fill_stopped(sd_bus_message *message, const Emission *emission) {
        BusSession *session = emission->object;

        return sd_bus_message_append(message, "s", bus_session_stop_reason(session));
}

static int fill_source(sd_bus_message *message, const Emission *emission) {
        return bus_append_source(message, "ssuus", emission->source);
}

static int fill_triggered(sd_bus_message *message, const Emission *emission) {
        const EmittedTrigger *trigger = &emission->trigger;

        return sd_bus_message_append(
                message, "ssu", trigger->name, trigger->producer, (uint32_t)trigger->uid);
}

static int fill_snapshot(sd_bus_message *message, const Emission *emission) {
        const EmittedTrigger *trigger = &emission->trigger;

        return sd_bus_message_append(message, "os", trigger->clone_path, trigger->name);
}

static int fill_nothing(sd_bus_message *message, const Emission *emission) {
        return 0;
}

static bool session_is_visible(const Emission *emission, const Client *client) {
        return !client || bus_session_is_visible(emission->object, client);
}

static bool buffer_is_visible(const Emission *emission, const Client *client) {
        const BusBuffer *buffer = emission->object;

        return !client || bus_session_is_visible(buffer->session, client);
}

static bool producer_is_visible(const Emission *emission, const Client *client) {
        return !client || bus_producer_is_visible(emission->object, client);
}

static bool source_has_come(const Emission *emission, const Client *client) {
        const BusSource *source = emission->object;

        return bus_source_has_changed(source, client) && bus_source_exists(source, client) &&
               !bus_source_was_told(source, client);
}

static bool source_has_changed(const Emission *emission, const Client *client) {
        const BusSource *source = emission->object;

        return bus_source_has_changed(source, client) && bus_source_exists(source, client) &&
               bus_source_was_told(source, client);
}

static bool source_has_gone(const Emission *emission, const Client *client) {
        const BusSource *source = emission->object;

        return bus_source_was_told(source, client) && !bus_source_exists(source, client);
}

static bool counts_are_news(const Emission *emission, const Client *client) {
        return !client || client_has_new_counts(client);
}

static Emission session_emission(BusSession *session) {
        return (Emission){
                .path = session->path,
                .is_visible = session_is_visible,
                .is_public = session->is_public,
                .object_path = session->path,
                .class = &session->bus->interfaces[BUS_SESSION],
                .object = session,
        };
}

/* Each listener is sent a signal of its own, so lists of thousands would be made again and again. */
static Emission session_properties_emission(BusSession *session) {
        Emission emission = session_emission(session);
        size_t n = 0;

        if (session_n_instances(session->owned.session) > SIGNAL_INSTANCES_MAX)
                emission.left_out[n++] = "Sources";
        if (session_n_notes(session->owned.session) > SIGNAL_NOTES_MAX)
                emission.left_out[n++] = "Notes";
        return emission;
}

/* Totals are of all programs of the session, and the same for each listener. */
static void session_tell_totals(BusSession *session, SessionTotals *totals) {
        bus_session_totals(session, totals);
        session->told = totals;
}

static Emission buffer_emission(BusBuffer *buffer) {
        return (Emission){
                .path = buffer->path,
                .is_visible = buffer_is_visible,
                .is_public = buffer->session->is_public,
                .object_path = buffer->path,
                .class = &buffer->session->bus->interfaces[BUS_BUFFER],
                .object = buffer,
        };
}

static Emission producer_emission(BusProducer *producer) {
        return (Emission){
                .path = producer->path,
                .is_visible = producer_is_visible,
                .object_path = producer->path,
                .class = &producer->bus->interfaces[BUS_PRODUCER],
                .object = producer,
        };
}

static void emit_added(Bus *bus, Emission emission) {
        emission.path = TRACING_PATH;
        emission.interface = OBJECT_MANAGER_INTERFACE;
        emission.member = "InterfacesAdded";
        emission.fill = fill_interfaces_added;
        bus_emit(bus, &emission);
}

static void emit_removed(Bus *bus, Emission emission) {
        emission.path = TRACING_PATH;
        emission.interface = OBJECT_MANAGER_INTERFACE;
        emission.member = "InterfacesRemoved";
        emission.fill = fill_interfaces_removed;
        bus_emit(bus, &emission);
}

static void emit_changed(Bus *bus, Emission emission, const char *const properties[]) {
        emission.interface = PROPERTIES_INTERFACE;
        emission.member = "PropertiesChanged";
        emission.fill = fill_properties_changed;
        emission.properties = properties;
        bus_emit(bus, &emission);
}

void bus_emit_session_added(BusSession *session) {
        Emission emission = session_properties_emission(session);
        SessionTotals totals;

        emission.is_awaited = true;
        session_tell_totals(session, &totals);
        emit_added(session->bus, emission);
        session->told = NULL;
        for (size_t i = 0; i < session->n_buffers; i++)
                emit_added(session->bus, buffer_emission(&session->buffers[i]));
}

void bus_emit_session_removed(BusSession *session) {
        Emission emission = session_emission(session);

        for (size_t i = 0; i < session->n_buffers; i++)
                emit_removed(session->bus, buffer_emission(&session->buffers[i]));
        emission.is_awaited = true;
        emit_removed(session->bus, emission);
}

void bus_emit_session_changed(BusSession *session, const char *const properties[]) {
        SessionTotals totals;

        session_tell_totals(session, &totals);
        emit_changed(session->bus, session_properties_emission(session), properties);
        session->told = NULL;
}

void bus_emit_session_moved(BusSession *session, const char *const properties[]) {
        Emission emission = session_properties_emission(session);

        emission.is_awaited = true;
        emit_changed(session->bus, emission, properties);
}

void bus_emit_buffer_changed(BusBuffer *buffer, const char *const properties[]) {
        emit_changed(buffer->session->bus, buffer_emission(buffer), properties);
}

static void emit_session_signal(BusSession *session, Emission emission) {
        emission.interface = TRACING_SESSION_INTERFACE;
        bus_emit(session->bus, &emission);
}

void bus_emit_session_stopped(BusSession *session) {
        Emission emission = session_emission(session);

        emission.member = "Stopped";
        emission.is_awaited = true;
        emission.fill = fill_stopped;
        emit_session_signal(session, emission);
}

void bus_emit_session_all_started(BusSession *session) {
        Emission emission = session_emission(session);

        emission.member = "AllSourcesStarted";
        emission.is_awaited = true;
        emission.fill = fill_nothing;
        emit_session_signal(session, emission);
}

void bus_emit_session_source(BusSession *session, const InstanceInfo *info) {
        Emission emission = session_emission(session);

        emission.member = "SourceStateChanged";
        emission.fill = fill_source;
        emission.source = info;
        emit_session_signal(session, emission);
}

void bus_emit_session_triggered(BusSession *session,
                                const char *trigger,
                                const char *producer,
                                uid_t uid) {
        Emission emission = session_emission(session);

        emission.member = "Triggered";
        emission.is_awaited = true;
        emission.fill = fill_triggered;
        emission.trigger = (EmittedTrigger){ .name = trigger, .producer = producer, .uid = uid };
        emit_session_signal(session, emission);
}

void bus_emit_session_snapshot(BusSession *session, const char *clone_path, const char *trigger) {
        Emission emission = session_emission(session);

        emission.member = "SnapshotTaken";
        emission.is_awaited = true;
        emission.fill = fill_snapshot;
        emission.trigger = (EmittedTrigger){ .name = trigger, .clone_path = clone_path };
        emit_session_signal(session, emission);
}

void bus_emit_producer_added(BusProducer *producer) {
        emit_added(producer->bus, producer_emission(producer));
}

void bus_emit_producer_removed(BusProducer *producer) {
        emit_removed(producer->bus, producer_emission(producer));
}

void bus_emit_producer_changed(BusProducer *producer, const char *const properties[]) {
        emit_changed(producer->bus, producer_emission(producer), properties);
}

void bus_emit_source(BusSource *source) {
        static const char *const properties[] = { "Producers", "Categories", "Unavailable", NULL };
        _cleanup_(freep) char *path = NULL;
        Emission emission = {
                .class = &source->bus->interfaces[BUS_SOURCE],
                .object = source,
                .left_out = { bus_source_has_long_categories(source) ? "Categories" : NULL },
        };

        if (sd_bus_path_encode(TRACING_SOURCE_PATH, source->name, &path) < 0)
                return;
        emission.path = path;
        emission.object_path = path;
        emission.is_visible = source_has_gone;
        emit_removed(source->bus, emission);
        emission.is_visible = source_has_changed;
        emit_changed(source->bus, emission, properties);
        emission.is_visible = source_has_come;
        emit_added(source->bus, emission);
}

void bus_emit_counts(Bus *bus) {
        static const char *const properties[] = { "NumSessions", "NumProducers", NULL };
        const Emission manager = {
                .path = TRACING_PATH,
                .is_visible = counts_are_news,
                .class = &bus->interfaces[BUS_MANAGER],
                .object = bus,
        };
        Client *client;

        emit_changed(bus, manager, properties);
        list_for_each (client, &bus->listeners, listener_link) {
                client_note_counts(client);
        }
}
