/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * BusSession: a session of the core behind an object path
 *
 * Belongs to the Client that started it, unless it is detached and that Client has gone. Moves data from the
 * session to its output, signals what changes, and answers the calls that wait for it.
 */

#include "bus/link/bus-error.h"
#include "bus/link/connection.h"
#include "bus/object/bus-buffer.h"
#include "core/session.h"
#include "owner/owned-session.h"

#define BUS_OWNER_NAME_MAX 255
#define BUS_OWNER_AWAIT_NS (UINT64_C(10) * 1000000000)

/* The owner in the earlier process: that connection may still exist. */
typedef struct BusOwner {
        char name[BUS_OWNER_NAME_MAX + 1]; /* on the message bus; "": it was on a socket */
        uint64_t until;                    /* when to give it up; 0: nobody is awaited */
} BusOwner;

struct BusSession {
        OwnedSession
                owned; /* its stream belongs to StartSession(), or to ReadInto() while that call lasts */
        Bus *bus;
        bool is_partial; /* records although a data source has failed to start */
        bool is_announced;
        bool is_public; /* signals are broadcast, rather than sent to those who may see it and have called */
        Client *owner; /* NULL: detached, awaited, or on its way out */
        BusOwner awaited;
        char *path;
        BusBuffer *buffers; /* one for each of the session */
        size_t n_buffers;

        List owner_link; /* owner->sessions */
        List waiters;    /* SessionWaiter */

        /* The values that were last signalled. */
        SessionState state;
        SessionTotals totals;
        uint64_t n_changes_signalled; /* of session_n_changes() */
        size_t n_notes_signalled;
        const SessionTotals *
                told; /* while a signal with properties is made for each listener; otherwise NULL */
        bool all_started_is_signalled, stopped_is_signalled;
};

/* For methods that only our own sessions have: a negative errno with *error set for other sessions. */
int bus_session_check_own(const BusSession *session, sd_bus_error *error);

bool bus_session_is_visible(const BusSession *session, const Client *client);

/* The path may also be that of one of its buffers. */
BusSession *bus_session_by_path(Bus *bus, const char *path);

/* Marks it: it has work in this turn of the main loop. */
void bus_session_mark(BusSession *session);

const char *bus_session_stop_reason(const BusSession *session);
void bus_session_totals(const BusSession *session, SessionTotals *ret);

/* The reply that names the producers that did not answer: within on_flushed(), or of a session that has stopped. */
int bus_session_reply_silent(sd_bus_message **ret, sd_bus_message *call, const Session *session);

/* `types` is "ssuus" or "(ssuus)". */
int bus_append_source(sd_bus_message *reply, const char *types, const InstanceInfo *info);

int bus_method_get_buffer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_get_writer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error);
