/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Connection: one place where the service may be found
 *
 * That is the system bus, the session bus, or the socket that $DESKTRACE_SOCKET names. A connection watches for the
 * service and never starts it; it registers the sources when the service appears, and ends all instances when it
 * disappears. If the service has named a key for its memory, that is kept for the next service, and the instances go on
 * in it until that one has come and knows them, for up to CONNECTION_AWAY_NS. A bus or socket that is missing, or lost
 * at once, is retried after 100 ms, then after twice as long each time, and finally every 30 s; a session bus that the
 * environment does not name is never tried. Used only on the private thread; nothing here blocks.
 */

#include <poll.h>
#include <systemd/sd-bus.h>

#include "lib/library.h"
#include "lib/memory.h"

#define CONNECTION_RETRY_FIRST_NS UINT64_C(100000000)
#define CONNECTION_RETRY_MAX_NS   UINT64_C(30000000000)
#define CONNECTION_AWAY_NS        UINT64_C(20000000000)
#define CONNECTION_SETTLED_NS \
        UINT64_C(5000000000) /* a connection that lasts longer was not lost at once */

typedef enum ConnectionKind {
        CONNECTION_SYSTEM,
        CONNECTION_SESSION,
        CONNECTION_SOCKET,
} ConnectionKind;

typedef enum ConnectionState {
        CONNECTION_OFF,         /* not connected; the next attempt is at retry_ns */
        CONNECTION_WATCHING,    /* there is no service, or it has refused us and retry_ns is set */
        CONNECTION_REGISTERING, /* asked, no answer yet */
        CONNECTION_REGISTERED,
} ConnectionState;

struct Connection {
        ConnectionKind kind;
        ConnectionState state;
        unsigned index; /* bit number in dt_source.registered_on */
        sd_bus *bus;
        sd_bus_slot *registration; /* the pending call */
        char *owner;            /* unique name of the service; NULL if absent, and on the socket */
        uint64_t retry_ns;      /* UINT64_MAX: never */
        uint64_t away_until_ns; /* when instances that no service knows end; 0: none */
        uint64_t connected_ns;
        uint64_t connect_delay_ns, register_delay_ns; /* the next ones */
        int fork_fd; /* of the bus, known to library_fork_close() */
        sd_bus *abandoned; /* its descriptor was closed by the program: freeing it would close another file */
        Memory *memory;
        List instances; /* dt_instance.connection_link */
};

int connection_new(Connection **ret, ConnectionKind kind, unsigned index);

/* Does all work that is due. */
void connection_run(Connection *connection, uint64_t now_ns);

/* What to wait for: fills in two descriptors, and returns when the connection is due in any case; UINT64_MAX: never. */
#define CONNECTION_FDS 2
uint64_t connection_prepare(Connection *connection, struct pollfd ret[static CONNECTION_FDS]);

/* Registers new sources with a service that already knows us. */
void connection_sources_changed(Connection *connection);

/* Tells the service that a source is gone. */
void connection_source_removed(Connection *connection, const char *name);

/*
 * connection-call.c
 */

/* Whether the bus's descriptor is still ours. */
bool connection_has_its_bus(const Connection *connection);

/* Whether the service is running and knows all about us, so that a call would reach it now. With the lock
 * held. */
bool connection_is_usable(const Connection *connection);

/* Makes a call to the service's Manager, whose arguments the caller appends. */
int connection_new_call(Connection *connection, sd_bus_message **ret, const char *member);

/* Whether a message is from the service. */
bool connection_trusts(const Connection *connection, sd_bus_message *message);

/*
 * Elsewhere
 */

/* requests.c: carries out what the service asks for in shared memory. */
void connection_take_requests(Connection *connection);

/* instance.c: if writers find no chunk, returns the chunks of the other writers to the service. Most of these belong
 * to threads that write nothing at the moment, and a thread that does can take another chunk. */
void connection_return_idle_chunks(Connection *connection);

/* The next service knows us and our memory: these instances go on, and the others end. */
void connection_go_on(Connection *connection, const uint64_t *instances, size_t n_instances);

/* The service is about to pass other memory, or none: no writer may use this memory from now on. */
void connection_drop_memory(Connection *connection);

/* producer-object.c: serves org.desktrace.Tracing1.Producer. */
int connection_serve(Connection *connection);
