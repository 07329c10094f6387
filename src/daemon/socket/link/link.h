/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Link: what all connections have, whatever is served on them; not for ports
 *
 *      port-dispatch.c     frames in, and calls to their methods
 *      port-reply.c        frames out
 *      port-queue.c        bytes and descriptors out
 *      port-connection.c   what a connection is, and what it waits for
 *      port-log.c          what is logged about peers
 *      port-user.c         users and their limits
 *
 * Calls go down in this list only.
 */

#include <systemd/sd-event.h>

#include "port.h"
#include "shared/bytes.h"
#include "shared/list.h"
#include "shared/macro.h"
#include "wire/ipc-frame.h"

/* Limits, besides those of core/model/service-limits.h. Incomplete frames, commands that wait to be asked for and
 * replies that wait to be read count in SERVICE_MESSAGE_BYTES, with the memory they wait in. */
#define PORTS_QUEUE_BYTES_MAX (4u << 20) /* of these, sent to one connection */

/* Bytes read from one connection before others have their turn, besides the rest of a frame that has begun. */
#define PORTS_READ_BYTES     (32u << 10)
#define PORTS_READS_PER_TURN 8
/* Some calls take long, and many fit into one read: after this time the other connections have their turn. */
#define PORTS_TURN_NS UINT64_C(5000000)

/* One login user with at least one connection. */
typedef struct PortUser {
        uid_t uid;
        size_t n_connections;
        Charge bytes; /* held for all of them */
        List link;    /* ports->users */
} PortUser;

#define PORT_REFUSAL_BYTES 384

struct Ports {
        sd_event *event;
        Service *service;
        const ServiceInfo *info;
        const PortsObserver *observer;
        void *observer_userdata;
        const PortService *services[_PORT_KIND_N];
        void *shared[_PORT_KIND_N]; /* port_connection_shared() */

        List connections; /* PortConnection */
        List users;       /* PortUser */
        size_t n_connections;
        uint64_t n_calls;

        /* Work for ports_settle(). */
        List gone;    /* PortConnection, of their `link` */
        List marked;  /* PortConnection */
        List drained; /* PortConnection */
        List resumed; /* PortConnection */

        /* Connections whose turn ended before everything that was read had been dispatched, in order. A descriptor that
         * is always ready gives each its next turn among all other event sources, as in session-stream.c. */
        List resting; /* PortConnection */
        int rest_fd;
        sd_event_source *rest_source; /* enabled while there are some */

        /* For the connection that is being served: why its call is refused, the frames that were read, and the frame
         * that is being written. */
        char refusal[PORT_REFUSAL_BYTES];
        bool refuses_quietly;
        uint8_t input[PORTS_READ_BYTES];
        uint8_t output[IPC_FRAME_BYTES_MAX + IPC_REPLY_OVERHEAD_MAX];
};

/* Bytes that wait to be sent, and the descriptor that goes with the first of them. */
typedef struct PortMessage {
        List link;
        int fd;
        size_t n, n_sent;
        uint8_t data[];
} PortMessage;

struct PortConnection {
        Ports *ports;
        PortUser *user;
        Charge charge;
        Identity identity;
        uint64_t connected_at_ns; /* BOOTTIME, or soon after it */
        int fd;
        sd_event_source *source;
        uint32_t events; /* that the event source waits for */
        bool is_broken;
        bool is_paused;      /* nothing is read or dispatched */
        bool is_resting;     /* the same, until its next turn */
        uint64_t turn_began; /* MONOTONIC */
        bool awaits_drained; /* drained() is due, although nothing was queued */
        char description[64];

        const PortService *service; /* the one that this socket serves */
        void *shared;               /* by all connections of this kind */
        void *port;                 /* NULL: not bound, or open() gave none */
        bool is_bound;
        bool is_refused; /* open() refused; it is not called again */

        Bytes held;      /* the first bytes of a frame whose rest has not come */
        int received_fd; /* -1: none */

        List queue; /* PortMessage */
        size_t n_queued;

        List link; /* ports->connections or ports->gone */
        List marked_link, drained_link, resumed_link, resting_link;
};

#define PORT_SERVICE_ID 1 /* there is one service on a socket */

/* Counts the connection for its user. -EUSERS: the user has too many. */
int port_user_join(PortConnection *connection);
/* Charges bytes to the user of a connection. false: that would be too many. */
bool port_user_hold(PortConnection *connection, size_t n);
void port_user_release(PortConnection *connection, size_t n);
/* The connection no longer counts for its user. */
void port_user_leave(PortConnection *connection);

/* Passes a call to its handler, and if that refuses it, logs the reason that port_refuse() was given. */
void port_begin_call(const PortConnection *connection);
void port_log_refusal(const PortConnection *connection, const char *method);

PortConnection *port_connection_free(PortConnection *connection);
DEFINE_CLEANUP(PortConnection *, port_connection_free)

/* The socket is ready: reads a turn's worth and dispatches it. */
void port_connection_read(PortConnection *connection);
/* Dispatches what was read before the connection was paused or its turn was over. */
void port_connection_dispatch_held(PortConnection *connection);
/* Sets which events the event source waits for. */
void port_connection_watch(PortConnection *connection);

/* A frame is written into memory that all connections share, and sent at once. Takes the descriptor over. */
void port_begin_frame(PortConnection *connection, WireWriter *ret);
void port_send(PortConnection *connection, WireWriter *writer, int fd);
void port_fail_request(PortConnection *connection, uint64_t request_id);

/* Sends, or queues. `fd` is taken over. Breaks the connection if neither can be. */
void port_queue_send(PortConnection *connection, const void *data, size_t n, int fd);
/* The socket takes more. */
void port_queue_flush(PortConnection *connection);
void port_queue_deinit(PortConnection *connection);
