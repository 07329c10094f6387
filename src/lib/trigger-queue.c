/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A trigger leaves the queue when it has been sent on all connections, or when its time is over. There is no timer
 * for that: an expired trigger is never sent, and its place is used for the next one.
 */

#include <errno.h>

#include "lib/connection.h"
#include "lib/source-private.h"
#include "lib/trigger.h"

struct Trigger {
        List link; /* of the queue */
        uint64_t expires_ns;
        unsigned sent_on; /* a bit for each connection */
        char name[];
};

/* Under the lock. */
static List queue = LIST_INIT(queue);
static unsigned n_queued;

static void trigger_drop(Trigger *trigger) {
        list_unlink(&trigger->link);
        n_queued--;
        free(trigger);
}

static void queue_expire(uint64_t now_ns) {
        Trigger *trigger;

        list_for_each (trigger, &queue, link)
                if (trigger->expires_ns <= now_ns)
                        trigger_drop(trigger);
}

int trigger_new(Trigger **ret, const char *name, uint64_t now_ns) {
        const size_t n = strlen(name) + 1;
        Trigger *trigger = malloc(sizeof(*trigger) + n);

        if (!trigger)
                return -ENOMEM;
        *trigger = (Trigger){ .expires_ns = now_ns + TRIGGER_TTL_NS };
        memcpy(trigger->name, name, n);
        *ret = trigger;
        return 0;
}

int triggers_append(Trigger *trigger, uint64_t now_ns) {
        queue_expire(now_ns);
        if (n_queued >= TRIGGERS_QUEUED_MAX)
                return -ENOBUFS;
        list_append(&queue, &trigger->link);
        n_queued++;
        return 0;
}

/*
 * The private thread
 */

static bool queue_has_for(unsigned connection) {
        const Trigger *trigger;

        list_for_each (trigger, &queue, link)
                if (!(trigger->sent_on & 1u << connection))
                        return true;
        return false;
}

/* as and a{sv}. */
static int queue_put(sd_bus_message *call, unsigned connection) {
        Trigger *trigger;
        int r;

        r = sd_bus_message_open_container(call, 'a', "s");
        list_for_each (trigger, &queue, link) {
                if (r < 0 || trigger->sent_on & 1u << connection)
                        continue;
                r = sd_bus_message_append(call, "s", trigger->name);
                trigger->sent_on |= 1u << connection;
        }
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r >= 0)
                r = sd_bus_message_append(call, "a{sv}", 1, "producer", "s", library.name);
        return r;
}

static int queue_build(Connection *connection, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        if (!queue_has_for(connection->index) || !connection_is_usable(connection))
                return 0;
        r = connection_new_call(connection, &call, "ActivateTriggers");
        if (r >= 0)
                r = queue_put(call, connection->index);
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(call, false);
        if (r >= 0)
                *ret = TAKE(call);
        return r;
}

static void queue_send(Connection *connection, uint64_t now_ns) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        library_lock();
        queue_expire(now_ns);
        queue_build(connection, &call);
        library_unlock();
        if (call)
                sd_bus_send(connection->bus, call, NULL);
}

static void queue_drop_sent(void) {
        const unsigned all = (1u << library.n_connections) - 1;
        Trigger *trigger;

        list_for_each (trigger, &queue, link)
                if ((trigger->sent_on & all) == all)
                        trigger_drop(trigger);
}

void triggers_send(uint64_t now_ns) {
        for (unsigned i = 0; i < library.n_connections; i++)
                queue_send(library.connections[i], now_ns);
        library_lock();
        queue_drop_sent();
        library_unlock();
}
