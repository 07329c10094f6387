/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What bus_settle() does for a session: it moves data, signals and answers. It runs when the core has returned, so that
 * it may call the core.
 */

#include <errno.h>
#include <inttypes.h>

#include "bus/object/bus-emit.h"
#include "bus/session/bus-clone.h"
#include "bus/session/bus-session-ops.h"
#include "bus/session/bus-session-signals.h"
#include "bus/session/bus-session-work.h"
#include "bus/session/bus-session.h"
#include "shared/error.h"

static void waiter_reply_flush(SessionWaiter *waiter) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        if (waiter->outcome == 0) {
                request_reply_message(&waiter->request, waiter->reply);
                return;
        }
        bus_error_set_session(&error, "the flush is not complete", waiter->outcome, NULL);
        request_reply_error(&waiter->request, &error);
}

static void waiter_reply_stop(SessionWaiter *waiter) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = bus_session_reply_silent(
                &waiter->reply, waiter->request.message, waiter->session->owned.session);
        if (r >= 0) {
                request_reply_message(&waiter->request, waiter->reply);
                return;
        }
        sd_bus_error_set_errno(&error, r);
        request_reply_error(&waiter->request, &error);
}

static void waiter_reply_read_into(SessionWaiter *waiter) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        BusSession *session = waiter->session;
        const uint64_t n_bytes = session_stream_n_written(&session->owned.stream);
        const int r = session_stream_status(&session->owned.stream);

        session_stream_close(&session->owned.stream);
        if (r >= 0) {
                request_reply(&waiter->request, "t", n_bytes);
                return;
        }
        bus_error_set(&error,
                      BUS_ERROR_OUTPUT_FAILED,
                      "cannot write the trace: %s (%" PRIu64 " bytes were written)",
                      strerror(-r),
                      n_bytes);
        request_reply_error(&waiter->request, &error);
}

static bool waiter_is_due(const SessionWaiter *waiter) {
        const BusSession *session = waiter->session;
        const SessionState state = session_state(session->owned.session);

        switch (waiter->what) {
        case WAIT_SESSION:
        case WAIT_STARTED:
                return state != SESSION_STARTING;
        case WAIT_STOPPED:
                return session->owned.is_finished;
        case WAIT_FLUSHED:
                return waiter->is_flushed;
        case WAIT_CLONED:
                return waiter->clone.is_answered;
        case WAIT_READ_INTO:
                return session_stream_is_done(&session->owned.stream);
        case WAIT_FREED: /* answered by bus_session_free() */
        default:
                return false;
        }
}

static bool instance_has_failed(const InstanceInfo *info) {
        return info->why[0] && (info->state == INSTANCE_STOPPED || info->state == INSTANCE_MISSING);
}

/* Whether all instances of the data source have failed; *ret is the first of them. */
static bool source_has_failed(const Session *session, const char *source, InstanceInfo *ret) {
        InstanceCursor cursor = {};
        InstanceInfo info;
        bool has_failed = false;

        while (session_next_instance(session, &cursor, &info)) {
                if (!streq(info.source, source))
                        continue;
                if (!instance_has_failed(&info))
                        return false;
                if (!has_failed)
                        *ret = info;
                has_failed = true;
        }
        return has_failed;
}

/* Finds a data source that no producer records although some were asked to. There may be many thousand instances,
 * but each is of one of the config's few sources. */
static bool session_find_failed(const Session *session, InstanceInfo *ret) {
        const Config *config = session_config(session);

        for (size_t i = 0; i < config->pb->n_data_sources; i++)
                if (source_has_failed(session, config->pb->data_sources[i]->config->name, ret))
                        return true;
        return false;
}

/* Replies with the session, or with the reason why it could not record after all. */
static void waiter_reply_session(SessionWaiter *waiter) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        BusSession *session = waiter->session;
        InstanceInfo failed;

        if (session->is_partial || !session_find_failed(session->owned.session, &failed)) {
                request_reply(&waiter->request, "o", session->path);
                return;
        }
        bus_error_set(
                &error,
                BUS_ERROR_SOURCE_FAILED,
                "%s cannot be recorded: %s; leave it out, or set \"partial\" to record the rest",
                failed.source,
                failed.why);
        request_reply_error(&waiter->request, &error);
        session_stop(session->owned.session, "source-failed", bus_now(session->bus));
        session->owned.free_when_finished = true;
}

static void waiter_answer(SessionWaiter *waiter) {
        switch (waiter->what) {
        case WAIT_SESSION:
                waiter_reply_session(waiter);
                break;
        case WAIT_FLUSHED:
                waiter_reply_flush(waiter);
                break;
        case WAIT_READ_INTO:
                waiter_reply_read_into(waiter);
                break;
        case WAIT_CLONED:
                bus_clone_answer(waiter);
                break;
        case WAIT_STOPPED:
                waiter_reply_stop(waiter);
                break;
        case WAIT_STARTED:
        case WAIT_FREED:
        default:
                request_reply(&waiter->request, "");
                break;
        }
        session_waiter_free(waiter);
}

static BusSession *of(const OwnedSession *owned) {
        return container_of(owned, BusSession, owned);
}

static bool on_has_owner(const OwnedSession *owned) {
        return of(owned)->owner || of(owned)->awaited.until > 0;
}

static bool on_is_awaited(const OwnedSession *owned) {
        return !list_is_empty(&of(owned)->waiters);
}

/* Handles every change of the session, and every call that waits for it. */
static void on_work(OwnedSession *owned) {
        BusSession *session = of(owned);
        SessionWaiter *waiter;

        if (!owned_session_attend(owned))
                return;
        bus_session_signal_changes(session);
        list_for_each (waiter, &session->waiters, link) {
                if (waiter_is_due(waiter))
                        waiter_answer(waiter);
        }
        bus_session_signal_sources(session);
        owned_session_free_if_over(owned);
}

static void on_free(OwnedSession *owned) {
        bus_session_free(of(owned));
}

/* If the last bytes cannot be written, the session has stopped and its StopReason was signalled already. */
static void on_output_failed(OwnedSession *owned) {
        bus_emit_session_changed(of(owned), (const char *const[]){ "StopReason", NULL });
}

static void
on_triggered(OwnedSession *owned, const char *trigger, const char *producer, uid_t uid) {
        bus_emit_session_triggered(of(owned), trigger, producer, uid);
}

static int on_snapshot_new(OwnedSession **ret, const OwnedSession *source) {
        BusSession *snapshot;
        int r;

        r = bus_session_allocate(&snapshot, of(source)->bus);
        if (r < 0)
                return r;
        *ret = &snapshot->owned;
        return 0;
}

static int on_snapshot_taken(OwnedSession *source, OwnedSession *snapshot, const char *trigger) {
        int r;

        r = bus_clone_publish(of(snapshot), of(source), NULL);
        if (r < 0)
                return r;
        bus_emit_session_snapshot(of(source), of(snapshot)->path, trigger);
        return 0;
}

const OwnedOps bus_owned_ops = {
        .has_owner = on_has_owner,
        .is_awaited = on_is_awaited,
        .work = on_work,
        .free = on_free,
        .output_failed = on_output_failed,
        .triggered = on_triggered,
        .snapshot_new = on_snapshot_new,
        .snapshot_taken = on_snapshot_taken,
};
