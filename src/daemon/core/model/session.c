/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The properties of a session. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "core/model/service.h"
#include "core/model/session.h"

static const char *const session_state_names[_SESSION_STATE_N] = {
        [SESSION_CONFIGURED] = "configured", [SESSION_STARTING] = "starting",
        [SESSION_STARTED] = "started",       [SESSION_FLUSHING] = "flushing",
        [SESSION_STOPPING] = "stopping",     [SESSION_STOPPED] = "stopped",
};

const char *session_state_name(SessionState state) {
        return session_state_names[state];
}

const uint64_t *session_uuid(const Session *session) {
        return session->uuid;
}

/* It was asked to record, and not to stop yet. */
bool session_is_running(const Session *session) {
        return session->state == SESSION_STARTING || session->state == SESSION_STARTED;
}

/* True before the start as well: sources that come late are set up and then started with the others. */
bool session_is_open(const Session *session) {
        return session->state <= SESSION_STARTED;
}

bool session_can_be_left(const Session *session) {
        return session->options.is_kept;
}

/* During session_new() and session_free() the transport knows of the change, and has nothing to look at. */
void session_changed(Session *session) {
        session->n_changes++;
        if (!session->is_quiet)
                session->ops->changed(session->peer);
}

/* Idempotent: the session is looked at once, when the entry point is done. */
void session_mark(Session *session) {
        if (!list_is_linked(&session->marked_link))
                list_append(&session->service->marked, &session->marked_link);
}

uint64_t session_stop_timeout_ns(const Session *session) {
        return config_ns(session->config->pb->data_source_stop_timeout_ms, SESSION_STOP_TIMEOUT_NS);
}

uint64_t session_flush_timeout_ns(const Session *session) {
        return config_ns(session->config->pb->flush_timeout_ms, SESSION_FLUSH_TIMEOUT_NS);
}

void session_arm(Session *session, SessionTimer timer, uint64_t now, uint64_t after_ns) {
        session->timers[timer] = after_ns == UINT64_MAX ? UINT64_MAX : now + after_ns;
}

/* After recording has ended, periods and overdue starts do not matter. */
void session_disarm_all(Session *session) {
        for (size_t i = 0; i < _SESSION_TIMER_N; i++)
                session->timers[i] = UINT64_MAX;
}

/*
 * Timers
 */

uint64_t session_id(const Session *session) {
        return session->id;
}

uint64_t session_order(const Session *session) {
        return session->order;
}

SessionState session_state(const Session *session) {
        return session->state;
}

const char *session_stop_reason(const Session *session) {
        return session->stop_reason;
}

const char *session_name(const Session *session) {
        if (session->cloned_from)
                return session->clone_name;
        return session->config->pb->unique_session_name ?: "";
}

const SessionOptions *session_options(const Session *session) {
        return &session->options;
}

void session_set_detached(Session *session, bool detached) {
        session->options.detached = detached;
}

const Config *session_config(const Session *session) {
        return session->config;
}

uint64_t session_started_at(const Session *session) {
        return session->started_at;
}

uint64_t session_stopped_at(const Session *session) {
        return session->stopped_at;
}

uint64_t session_ends_at(const Session *session) {
        const uint64_t *timers = session->timers;
        uint64_t by_trigger =
                MIN(timers[SESSION_TIMER_TRIGGER_TIMEOUT], timers[SESSION_TIMER_TRIGGER_STOP]);

        return MIN(timers[SESSION_TIMER_DURATION], by_trigger);
}

void session_adopt(Session *clone, const SessionOps *ops, void *peer) {
        clone->ops = ops;
        clone->peer = peer;
        clone->is_quiet = false;
}

uint64_t session_cloned_from(const Session *session) {
        return session->cloned_from;
}

size_t session_n_buffers(const Session *session) {
        return session->n_buffers;
}

const char *session_buffer_name(const Session *session, size_t i) {
        return session->config->pb->buffers[i]->name ?: "";
}

const TraceBufferStats *session_buffer_stats(const Session *session, size_t i) {
        return trace_buffer_stats(session->buffers[i].buffer);
}

bool session_buffer_files(const Session *session,
                          size_t i,
                          int *ret_index_fd,
                          int *ret_segments_fd) {
        return trace_buffer_files(session->buffers[i].buffer, ret_index_fd, ret_segments_fd);
}
