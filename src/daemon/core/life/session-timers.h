/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The timers of a session.
 */

#include "core/model/peer.h"

void session_tick(Session *session, uint64_t now);
uint64_t session_next_deadline(const Session *session);
