/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Port: one of Perfetto's services, as a table
 *
 * socket/ports.h has the sockets; port-dispatch.c reads whole frames from them, answers what is about the protocol
 * itself (binding, unknown methods), and gives each call to the method of the service that this kind of socket
 * serves: producer-port.c or consumer-port.c. Ports convert and call the core, nothing else.
 *
 * The rules are those of peer.h: from inside a core function a port may be asked for anything, and must not call the
 * core back before that returns. Sending is always allowed, as it never does more than to put bytes into the
 * socket or a queue. A connection that breaks is closed later, by ports_settle(): until then it takes calls and
 * answers, and drops them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/service.h"
#include "owner/access-ops.h"
#include "shared/identity.h"

typedef struct Ports Ports;
typedef struct PortConnection PortConnection;
typedef struct PortsObserver PortsObserver;

typedef enum PortKind {
        PORT_PRODUCER, /* serves ProducerPort */
        PORT_CONSUMER, /* serves ConsumerPort */
        _PORT_KIND_N,
} PortKind;

/* What a reply needs to know of its request; to be copied by handlers that reply later, more than once, or never. */
typedef struct PortRequest {
        uint64_t id;
        bool drops_reply; /* nobody wants one: port_reply() and port_fail() do nothing */
} PortRequest;

enum {
        _PORT_E_SUCCESS,
        PORT_E_REFUSED, /* the protocol can only say that it failed; the caller replies and logs the reason */
};

/* `data` is the request's message, empty or any bytes at all, and stays valid during the call. 0: it has been answered
 * or will be. PORT_E_REFUSED. A negative errno costs the peer its connection: for messages that no honest client sends,
 * and when memory runs out. */
typedef int (*PortHandler)(void *port, const PortRequest *request, const void *data, size_t n_data);

typedef struct PortMethod {
        const char *name;
        PortHandler handle; /* NULL: not offered; clients look methods up by name */
} PortMethod;

typedef struct PortService {
        const char *name;
        const PortMethod
                *methods; /* in the protocol's order: their numbers are places in here, from 1 */
        size_t n_methods;

        /* Once, when the peer binds the service; *ret is the `port` of all other calls. PORT_E_REFUSED: it may not.
         * */
        int (*open)(void **ret, PortConnection *connection);
        /* The connection has ended. Called if open() was 0, outside of the core. */
        void (*close)(void *port);
        /* Everything queued has been sent, so a stream can continue. May be NULL. Called outside of the core. */
        void (*drained)(void *port);
        /* port_connection_mark() was called. May be NULL. Outside of the core. */
        void (*work)(void *port);
} PortService;

/* The peer, as the kernel recorded it when it connected. */
const Identity *port_connection_identity(const PortConnection *connection);
/* Whose limits count for it. */
uid_t port_connection_user(const PortConnection *connection);
/* The same for questions about its process. The descriptor in it is the caller's, to be closed. */
AccessPeer port_connection_peer(const PortConnection *connection);
/* A line in the log about the peer. What its strings hold cannot break the line, and there is a limit to how many lines
 * a user gets. */
void port_connection_log(const PortConnection *connection, const char *format, ...) _printf_(2, 3);
/* For other log lines. */
const char *port_connection_describe(const PortConnection *connection);

/* The data that all connections of this kind share; its type is known to the service. */
void *port_connection_shared(const PortConnection *connection);
Service *port_connection_service(const PortConnection *connection);
const PortsObserver *port_connection_observer(const PortConnection *connection,
                                              void **ret_userdata); /* or NULL */
/* BOOTTIME now, as of this turn of the main loop. */
uint64_t port_connection_now(const PortConnection *connection);

/* The descriptor that came with this call or shortly before it; -1 when none did. The caller's from now on. */
int port_connection_take_fd(PortConnection *connection);

/* Replies with a message, and says whether more will follow. Never fails: what cannot be sent breaks the connection,
 * and a message that no frame can hold is a failure (port_message_max() is what one can). */
void port_reply(PortConnection *connection,
                const PortRequest *request,
                bool has_more,
                const void *data,
                size_t n_data);
/* The same with a descriptor, which is taken over. */
void port_reply_with_fd(PortConnection *connection,
                        const PortRequest *request,
                        bool has_more,
                        const void *data,
                        size_t n_data,
                        int fd);
/* For a handler to return: the reason is logged with the call. PORT_E_REFUSED. */
int port_refuse(PortConnection *connection, const char *format, ...) _printf_(2, 3);
/* The same for a call by which clients find out whether something exists: it is logged for debugging only. */
int port_refuse_quietly(PortConnection *connection, const char *why);
/* Replies that a call has failed, after its handler has returned. */
void port_fail(PortConnection *connection, const PortRequest *request);

size_t port_message_max(void);

/* Bytes that a port keeps for its peer, within what the peer's user may have kept. false: that would be too many. */
bool port_connection_hold(PortConnection *connection, size_t n);
void port_connection_release(PortConnection *connection, size_t n);

/* Bytes that wait for the peer to read. A stream sends no more than it must while there are some. */
size_t port_connection_n_queued(const PortConnection *connection);

/* work() is called soon, outside of the core. Any number of times. */
void port_connection_mark(PortConnection *connection);

/* For ports that stream: drained() is called in another turn of the main loop, when the peer has read everything. */
void port_connection_await_drained(PortConnection *connection);

/* For calls that wait for a permission: further messages of the peer wait, and none is lost. */
void port_connection_pause(PortConnection *connection);
void port_connection_resume(PortConnection *connection);

/* Disconnects the peer; nothing that it sends from now on is dispatched. `why` is for the log; literal. */
void port_connection_break(PortConnection *connection, const char *why);
