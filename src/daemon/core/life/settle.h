/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Settling: the end of each entry point.
 */

#include "core/model/peer.h"

/* Advances one session: its states, and once it has stopped, the planned snapshots. */
void session_settle(Session *session, uint64_t now);
/* The end of each entry point: advances every marked session. */
void service_settle(Service *service);
