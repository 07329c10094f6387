/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Makes the parts of a session (memory, buffers, sources, filter), and frees them.
 */

#include "core/model/session-info.h"
#include "shared/macro.h"

/* A buffer of an earlier process: its files. Descriptors that are taken over become -1. */
typedef struct FormerBuffer {
        int index_fd, segments_fd;
        uint32_t n_broken; /* pieces of it that are lost */
} FormerBuffer;

int session_allocate(Session **ret, Service *service, const SessionOptions *options);
void session_register(Session *session);
/* The session gets an id that no other one has. */
void session_register_as(Session *session, uint64_t id);

int session_charge(Session *session, SessionError *error);
int session_add_buffers(Session *session,
                        const Perfetto__Protos__TraceConfig *config,
                        FormerBuffer *former,
                        SessionError *error);
int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config);
int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config);
/* Frees the session's memory, charges and buffers. No list may hold it: session_free() ends everything that goes on in
 * it first. */
Session *session_discard(Session *session);
DEFINE_CLEANUP(Session *, session_discard)
