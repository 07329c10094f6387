/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Making a session: memory, buffers, sources, filter; and giving all of it back.
 */

#include "core/model/session-info.h"
#include "shared/macro.h"

/* A buffer of a service that is gone: its files, which are taken over (-1) if it can be adopted. */
typedef struct FormerBuffer {
        int index_fd, segments_fd;
        uint32_t n_broken; /* pieces of it that are lost */
} FormerBuffer;

int session_allocate(Session **ret, Service *service, const SessionOptions *options);
void session_register(Session *session);
/* With a number that no other session has. */
void session_register_as(Session *session, uint64_t id);

int session_charge(Session *session, SessionError *error);
int session_add_buffers(Session *session,
                        const Perfetto__Protos__TraceConfig *config,
                        FormerBuffer *former,
                        SessionError *error);
int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config);
int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config);
/* Frees what no list of the service has a use for: its memory, charges and buffers. session_free() ends all that goes
 * on in it first. */
Session *session_discard(Session *session);
DEFINE_CLEANUP(Session *, session_discard)
