/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Settling: the end of each entry point.
 */

#include "core/model/peer.h"

/* Carries on one session: its states, and when it has stopped, the snapshots that are planned. */
void session_settle(Session *session, uint64_t now);
/* The end of each entry point: carries on every session that is marked. */
void service_settle(Service *service);
