/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions of a connection for ports. Those that need work only mark it; the work is done later. */

#include <sys/epoll.h>
#include <time.h>

#include "link.h"
#include "shared/fd.h"

const Identity *port_connection_identity(const PortConnection *connection) {
        return &connection->identity;
}

AccessPeer port_connection_peer(const PortConnection *connection) {
        return (AccessPeer){
                .identity = connection->identity,
                .user = port_connection_user(connection),
                .pidfd = fd_peer_pidfd(connection->fd),
                .connected_at_ns = connection->connected_at_ns,
        };
}

const char *port_connection_describe(const PortConnection *connection) {
        return connection->description;
}

void *port_connection_shared(const PortConnection *connection) {
        return connection->shared;
}

Service *port_connection_service(const PortConnection *connection) {
        return connection->ports->service;
}

uint64_t port_connection_now(const PortConnection *connection) {
        uint64_t usec;

        if (sd_event_now(connection->ports->event, CLOCK_BOOTTIME, &usec) < 0)
                return 0; /* only after a fork, which never happens */
        return usec * 1000;
}

const PortsObserver *port_connection_observer(const PortConnection *connection,
                                              void **ret_userdata) {
        *ret_userdata = connection->ports->observer_userdata;
        return connection->ports->observer;
}

int port_connection_take_fd(PortConnection *connection) {
        return TAKE_FD(connection->received_fd);
}

bool port_connection_hold(PortConnection *connection, size_t n) {
        return port_user_hold(connection, n);
}

void port_connection_release(PortConnection *connection, size_t n) {
        port_user_release(connection, n);
}

size_t port_connection_n_queued(const PortConnection *connection) {
        return connection->n_queued;
}

void port_connection_mark(PortConnection *connection) {
        if (!connection->is_broken && !list_is_linked(&connection->marked_link))
                list_append(&connection->ports->marked, &connection->marked_link);
}

void port_connection_break(PortConnection *connection, const char *why) {
        if (connection->is_broken)
                return;
        if (why)
                port_connection_log(connection, "disconnected: %s", why);
        connection->is_broken = true;
        connection->source = sd_event_source_disable_unref(connection->source);
        list_unlink(&connection->marked_link);
        list_unlink(&connection->drained_link);
        list_unlink(&connection->resumed_link);
        list_unlink(&connection->resting_link);
        list_unlink(&connection->link);
        list_append(&connection->ports->gone, &connection->link);
}

void port_connection_await_drained(PortConnection *connection) {
        connection->awaits_drained = true;
        port_connection_watch(connection);
}

void port_connection_pause(PortConnection *connection) {
        connection->is_paused = true;
        port_connection_watch(connection);
}

void port_connection_resume(PortConnection *connection) {
        connection->is_paused = false;
        port_connection_watch(connection);
        if (!connection->is_broken && !list_is_linked(&connection->resumed_link))
                list_append(&connection->ports->resumed, &connection->resumed_link);
}

void port_connection_watch(PortConnection *connection) {
        uint32_t events = connection->is_paused || connection->is_resting ? 0 : EPOLLIN;

        if (!list_is_empty(&connection->queue) || connection->awaits_drained)
                events |= EPOLLOUT;
        if (connection->is_broken || connection->events == events)
                return;
        connection->events = events;
        if (sd_event_source_set_io_events(connection->source, events) < 0)
                port_connection_break(connection, "it cannot be watched");
}
