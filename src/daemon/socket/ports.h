/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ports: Perfetto's sockets, the second transport beside D-Bus
 *
 * Serves Perfetto's producer and consumer protocols on accepted unix sockets to programs that know nothing of
 * Desktrace. Each connection belongs to the uid that the kernel reports for it; there are limits on the connections and
 * the bytes of each uid. Whole frames are read, and replies are written as fast as the peer reads them; the rest waits
 * in a bounded queue. So slow or stopped peers are given time, and only a peer whose replies exceed the queue is
 * disconnected. Nothing blocks, and no connection can make another one wait for longer than a turn of the main loop.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "core/service.h"
#include "output/session-stream.h"
#include "owner/access-ops.h"
#include "owner/owned-session.h"
#include "shared/macro.h"
#include "socket/consumer/consumers.h"
#include "socket/link/port-observer.h"
#include "socket/link/port.h"

typedef struct PortsOptions {
        sd_event *event;
        Service *service;
        const ServiceInfo *info;
        const OutputOps *output_ops;
        void *output_host;
        OwnedSessions *
                other_sessions; /* of the other transport, which has to outlive the ports; NULL: none */
        const PortsObserver *observer; /* NULL: nobody */
        void *observer_userdata;
        /* NULL: that of the kind. Tests have their own. */
        const PortService *services[_PORT_KIND_N];
} PortsOptions;

int ports_new(Ports **ret, const PortsOptions *options);
/* Ends all connections. */
Ports *ports_free(Ports *ports);
DEFINE_CLEANUP(Ports *, ports_free)

/* A connected socket; takes the descriptor over, always. -EUSERS: there are too many of them, or of this user. */
int ports_accept(Ports *ports, PortKind kind, int fd);

/* Grants permissions. Without it, what needs one is denied. */
void ports_set_access(Ports *ports, const AccessHost *access);

/* Works until nothing is queued; the main loop calls it outside of the core and of dispatch. */
void ports_settle(Ports *ports);
bool ports_is_settled(const Ports *ports);

/* Whether anything is going on that would end with the process. */
bool ports_is_busy(const Ports *ports);

/* Stops all sessions in order. When ports_is_stopped() is true, all have stopped and their outputs are written. */
void ports_stop_sessions(Ports *ports, const char *reason);
bool ports_is_stopped(const Ports *ports);

uint64_t ports_next_deadline(const Ports *ports);
void ports_tick(Ports *ports, uint64_t now);

/*
 * For the process that comes after this one: a session with a key can be found again when all connections are gone
 */

/* From now on those that begin can be left to it. */
void ports_keep_sessions(Ports *ports);
OwnedSessions *ports_sessions(const Ports *ports);
/* What any connection of its user attaches to it by; NULL: nothing, as it was never detached. */
const char *ports_session_key(const OwnedSession *session);
/* The two steps of taking one that was left: first it has no session of the core, then it is one of them all. If
 * somebody was attached to it, it waits for them for CONSUMER_AWAIT_NS. Returns 0 or a negative errno, after which
 * the caller frees it. */
int ports_session_allocate(Ports *ports, OwnedSession **ret);
int ports_session_publish(OwnedSession *session, const char *key, bool was_attached);

/* Held for all connections: incomplete frames, and replies that were not read. */
size_t ports_n_bytes_held(const Ports *ports);

/* Connections ever, and frames ever: whether anybody uses it. */
uint64_t ports_n_calls(const Ports *ports);
