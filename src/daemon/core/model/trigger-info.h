/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What everybody may know of a session's triggers; core/trigger.h says what they are.
 */

#include "core/model/peer.h"

/* Also what a STOP_TRACING session is with use_clone_snapshot_if_available: here it is. */
typedef enum TriggerMode {
        TRIGGER_MODE_NONE,
        TRIGGER_MODE_START,
        TRIGGER_MODE_STOP,
        TRIGGER_MODE_CLONE,
} TriggerMode;

/* The sender. */
typedef struct TriggerSender {
        Identity identity;
        const char *
                producer; /* the name of the producer that it is, for producer_name_regex; NULL: none */
        const char *name; /* for people, of a sender that is no producer; NULL: unknown */
} TriggerSender;

/* Whether session_start() is for somebody else to call: the config defers the start, or a trigger does. */
bool session_is_deferred(const Session *session);

/* How the config listens to triggers. */
TriggerMode session_trigger_mode(const Session *session);
