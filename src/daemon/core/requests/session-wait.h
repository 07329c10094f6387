/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The producers that a session need not wait for, because they are suspended and cannot answer.
 */

#include "core/model/peer.h"

/* Somebody is asked, and has a while to answer before it is looked at. */
void session_expect_answers(Session *session, uint64_t now);
/* An answer arrived: restart the grace period for the others. */
void session_give_grace(Session *session, uint64_t now);
void session_look_for_suspended(Session *session, uint64_t now);
/* A producer that was suspended a moment ago and still is need not have it. */
void session_give_up_on_suspended(Session *session);
