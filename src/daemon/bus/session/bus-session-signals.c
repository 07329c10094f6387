/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The signals of a session. A change of state is signalled at once, with the sources as they are then. Counters, and
 * sources that come and go without a change of state, are signalled at most every BUS_COUNTERS_INTERVAL_NS: there may
 * be many thousand sources, and the property lists all of them. The same holds for the signals of single sources while
 * the session itself starts or stops; after that they follow the answer to the call that waits for it.
 */

#include "bus/session/bus-session-signals.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-session.h"
#include "bus/session/bus-buffer.h"

/* Adds the names of properties that differ from those signalled last. */
static size_t session_changed_totals(BusSession *session, const char *ret_names[static 4]) {
        SessionTotals now;
        size_t n = 0;

        bus_session_totals(session, &now);
        if (now.bytes_written != session->totals.bytes_written)
                ret_names[n++] = "BytesWritten";
        if (now.bytes_output != session->totals.bytes_output)
                ret_names[n++] = "BytesOutput";
        if (now.chunks_lost != session->totals.chunks_lost)
                ret_names[n++] = "ChunksLost";
        if (now.packets_lost != session->totals.packets_lost)
                ret_names[n++] = "PacketsLost";
        session->totals = now;
        return n;
}

static bool session_sources_changed(const BusSession *session) {
        return session_n_changes(session->owned.session) != session->n_changes_signalled;
}

/* Whether there are notes that were not signalled. */
static bool session_take_new_notes(BusSession *session) {
        size_t n_before = session->n_notes_signalled;

        session->n_notes_signalled = session_n_notes(session->owned.session);
        return session->n_notes_signalled != n_before;
}

static void session_signal_properties(BusSession *session) {
        const SessionState state = session_state(session->owned.session);
        const char *names[5] = {};
        size_t n = 0;

        if (state == session->state) {
                if (session_sources_changed(session))
                        bus_counters_changed(session->bus);
                return;
        }
        if (session_sources_changed(session))
                names[n++] = "Sources";
        if (session_take_new_notes(session))
                names[n++] = "Notes";
        names[n++] = "State";
        if (state > SESSION_STARTED)
                names[n++] = "StopReason";
        session->n_changes_signalled = session_n_changes(session->owned.session);
        session->state = state;
        bus_emit_session_moved(session, names);
}

/* While the session starts or stops, each source goes through several states within milliseconds. */
static bool session_is_in_transit(const BusSession *session) {
        const SessionState state = session_state(session->owned.session);

        return state == SESSION_STARTING || state == SESSION_FLUSHING || state == SESSION_STOPPING;
}

#define INSTANCES_AT_ONCE \
        1024 /* whose signals are sent; each is for each listener, and others wait */

static void session_signal_instances(BusSession *session) {
        InstanceInfo info;
        unsigned n = 0;

        /* Changes can be taken only once: for sessions of the other transport, that transport takes them. */
        for (; n < INSTANCES_AT_ONCE && !session->owned.foreign &&
               session_take_changed_instance(session->owned.session, &info);
             n++)
                bus_emit_session_source(session, &info);
        if (n == INSTANCES_AT_ONCE)
                bus_counters_changed(session->bus);
        if (session->all_started_is_signalled || !session_all_started(session->owned.session))
                return;
        session->all_started_is_signalled = true;
        bus_emit_session_all_started(session);
}

void bus_session_signal_sources(BusSession *session) {
        if (session_is_in_transit(session))
                bus_counters_changed(session->bus);
        else
                session_signal_instances(session);
}

static void session_signal_counters(BusSession *session) {
        const char *names[7] = {};
        size_t n = session_changed_totals(session, names);

        if (session_sources_changed(session))
                names[n++] = "Sources";
        if (session_take_new_notes(session))
                names[n++] = "Notes";
        session->n_changes_signalled = session_n_changes(session->owned.session);
        if (n > 0)
                bus_emit_session_changed(session, names);
        bus_buffers_signal(session);
}

void bus_session_signal_counters(BusSession *session) {
        session_signal_counters(session);
        session_signal_instances(session);
}

void bus_session_signal_changes(BusSession *session) {
        session_signal_properties(session);
        if (session->stopped_is_signalled || !session->owned.is_finished)
                return;
        session->stopped_is_signalled = true;
        session_signal_counters(session);
        bus_emit_session_stopped(session);
}
