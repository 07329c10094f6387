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
#include "bus/link/request.h"
#include "bus/object/bus-buffer.h"
#include "core/session.h"
#include "owner/owned-clone.h"
#include "owner/owned-session.h"

#define READ_BYTES_MAX OUTPUT_BATCH_BYTES

struct BusSession {
        OwnedSession
                owned; /* its stream belongs to StartSession(), or to ReadInto() while that call lasts */
        Bus *bus;
        bool is_partial; /* records although a data source has failed to start */
        bool is_announced;
        bool is_public; /* signals are broadcast, rather than sent to those who may see it and have called */
        Client *owner; /* NULL: detached, or on its way out */
        char *path;
        BusBuffer *buffers; /* one for each of the session */
        size_t n_buffers;

        List owner_link; /* owner->sessions */
        List waiters;    /* SessionWaiter */

        /* As last signalled. */
        SessionState state;
        SessionTotals totals;
        uint64_t n_changes_signalled; /* of session_n_changes() */
        size_t n_notes_signalled;
        bool all_started_is_signalled, stopped_is_signalled;
};

typedef enum WaitFor {
        WAIT_SESSION,   /* StartSession(): replies with the path */
        WAIT_STARTED,   /* Start() */
        WAIT_STOPPED,   /* Stop() */
        WAIT_FREED,     /* Free() of a session whose output is still being written */
        WAIT_FLUSHED,   /* Flush() */
        WAIT_READ_INTO, /* ReadInto() */
        WAIT_CLONED,    /* Clone() */
} WaitFor;

/* A call that waits for the session. */
typedef struct SessionWaiter {
        Request request;
        BusSession *session;
        WaitFor what;
        bool is_flushed;
        int outcome;           /* of the flush */
        sd_bus_message *reply; /* names producers that did not answer; NULL: out of memory */
        List link;             /* session->waiters */
        OwnedClone clone;      /* of Clone() */
} SessionWaiter;

BusSession *bus_session_free(BusSession *session);
DEFINE_CLEANUP(BusSession *, bus_session_free)

/* The two steps of making one: allocated without a session of the core, it is no object yet; published with one, it
 * is. `owner` may be NULL. */
int bus_session_allocate(BusSession **ret, Bus *bus);
int bus_session_publish(BusSession *session, Client *owner);

/* Makes only the object, for a session of another transport that has just begun; the object must be freed before the
 * session. Only the connection of the other transport reads or ends the session, and decides whether the session
 * outlives it. */
int bus_session_new_foreign(BusSession **ret,
                            Bus *bus,
                            Session *session,
                            const SessionStream *stream);
/* For methods that only our own sessions have: a negative errno with *error set for other sessions. */
int bus_session_check_own(const BusSession *session, sd_bus_error *error);

/* Its Client is being freed. */
void bus_session_owner_gone(BusSession *session);

bool bus_session_is_visible(const BusSession *session, const Client *client);

/* bus-session-owner.c */
int bus_method_attach(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_detach(sd_bus_message *message, void *userdata, sd_bus_error *error);

const char *bus_session_stop_reason(const BusSession *session);

/* What the D-Bus transport does for its owned sessions. */
extern const OwnedOps bus_owned_ops;
void bus_session_mark(BusSession *session);
void bus_session_signal_changes(BusSession *session);
/* Signals each data source that has started or ended. */
void bus_session_signal_sources(BusSession *session);
/* Signals totals and buffers, and sources that were not signalled with a change of state. */
void bus_session_signal_counters(BusSession *session);

/* A negative errno has *error set. */
int session_wait(SessionWaiter **ret,
                 BusSession *session,
                 Client *client,
                 sd_bus_message *message,
                 WaitFor what,
                 sd_bus_error *error);
SessionWaiter *session_waiter_free(SessionWaiter *waiter);

/*
 * The output: bus-session-output.c
 */

/* What to reply after an outcome of session_stream_open…(): fills *error and returns a negative errno. */
int bus_session_refuse_output(sd_bus_error *error, int r, uid_t user, const char *why);

/* Opens the output for what a session of this config records. `fd` is taken over on success only. */
int bus_session_open_output(BusSession *session,
                            uid_t user,
                            const Config *config,
                            int *fd,
                            sd_bus_error *error);

/* The reply that names the producers that did not answer: within on_flushed(), or of a session that has stopped. */
int bus_session_reply_silent(sd_bus_message **ret, sd_bus_message *call, const Session *session);

/* Sends everything that can be read now to `fd`, which is taken over on success only. */
int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error);

void bus_session_totals(const BusSession *session, SessionTotals *ret);

/*
 * Clones: bus-clone.c
 */

int bus_method_clone(sd_bus_message *message, void *userdata, sd_bus_error *error);
void bus_clone_answer(SessionWaiter *waiter);

/* Makes an object of a clone that was adopted. */
int bus_clone_publish(BusSession *clone, const BusSession *source, Client *owner);

/* `types` is "ssuus" or "(ssuus)". */
int bus_append_source(sd_bus_message *reply, const char *types, const InstanceInfo *info);

int bus_method_get_buffer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_get_writer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error);

extern const sd_bus_vtable bus_session_vtable[];

/* For sd_bus_add_fallback_vtable() and sd_bus_add_node_enumerator(); userdata is the Bus. */
int bus_session_find(sd_bus *connection,
                     const char *path,
                     const char *interface,
                     void *userdata,
                     void **ret_found,
                     sd_bus_error *error);
int bus_session_enumerate(sd_bus *connection,
                          const char *prefix,
                          void *userdata,
                          char ***ret_nodes,
                          sd_bus_error *error);
/* The path may also be that of one of its buffers. */
BusSession *bus_session_by_path(Bus *bus, const char *path);
