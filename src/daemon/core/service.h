/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service: the root of the core
 *
 * Owns all producers and sessions and matches the ones with the others. Sans-I/O: time is an argument (`now`,
 * BOOTTIME nanoseconds, never going back), requests leave through the ops of peer.h. One thread.
 *
 * The host calls service_tick() when service_next_deadline() has come; every wait in the core (starts, flushes,
 * stops, periods, drains) is driven by it.
 */

#include "core/events/extension.h"
#include "core/model/service-info.h"
#include "core/model/service-limits.h"
#include "core/requests/service-activate.h"
#include "shared/macro.h"

int service_new(Service **ret,
                const ServiceInfo *info,
                const ServiceOps *ops,
                void *userdata,
                uint64_t now);
Service *service_free(Service *service); /* all sessions and producers must be gone */
DEFINE_CLEANUP(Service *, service_free)

void service_activation_failed(Service *service, size_t index, const char *why, uint64_t now);

/* This process ends: takes what producers have finished, and from then on nothing more. Sessions may be freed before
 * the producers that write for them, and what these have finished meanwhile must stay in the memory for the process
 * that comes after this one. */
void service_leave(Service *service);

/* UINT64_MAX: none. May lie in the past: then the tick is due at once. */
uint64_t service_next_deadline(Service *service);
void service_tick(Service *service, uint64_t now);
