/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session becomes an object and ceases to be one; and the calls that wait for it. */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/object/bus-emit.h"
#include "bus/session/bus-buffer.h"
#include "bus/session/bus-session.h"
#include "shared/names.h"

int bus_session_allocate(BusSession **ret, Bus *bus) {
        BusSession *session;

        session = calloc(1, sizeof(*session));
        if (!session)
                return -ENOMEM;
        session->bus = bus;
        list_init(&session->owner_link);
        list_init(&session->waiters);
        owned_session_init(&session->owned, &bus->sessions);
        *ret = session;
        return 0;
}

int bus_session_publish(BusSession *session, Client *owner) {
        int r;

        if (asprintf(&session->path,
                     TRACING_SESSION_PATH "/%" PRIu64,
                     session_id(session->owned.session)) < 0) {
                session->path = NULL;
                return -ENOMEM;
        }
        r = bus_buffers_new(session);
        if (r < 0)
                return r;
        owned_session_publish(&session->owned);
        session->owner = owner;
        if (owner)
                list_append(&owner->sessions, &session->owner_link);
        session->state = session_state(session->owned.session);
        session->n_changes_signalled = session_n_changes(session->owned.session);
        session->bus->counts_changed = true;
        session->is_announced = true;
        bus_emit_session_added(session);
        return 0;
}

/* Tells the core that the answer is no longer needed. */
static void session_waiter_forget(SessionWaiter *waiter) {
        Session *session = waiter->session->owned.session;

        if (waiter->what == WAIT_FLUSHED && !waiter->is_flushed)
                session_flush_cancel(session, waiter);
}

static void session_refuse_waiters(BusSession *session) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        SessionWaiter *waiter;

        bus_error_set(&error,
                      BUS_ERROR_WRONG_STATE,
                      "the session ended and was freed while this call waited for it");
        list_for_each (waiter, &session->waiters, link) {
                session_waiter_forget(waiter);
                if (waiter->what == WAIT_FREED)
                        request_reply(&waiter->request, "");
                else
                        request_reply_error(&waiter->request, &error);
                session_waiter_free(waiter);
        }
}

/* The callers hear that the service is gone, and ask the next process. */
static void session_drop_waiters(BusSession *session) {
        SessionWaiter *waiter;

        list_for_each (waiter, &session->waiters, link) {
                session_waiter_forget(waiter);
                session_waiter_free(waiter);
        }
}

BusSession *bus_session_free(BusSession *session) {
        if (!session)
                return NULL;

        if (session->is_announced && !session->owned.is_leaving)
                bus_emit_session_removed(session);
        if (session->owned.is_leaving)
                session_drop_waiters(session);
        else
                session_refuse_waiters(session);
        assert(list_is_empty(&session->waiters));
        owned_session_deinit(&session->owned);
        list_unlink(&session->owner_link);
        session->bus->counts_changed = true;
        bus_buffers_free(session);
        free(session->path);
        free(session);
        return NULL;
}

void bus_session_owner_gone(BusSession *session) {
        list_unlink(&session->owner_link);
        session->owner = NULL;
        if (session_options(session->owned.session)->detached)
                bus_session_mark(session);
        else
                owned_session_leave(&session->owned);
}

SessionWaiter *session_waiter_free(SessionWaiter *waiter) {
        if (!waiter)
                return NULL;
        request_deinit(&waiter->request);
        sd_bus_message_unref(waiter->reply);
        list_unlink(&waiter->link);
        owned_clone_deinit(&waiter->clone);
        free(waiter);
        return NULL;
}

static void session_waiter_cancel(Request *request) {
        SessionWaiter *waiter = container_of(request, SessionWaiter, request);
        BusSession *session = waiter->session;

        session_waiter_forget(waiter);
        if (waiter->what == WAIT_READ_INTO)
                session_stream_close(&session->owned.stream);
        session_waiter_free(waiter);
}

int session_wait(SessionWaiter **ret,
                 BusSession *session,
                 Client *client,
                 sd_bus_message *message,
                 WaitFor what,
                 sd_bus_error *error) {
        SessionWaiter *waiter;
        int r;

        waiter = calloc(1, sizeof(*waiter));
        if (!waiter)
                return -ENOMEM;
        list_init(&waiter->link);
        r = request_init(&waiter->request, client, message, session_waiter_cancel);
        if (r) {
                free(waiter);
                return request_refuse(error);
        }
        waiter->session = session;
        waiter->what = what;
        list_append(&session->waiters, &waiter->link);
        bus_session_mark(session);
        if (ret)
                *ret = waiter;
        return 1; /* answered later */
}
