/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers: a name, sent by anybody, that makes sessions begin, end, or take a snapshot of themselves
 *
 * A session lists the names that it listens to (trigger_config), and takes them from programs of its user. If the
 * config says from_other_users, one of the system takes them from everybody. A sender learns nothing of the sessions of
 * other users. By its trigger_mode
 *
 *      START_TRACING    it is set up and waits; the first trigger starts it, and stop_delay_ms later it stops
 *      STOP_TRACING     it records until stop_delay_ms after the first trigger
 *      CLONE_SNAPSHOT   it goes on, and stop_delay_ms after each trigger a clone is made, which the transport gets
 *
 * As in Perfetto, one of the first two ends with trigger_timeout_ms when no trigger has come, and then there is nothing
 * to read: its user asked for what is around an event, and there was none. A CLONE_SNAPSHOT session ends with it in any
 * case, and only its clones can be read. Unlike there, who a trigger is from is attested, and a session's
 * owner has a history of hits of the own.
 */

#include "core/model/trigger-info.h"
#include "core/session.h"

enum {
        _TRIGGER_E_SUCCESS,
        TRIGGER_E_LIMIT, /* this user sends too many that somebody listens to: TRIGGER_SENDS_MAX at once,
                            TRIGGER_SENDS_RATE a second */
};

/* Sends triggers. *ret_n_sessions: how many sessions of the sender's user took one; a name that nobody listens to is no
 * error. */
int service_activate_triggers(Service *service,
                              const TriggerSender *sender,
                              const char *const names[],
                              size_t n_names,
                              size_t *ret_n_sessions,
                              uint64_t now);
