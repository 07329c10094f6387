/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connections come, are served, and go; sessions of consumers are settled with them. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "closer/closer.h"
#include "shared/fd.h"
#include "socket/consumer/consumer-port.h"
#include "socket/consumer/consumers.h"
#include "socket/link/link.h"
#include "socket/ports.h"
#include "socket/producer/producer-port.h"

/* A paused connection resumes. */
static int on_rest(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Ports *ports = userdata;
        PortConnection *connection = list_first(&ports->resting, PortConnection, resting_link);

        if (connection) {
                list_unlink(&connection->resting_link);
                connection->is_resting = false;
                port_connection_dispatch_held(connection);
                port_connection_watch(connection);
        }
        if (list_is_empty(&ports->resting))
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
}

static int ports_init_rest(Ports *ports) {
        int r;

        list_init(&ports->resting);
        ports->rest_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        if (ports->rest_fd < 0)
                return -errno;
        r = sd_event_add_io(
                ports->event, &ports->rest_source, ports->rest_fd, EPOLLIN, on_rest, ports);
        return r < 0 ? r : sd_event_source_set_enabled(ports->rest_source, SD_EVENT_OFF);
}

static Consumers *ports_consumers(const Ports *ports) {
        return ports->shared[PORT_CONSUMER];
}

static int ports_init_consumers(Ports *ports, const PortsOptions *options) {
        Consumers *consumers = calloc(1, sizeof(*consumers));
        int r;

        if (!consumers)
                return -ENOMEM;
        ports->shared[PORT_CONSUMER] = consumers;
        r = consumers_init(consumers,
                           ports->event,
                           ports->service,
                           ports->info,
                           options->output_ops,
                           options->output_host);
        if (r < 0)
                return r;
        if (options->other_sessions)
                owned_sessions_pair(&consumers->sessions, options->other_sessions);
        consumers->observer = ports->observer;
        consumers->observer_userdata = ports->observer_userdata;
        return 0;
}

static void ports_free_consumers(Ports *ports) {
        Consumers *consumers = ports_consumers(ports);

        if (consumers)
                consumers_deinit(consumers);
        free(consumers);
}

int ports_new(Ports **ret, const PortsOptions *options) {
        static const PortService *const services[_PORT_KIND_N] = {
                [PORT_PRODUCER] = &producer_port,
                [PORT_CONSUMER] = &consumer_port,
        };
        _cleanup_(ports_freep) Ports *ports = NULL;
        int r;

        ports = calloc(1, sizeof(*ports));
        if (!ports)
                return -ENOMEM;
        ports->event = sd_event_ref(options->event);
        ports->service = options->service;
        ports->info = options->info;
        ports->observer = options->observer;
        ports->observer_userdata = options->observer_userdata;
        for (size_t i = 0; i < _PORT_KIND_N; i++)
                ports->services[i] = options->services[i] ?: services[i];
        list_init(&ports->connections);
        list_init(&ports->users);
        list_init(&ports->gone);
        list_init(&ports->marked);
        list_init(&ports->drained);
        list_init(&ports->resumed);
        r = ports_init_rest(ports);
        if (r < 0)
                return r;
        r = ports_init_consumers(ports, options);
        if (r < 0)
                return r;
        *ret = TAKE(ports);
        return 0;
}

static void free_all_connections(List *connections) {
        while (!list_is_empty(connections))
                port_connection_free(list_entry(connections->next, PortConnection, link));
}

Ports *ports_free(Ports *ports) {
        if (!ports)
                return NULL;
        free_all_connections(&ports->gone);
        free_all_connections(&ports->connections);
        assert(list_is_empty(&ports->users) && ports->n_connections == 0);
        assert(list_is_empty(&ports->marked) && list_is_empty(&ports->drained));
        assert(list_is_empty(&ports->resumed) && list_is_empty(&ports->resting));
        ports_free_consumers(ports);
        sd_event_source_disable_unref(ports->rest_source);
        fd_close(ports->rest_fd);
        sd_event_unref(ports->event);
        free(ports);
        return NULL;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        PortConnection *connection = userdata;

        if (events & EPOLLOUT)
                port_queue_flush(connection);
        if (connection->is_broken || connection->is_resting)
                return 0;
        /* Dispatches what the peer sent before it left, too; but a peer that leaves while a call waits for an answer
         * gives up the rest. */
        if (events & (EPOLLHUP | EPOLLERR) && connection->is_paused)
                port_connection_break(connection, NULL);
        else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                port_connection_read(connection);
        return 0;
}

static void connection_describe(PortConnection *connection) {
        static const char *const kinds[_PORT_KIND_N] = {
                [PORT_PRODUCER] = "producer",
                [PORT_CONSUMER] = "consumer",
        };
        size_t kind = 0;

        while (kind + 1 < _PORT_KIND_N && connection->ports->services[kind] != connection->service)
                kind++;
        snprintf(connection->description,
                 sizeof(connection->description),
                 "the %s of pid %d, uid %u",
                 kinds[kind],
                 (int)connection->identity.pid,
                 (unsigned)connection->identity.uid);
}

/* Takes the descriptor over, always. */
static int connection_new(PortConnection **ret, Ports *ports, PortKind kind, int fd) {
        PortConnection *connection = calloc(1, sizeof(*connection));

        if (!connection) {
                closer_close_socket((uid_t)-1, fd);
                return -ENOMEM;
        }
        connection->ports = ports;
        connection->fd = fd;
        connection->received_fd = -1;
        connection->service = ports->services[kind];
        connection->shared = ports->shared[kind];
        connection->events = EPOLLIN;
        list_init(&connection->queue);
        list_init(&connection->link);
        list_init(&connection->marked_link);
        list_init(&connection->drained_link);
        list_init(&connection->resumed_link);
        list_init(&connection->resting_link);
        *ret = connection;
        return 0;
}

int ports_accept(Ports *ports, PortKind kind, int fd) {
        _cleanup_(port_connection_freep) PortConnection *connection = NULL;
        int r;

        r = connection_new(&connection, ports, kind, fd);
        if (r < 0)
                return r;
        r = fd_peer_credentials(fd, &connection->identity.uid, &connection->identity.pid);
        if (r < 0)
                return r;
        connection->connected_at_ns = port_connection_now(connection);
        connection_describe(connection);
        r = port_user_join(connection);
        if (r < 0)
                return r;
        ports->n_connections++;
        r = sd_event_add_io(
                ports->event, &connection->source, fd, connection->events, on_io, connection);
        if (r < 0)
                return r;
        ports->n_calls++;
        list_append(&ports->connections, &connection->link);
        TAKE(connection);
        return 0;
}

static void settle_drained(Ports *ports) {
        PortConnection *connection;

        while ((connection = list_first(&ports->drained, PortConnection, drained_link))) {
                list_unlink(&connection->drained_link);
                connection->service->drained(connection->port);
        }
}

static void settle_marked(Ports *ports) {
        PortConnection *connection;

        while ((connection = list_first(&ports->marked, PortConnection, marked_link))) {
                list_unlink(&connection->marked_link);
                if (connection->is_bound && connection->service->work)
                        connection->service->work(connection->port);
        }
}

static void settle_resumed(Ports *ports) {
        PortConnection *connection;

        while ((connection = list_first(&ports->resumed, PortConnection, resumed_link))) {
                list_unlink(&connection->resumed_link);
                port_connection_dispatch_held(connection);
        }
}

bool ports_is_settled(const Ports *ports) {
        return list_is_empty(&ports->resumed) && list_is_empty(&ports->marked) &&
               list_is_empty(&ports->gone) && consumers_are_settled(ports_consumers(ports));
}

/* The work of one connection may break others, or mark them. */
void ports_settle(Ports *ports) {
        settle_drained(ports);
        while (!ports_is_settled(ports)) {
                settle_resumed(ports);
                consumers_settle(ports_consumers(ports));
                settle_marked(ports);
                while (!list_is_empty(&ports->gone))
                        port_connection_free(list_entry(ports->gone.next, PortConnection, link));
        }
}

bool ports_is_busy(const Ports *ports) {
        return ports->n_connections > 0 || consumers_are_busy(ports_consumers(ports));
}

void ports_set_access(Ports *ports, const AccessHost *access) {
        ports_consumers(ports)->access = *access;
}

void ports_stop_sessions(Ports *ports, const char *reason) {
        consumers_stop(ports_consumers(ports), reason);
}

bool ports_is_stopped(const Ports *ports) {
        return consumers_are_stopped(ports_consumers(ports));
}

uint64_t ports_next_deadline(const Ports *ports) {
        return consumers_next_deadline(ports_consumers(ports));
}

void ports_tick(Ports *ports, uint64_t now) {
        consumers_tick(ports_consumers(ports), now);
}

size_t ports_n_bytes_held(const Ports *ports) {
        const PortUser *user;
        size_t n = 0;

        list_for_each (user, &ports->users, link)
                n += user->bytes.n;
        return n;
}

uint64_t ports_n_calls(const Ports *ports) {
        return ports->n_calls;
}

void ports_keep_sessions(Ports *ports) {
        ports_consumers(ports)->keeps = true;
}

OwnedSessions *ports_sessions(const Ports *ports) {
        return &ports_consumers(ports)->sessions;
}

const char *ports_session_key(const OwnedSession *session) {
        return consumers_key(session);
}

int ports_session_allocate(Ports *ports, OwnedSession **ret) {
        return consumers_allocate(ports_consumers(ports), ret);
}

int ports_session_publish(OwnedSession *session, const char *key, bool was_attached) {
        return consumers_publish(session, key, was_attached);
}
