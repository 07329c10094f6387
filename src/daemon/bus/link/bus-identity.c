/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Peers whose identity the bus daemon was asked for, and their messages, which wait for the answer. */

#include <assert.h>
#include <errno.h>

#include "bus/link/bus-error.h"
#include "bus/link/bus-identity.h"

#define DBUS_NAME "org.freedesktop.DBus"
#define DBUS_PATH "/org/freedesktop/DBus"

/* One peer that was asked about. */
typedef struct Unknown {
        Bus *bus;
        char *name;
        BusIdentityKnown known;
        sd_bus_slot *question;
        sd_bus_message **messages; /* in the order in which they came */
        size_t n_messages;
        List link; /* bus->unknowns */
} Unknown;

static Unknown *unknown_free(Unknown *unknown) {
        if (!unknown)
                return NULL;
        list_unlink(&unknown->link);
        sd_bus_slot_unref(unknown->question);
        for (size_t i = 0; i < unknown->n_messages; i++)
                sd_bus_message_unref(unknown->messages[i]);
        unknown->bus->n_unknown_messages -= unknown->n_messages;
        free(unknown->messages);
        free(unknown->name);
        free(unknown);
        return NULL;
}
DEFINE_CLEANUP(Unknown *, unknown_free)

static int unknown_keep(Unknown *unknown, sd_bus_message *message) {
        sd_bus_message **messages;

        messages = realloc(unknown->messages, (unknown->n_messages + 1) * sizeof(sd_bus_message *));
        if (!messages)
                return -ENOMEM;
        unknown->messages = messages;
        messages[unknown->n_messages++] = sd_bus_message_ref(message);
        unknown->bus->n_unknown_messages++;
        return 0;
}

static int refuse_as_full(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "%d calls of new connections wait; try again",
                             BUS_UNKNOWN_MESSAGES_MAX);
}

/* Answers the latest call with a refusal. */
static void unknown_drop_last(Unknown *unknown) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *message = unknown->messages[--unknown->n_messages];

        unknown->bus->n_unknown_messages--;
        refuse_as_full(&error);
        sd_bus_reply_method_error(message, &error);
        sd_bus_message_unref(message);
}

static int refuse(sd_bus_error *error, int r) {
        return sd_bus_error_set_errnof(error, r, "cannot identify the caller: %s", strerror(-r));
}

/* Reads a{sv}; a bus daemon may send more than is needed here. */
static int read_identity(sd_bus_message *reply, Identity *ret) {
        bool has_uid = false, has_pid = false;
        const char *key;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                uint32_t value;

                r = sd_bus_message_read(reply, "s", &key);
                if (r < 0)
                        return r;
                if (streq(key, "UnixUserID") || streq(key, "ProcessID")) {
                        r = sd_bus_message_read(reply, "v", "u", &value);
                        if (streq(key, "UnixUserID")) {
                                ret->uid = value;
                                has_uid = true;
                        } else {
                                ret->pid = (pid_t)value;
                                has_pid = true;
                        }
                } else {
                        r = sd_bus_message_skip(reply, "v");
                }
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        if (r < 0)
                return r;
        return has_uid && has_pid ? 0 : -ENODATA;
}

static int unknown_identify(const Unknown *unknown, sd_bus_message *reply, sd_bus_error *error) {
        Identity identity = {};
        int r;

        if (sd_bus_message_get_error(reply))
                r = -sd_bus_error_get_errno(sd_bus_message_get_error(reply));
        else
                r = read_identity(reply, &identity);
        if (r < 0)
                return refuse(error, r);
        return unknown->known(unknown->bus, unknown->name, &identity, error);
}

static int on_identity(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(unknown_freep) Unknown *unknown = userdata;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = unknown_identify(unknown, reply, &error);
        for (size_t i = 0; i < unknown->n_messages; i++)
                if (r < 0)
                        sd_bus_reply_method_error(unknown->messages[i], &error);
                else
                        (void)sd_bus_enqueue_for_read(unknown->bus->message_bus,
                                                      unknown->messages[i]);
        return 0;
}

static Unknown *unknown_find(const Bus *bus, const char *name) {
        Unknown *unknown;

        list_for_each (unknown, &bus->unknowns, link)
                if (streq(unknown->name, name))
                        return unknown;
        return NULL;
}

/* Of the peers with most calls, the one that came first. Returns NULL when no peer waits. */
static Unknown *find_heaviest(const Bus *bus) {
        Unknown *unknown, *heaviest = NULL;

        list_for_each (unknown, &bus->unknowns, link)
                if (!heaviest || unknown->n_messages > heaviest->n_messages)
                        heaviest = unknown;
        return heaviest;
}

/* It is not known yet whose peers they are, so they share by name; the bus limits how many names each user has. A
 * further call of a peer with few takes the place of a call of the peer with most. */
static bool make_room(Bus *bus, size_t n_of_sender) {
        Unknown *heaviest;

        if (bus->n_unknown_messages < BUS_UNKNOWN_MESSAGES_MAX)
                return true;
        heaviest = find_heaviest(bus);
        if (!heaviest || heaviest->n_messages <= n_of_sender + 1)
                return false;
        unknown_drop_last(heaviest);
        return true;
}

static int unknown_new(Unknown **ret, Bus *bus, const char *name, BusIdentityKnown known) {
        _cleanup_(unknown_freep) Unknown *unknown = calloc(1, sizeof(*unknown));
        int r;

        if (!unknown)
                return -ENOMEM;
        unknown->bus = bus;
        unknown->known = known;
        list_init(&unknown->link);
        unknown->name = strdup(name);
        if (!unknown->name)
                return -ENOMEM;
        r = sd_bus_call_method_async(bus->message_bus,
                                     &unknown->question,
                                     DBUS_NAME,
                                     DBUS_PATH,
                                     DBUS_NAME,
                                     "GetConnectionCredentials",
                                     on_identity,
                                     unknown,
                                     "s",
                                     name);
        if (r < 0)
                return r;
        list_append(&bus->unknowns, &unknown->link);
        *ret = TAKE(unknown);
        return 0;
}

int bus_identity_ask(Bus *bus,
                     sd_bus_message *message,
                     BusIdentityKnown known,
                     sd_bus_error *error) {
        const char *sender = sd_bus_message_get_sender(message);
        Unknown *unknown;
        int r = 0;

        if (!sender)
                return refuse(error, -EBADMSG);
        unknown = unknown_find(bus, sender);
        if (unknown && unknown->n_messages >= BUS_UNKNOWN_MESSAGES_OF_ONE_MAX)
                return bus_error_set(
                        error,
                        BUS_ERROR_LIMIT_EXCEEDED,
                        "this connection has %d unanswered calls; wait for their replies",
                        BUS_UNKNOWN_MESSAGES_OF_ONE_MAX);
        if (!make_room(bus, unknown ? unknown->n_messages : 0))
                return refuse_as_full(error);
        if (!unknown)
                r = unknown_new(&unknown, bus, sender, known);
        if (r >= 0)
                r = unknown_keep(unknown, message);
        return r < 0 ? refuse(error, r) : 1;
}

int bus_identity_ask_for(Bus *bus, const char *name, BusIdentityKnown known) {
        Unknown *unknown = unknown_find(bus, name);

        return unknown ? 0 : unknown_new(&unknown, bus, name, known);
}

void bus_identities_deinit(Bus *bus) {
        Unknown *unknown;

        list_for_each (unknown, &bus->unknowns, link)
                unknown_free(unknown);
        assert(bus->n_unknown_messages == 0);
}
