/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The clone is allocated and charged before anything happens to the original. It gets its buffers when the flush of
 * their group ends, and everything else with the last group. Until then it is in no list.
 */

#include <errno.h>
#include <stdio.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/session-clone.h"
#include "core/life/session-make.h"
#include "core/life/session-refusal.h"
#include "core/model/session-buffer.h"
#include "core/model/session-filter.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/readout/session-stats.h"
#include "core/requests/flush.h"
#include "core/requests/session-clear.h"
#include "shared/error.h"

typedef struct SessionClone SessionClone;

typedef struct CloneGroup {
        SessionClone *clone;
        FlushGroup group;
} CloneGroup;

struct SessionClone {
        List link; /* source->clones */
        Session *source;
        Session *session;    /* the clone */
        uint64_t started_at; /* asked for */
        uint64_t cut_ns;     /* older data may be left out; 0: keep all */
        CloneGroup groups[2];
        size_t n_awaited; /* of the groups */
        bool is_late;     /* a producer has not flushed in time */
        uint64_t buffer_times[SESSION_BUFFERS_MAX];
        SessionCloneDone done;
        void *userdata;
};

static SessionClone *session_clone_free(SessionClone *clone) {
        if (!clone)
                return NULL;
        list_unlink(&clone->link);
        for (size_t i = 0; i < ARRAY_SIZE(clone->groups); i++)
                session_flush_cancel(clone->source, &clone->groups[i]);
        session_discard(clone->session);
        free(clone);
        return NULL;
}
DEFINE_CLEANUP(SessionClone *, session_clone_free)

/* The reply comes last: the asker may do anything from within it. */
static void clone_finish(SessionClone *clone, int outcome) {
        Session *session = outcome == 0 ? TAKE(clone->session) : NULL;
        SessionCloneDone done = clone->done;
        void *userdata = clone->userdata;

        session_clone_free(clone);
        done(userdata, outcome, session);
}

/*
 * Buffers
 */

/* The original's writers continue in an empty buffer, without the packets that they refer to. */
static void session_buffer_left(SessionBuffer *buffer) {
        trace_buffer_clear(buffer->buffer);
        buffer->n_marks = 0;
        session_buffer_cleared(buffer);
        session_clear_incremental_state(buffer->session, buffer);
}

/* A buffer that is moved is cloned and then cleared. So the original still knows its earlier chunks and packets, in
 * case the rest of one arrives whose beginning is in the clone. */
static int clone_take_buffer(SessionClone *clone, size_t i) {
        SessionBuffer *from = &clone->source->buffers[i];
        SessionBuffer *to = &clone->session->buffers[i];
        int r;

        clone->buffer_times[i] = clone->source->service->now;
        if (!from->is_moved_on_clone)
                return trace_buffer_clone(
                        &to->buffer, from->buffer, buffer_cut(from, clone->cut_ns));

        r = trace_buffer_clone(&to->buffer, from->buffer, 0);
        if (r == 0)
                session_buffer_left(from);
        return r;
}

static int clone_take_group(SessionClone *clone, FlushGroup group) {
        for (size_t i = 0; i < clone->source->n_buffers; i++) {
                int r;

                if (!flush_group_has(group, &clone->source->buffers[i]))
                        continue;
                r = clone_take_buffer(clone, i);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Data that producers still hold is kept without the earlier data, and must not refer to it. */
static void session_clear_before_clone(Session *session) {
        for (size_t i = 0; i < session->n_buffers; i++)
                if (session->config->pb->buffers[i]->clear_before_clone)
                        session_buffer_left(&session->buffers[i]);
}

/*
 * Everything else
 */

static int clone_allocate_buffers(Session *session, const Session *source, SessionError *error) {
        session->buffers = calloc(source->n_buffers + 1, sizeof(*session->buffers));
        if (!session->buffers)
                return -ENOMEM;
        for (size_t i = 0; i < source->n_buffers; i++) {
                SessionBuffer *buffer = &session->buffers[i];
                int r;

                buffer->session = session;
                buffer->clear_at_bytes = UINT64_MAX;
                r = quota_charge(&session->service->quota,
                                 &buffer->charge,
                                 session->user,
                                 QUOTA_BUFFER_BYTES,
                                 source->buffers[i].charge.n);
                if (r == QUOTA_E_EXCEEDED)
                        return session_error_quota(
                                session, error, QUOTA_BUFFER_BYTES, source->buffers[i].charge.n);
                if (r < 0)
                        return r;
                session->n_buffers++;
        }
        return 0;
}

static int clone_charge(Session *session, const Session *source, SessionError *error) {
        const uint64_t n_sequence_bytes = sequence_ids_bytes(&source->reader.sequences);
        int r;

        r = quota_charge(
                &session->service->quota, &session->charge, session->user, QUOTA_SESSIONS, 1);
        if (r == QUOTA_E_EXCEEDED)
                return session_error_quota(session, error, QUOTA_SESSIONS, 1);
        if (r < 0)
                return r;
        r = quota_charge(&session->service->quota,
                         &session->reader.sequences.charge,
                         session->user,
                         QUOTA_BUFFER_BYTES,
                         n_sequence_bytes);
        if (r == QUOTA_E_EXCEEDED)
                return session_error_quota(session, error, QUOTA_BUFFER_BYTES, n_sequence_bytes);
        return r;
}

static int clone_copy_config(Session *session, const Session *source) {
        ConfigError error;

        int r;

        r = config_new_from_bytes(
                &session->config, source->config->bytes, source->config->n_bytes, &error);
        if (r == 0 && source->change)
                r = config_new_from_bytes(
                        &session->change, source->change->bytes, source->change->n_bytes, &error);
        return error_fold(r);
}

/* Cannot fail for its form: it worked for the original, from the same config. */
static int clone_copy_filter(Session *session) {
        char why[SESSION_FILTER_WHY_BYTES];

        return session->skips_filter
                       ? 0
                       : session_filter_new(&session->filter, session->config->pb, why);
}

/* Does everything that can fail and needs no answer of a producer. */
static int clone_allocate(Session **ret,
                          const Session *source,
                          const CloneOptions *options,
                          SessionError *error) {
        const SessionOptions clone_options = {
                .owner = options->owner,
                .scope = source->options.scope,
                .has_output = options->has_output,
                .detached = options->detached,
        };
        _cleanup_(session_discardp) Session *session = NULL;
        int r;

        r = session_allocate(&session, source->service, &clone_options);
        if (r < 0)
                return r;
        session->state = SESSION_STOPPED;
        session->cloned_from = source->id;
        session->skips_filter = options->skips_filter;
        snprintf(session->clone_name, sizeof(session->clone_name), "%s", options->name ?: "");
        snprintf(session->stop_reason, sizeof(session->stop_reason), "cloned");
        r = clone_charge(session, source, error);
        if (r)
                return r;
        r = clone_allocate_buffers(session, source, error);
        if (r)
                return r;
        r = clone_copy_config(session, source);
        if (r < 0)
                return r;
        r = clone_copy_filter(session);
        if (r < 0)
                return r;
        *ret = TAKE(session);
        return 0;
}

/* Copies what the service would write about the original at a first read now, and notes that this is a clone. */
static void clone_copy_events(SessionClone *clone, uint64_t now) {
        EventList *events = &clone->session->events;

        event_list_copy(events, &clone->source->events);
        event_list_add(events, EVENT_CLONE_STARTED, clone->started_at, NULL);
        for (size_t i = 0; i < clone->session->n_buffers; i++)
                event_list_add_buffer(
                        events, EVENT_BUFFER_CLONED, clone->buffer_times[i], (uint32_t)i);
        event_list_add(events, EVENT_TRACING_DISABLED, now, NULL);
}

static void clone_copy_counts(Session *session, const Session *source) {
        session->producers_dropped = session_producers_dropped(source);
        session->reader.n_invalid = source->reader.n_invalid;
        session->chunks_discarded = source->chunks_discarded;
        session->patches_discarded = source->patches_discarded;
        session->flushes_requested = source->flushes_requested;
        session->flushes_succeeded = source->flushes_succeeded;
        session->flushes_failed = source->flushes_failed;
}

/* A new id that tells it from the original; the second half says that they belong together. */
static void clone_choose_uuid(Session *session, const Session *source) {
        const Service *service = session->service;

        service->ops->random(service->userdata, session->uuid, sizeof(session->uuid[0]));
        session->uuid[1] = source->uuid[1];
}

static int clone_complete(SessionClone *clone, uint64_t now) {
        Session *session = clone->session;
        const Session *source = clone->source;
        int r;

        r = sequence_ids_copy(&session->reader.sequences, &source->reader.sequences);
        if (r == 0)
                r = session_rules_copy(&session->reader.rules, &source->reader.rules);
        if (r < 0)
                return r;
        r = concurrent_copy(session, source);
        if (r < 0)
                return r;
        session->clocks = source->clocks;
        session_snapshot_clocks(session);
        clone_copy_events(clone, now);
        session_copy_notes(session, source);
        clone_copy_counts(session, source);
        session_move_triggers(session, clone->source);
        clone_choose_uuid(session, source);
        session->final_flush = clone->is_late ? FINAL_FLUSH_FAILED : FINAL_FLUSH_SUCCEEDED;
        session->stopped_at = now;
        session_register(session);
        concurrent_added(session);
        self_session_added(session);
        return 0;
}

/* The trace names producers that were silent; the clone does not wait for them. */
static void clone_group_flushed(void *userdata, int outcome) {
        CloneGroup *group = userdata;
        SessionClone *clone = group->clone;
        InstanceCursor cursor = {};
        InstanceInfo silent;
        int r = outcome;

        if (r == 0)
                clone->is_late |= session_next_silent(clone->source, &cursor, &silent);
        if (r == 0)
                r = clone_take_group(clone, group->group);
        if (r == 0 && --clone->n_awaited > 0)
                return;
        if (r == 0)
                r = clone_complete(clone, clone->source->service->now);
        clone_finish(clone, r);
}

static bool session_has_group(const Session *session, FlushGroup group) {
        for (size_t i = 0; i < session->n_buffers; i++)
                if (flush_group_has(group, &session->buffers[i]))
                        return true;
        return false;
}

static int clone_flush_group(SessionClone *clone, FlushGroup group) {
        Session *source = clone->source;
        Flush *flush;

        if (!session_has_group(source, group))
                return 0;
        clone->groups[clone->n_awaited] = (CloneGroup){ .clone = clone, .group = group };
        return flush_new_group(&flush,
                               source,
                               group,
                               session_flush_timeout_ns(source),
                               FLUSH_REASON_CLONE | FLUSH_INITIATOR_SERVICE,
                               clone_group_flushed,
                               &clone->groups[clone->n_awaited++]);
}

/* Nobody writes to a session that has stopped, or that has no buffers. */
static void clone_at_once(SessionClone *clone, uint64_t now) {
        int r;

        r = clone_take_group(clone, FLUSH_GROUP_ALL);
        if (r == 0)
                r = clone_complete(clone, now);
        clone_finish(clone, r);
}

/* A streaming session is read until the clone is complete, and its file comes before the clone's buffers. So its
 * buffers are taken last; what is read in between would be in the trace twice otherwise. */
static int clone_flush(SessionClone *clone) {
        int r;

        if (clone->source->options.has_output)
                return clone_flush_group(clone, FLUSH_GROUP_ALL);
        r = clone_flush_group(clone, FLUSH_GROUP_MOVED);
        return r ? r : clone_flush_group(clone, FLUSH_GROUP_COPIED);
}

static int clone_begin(SessionClone *clone, uint64_t now) {
        Session *source = clone->source;
        int r;

        session_clear_before_clone(source);
        if (source->state == SESSION_STOPPED || source->n_buffers == 0) {
                clone_at_once(clone, now);
                return 0;
        }
        r = clone_flush(clone);
        if (r < 0)
                return r;
        session_mark(source);
        return 0;
}

int session_begin_clone(Session *session,
                        const CloneOptions *options,
                        SessionCloneDone done,
                        void *userdata,
                        SessionError *error,
                        uint64_t now) {
        _cleanup_(session_clone_freep) SessionClone *clone = NULL;
        int r;

        if (session->n_flushes + 2 > SESSION_FLUSHES_MAX)
                return session_error(error,
                                     SESSION_E_LIMIT,
                                     "too many flushes are pending (SESSION_FLUSHES_MAX)");
        clone = calloc(1, sizeof(*clone));
        if (!clone)
                return -ENOMEM;
        *clone = (SessionClone){
                .source = session,
                .started_at = now,
                .cut_ns = options->before_ns && options->before_ns < now ? now - options->before_ns
                                                                         : 0,
                .done = done,
                .userdata = userdata,
        };
        list_append(&session->clones, &clone->link);
        r = clone_allocate(&clone->session, session, options, error);
        if (r)
                return r;
        r = clone_begin(clone, now);
        if (r < 0)
                return r;
        TAKE(clone); /* ends with its reply, which may have been sent already */
        return 0;
}

void session_clone_cancel(Session *session, void *userdata) {
        SessionClone *clone;

        list_for_each (clone, &session->clones, link)
                if (clone->userdata == userdata)
                        session_clone_free(clone);
}

void session_abort_clones(Session *session) {
        SessionClone *clone;

        list_for_each (clone, &session->clones, link)
                clone_finish(clone, SESSION_E_STATE);
}
