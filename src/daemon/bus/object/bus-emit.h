/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Signals, for those who may see them
 *
 * A broadcast on the system bus reaches everybody, while sessions concern few. There, signals of sessions and producers
 * are sent one by one, to peers that may see the object and have made a consumer's call. The user instance broadcasts
 * on the session bus, since all its peers belong to one user.
 */

#include "bus/link/connection.h"
#include "bus/object/bus-buffer.h"
#include "bus/object/bus-source.h"
#include "core/session.h"

/* Longer lists of a session's data sources and notes are left out of signals, which say then that the property is to be
 * read. */
#define SIGNAL_INSTANCES_MAX 128
#define SIGNAL_NOTES_MAX     64

/* `properties` is a NULL-terminated list of names. */
void bus_emit_session_added(BusSession *session);
void bus_emit_session_removed(BusSession *session);
void bus_emit_session_changed(BusSession *session, const char *const properties[]);
/* The state is one of these. */
void bus_emit_session_moved(BusSession *session, const char *const properties[]);
void bus_emit_session_stopped(BusSession *session);
void bus_emit_session_all_started(BusSession *session);
void bus_emit_session_source(BusSession *session, const InstanceInfo *info);
void bus_emit_session_triggered(BusSession *session,
                                const char *trigger,
                                const char *producer,
                                uid_t uid);
void bus_emit_session_snapshot(BusSession *session, const char *clone_path, const char *trigger);

/* Buffers are added and removed with their session. */
void bus_emit_buffer_changed(BusBuffer *buffer, const char *const properties[]);

/* Tells each client that may see the source what has changed from its point of view: a new object, a changed one, or
 * one that is gone. */
void bus_emit_source(BusSource *source);

void bus_emit_producer_added(BusProducer *producer);
void bus_emit_producer_removed(BusProducer *producer);
void bus_emit_producer_changed(BusProducer *producer, const char *const properties[]);

/* NumSessions and NumProducers, to those clients for which they have changed. */
void bus_emit_counts(Bus *bus);
