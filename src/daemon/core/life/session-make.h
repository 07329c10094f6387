/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Making a session: memory, buffers, sources, filter; and giving all of it back.
 */

#include "core/model/session-info.h"
#include "shared/macro.h"

int session_allocate(Session **ret, Service *service, const SessionOptions *options);
void session_register(Session *session);

int session_charge(Session *session, SessionError *error);
int session_add_buffers(Session *session,
                        const Perfetto__Protos__TraceConfig *config,
                        SessionError *error);
int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config);
int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config);
/* Frees what no list of the service has a use for: its memory, charges and buffers. session_free() ends all that goes
 * on in it first. */
Session *session_discard(Session *session);
DEFINE_CLEANUP(Session *, session_discard)
