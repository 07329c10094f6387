/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The service as a producer of its own data source (events/self-trace.h).
 */

#include "core/model/peer.h"

typedef struct SelfTrace SelfTrace;

/* Joins the session to the source, if its config asks for that. */
void self_trace_offer(Session *session);
SelfTrace *self_trace_free(SelfTrace *self);
