/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Consumers: all sessions of Perfetto's consumer port
 *
 * Includes sessions without a connection: detached ones, snapshots that a trigger asked for, and sessions whose
 * connection is gone but whose data is still being written. One belongs to each Ports.
 */

#include <systemd/sd-event.h>

#include "core/service.h"
#include "owner/access-ops.h"
#include "owner/owned-session.h"

#define CONSUMER_KEY_MAX 128 /* of a session that was detached */

/* How long a session waits whose consumer was attached when the process before this one ended. */
#define CONSUMER_AWAIT_NS (UINT64_C(10) * 1000000000)

typedef struct PortsObserver PortsObserver;

typedef struct Consumers {
        Service *service;
        const ServiceInfo *info;
        AccessHost access;
        const PortsObserver *observer; /* NULL: nobody */
        void *observer_userdata;

        OwnedSessions sessions; /* ConsumerSession.owned */
        bool keeps;             /* sessions are kept for the process that comes after this one */
        List queries; /* consumers that wait for producers, which were started so that they can be listed */
} Consumers;

int consumers_init(Consumers *consumers,
                   sd_event *event,
                   Service *service,
                   const ServiceInfo *info,
                   const OutputOps *output_ops,
                   void *output_host);
/* No connection is left. Zeros are allowed. */
void consumers_deinit(Consumers *consumers);

void consumers_settle(Consumers *consumers);
bool consumers_are_settled(const Consumers *consumers);

uint64_t consumers_next_deadline(const Consumers *consumers);
void consumers_tick(Consumers *consumers, uint64_t now);

bool consumers_are_busy(const Consumers *consumers);
void consumers_stop(Consumers *consumers, const char *reason);
bool consumers_are_stopped(const Consumers *consumers);

/* What its user can attach to it by; NULL: nothing, as it was never detached. */
const char *consumers_key(const OwnedSession *session);
/* The two steps of making one that the process before has left, as in socket/ports.h. */
int consumers_allocate(Consumers *consumers, OwnedSession **ret);
int consumers_publish(OwnedSession *session, const char *key, bool was_attached);
/* Those that nobody has come back to end. */
uint64_t consumers_await_deadline(const Consumers *consumers);
void consumers_await_tick(Consumers *consumers, uint64_t now);
