/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers on the bus: Manager.ActivateTriggers(), and what becomes of a session that one hits
 */

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "core/peer.h"

#define TRIGGER_NAMES_MAX 64 /* of one call */

int bus_method_activate_triggers(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* SessionOps; the peer is the BusSession. */
void bus_op_triggered(void *peer, const char *trigger, const char *producer, uid_t uid);
void bus_op_snapshot_taken(void *peer, Session *clone, const char *trigger);
void bus_op_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why);
