/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which data sources of which producers take part in a session.
 */

#include "core/model/peer.h"

typedef struct ProducerSource ProducerSource;
typedef struct SessionSource SessionSource;

void session_match_all(Session *session);
/* Those that the source's filters let through, and did not before. */
void session_match_newcomers(SessionSource *source, const SessionSource *before);
void session_match_source(Session *session, Producer *producer, ProducerSource *offered);
void session_activate_missing(Session *session);
bool session_awaits_producer(const Session *session);
void session_give_up_on(Session *session, ssize_t activatable, const char *why);
