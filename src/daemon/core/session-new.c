/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Making a session, and its end. Everything that can fail is done before the first producer hears of it.
 */

#include <errno.h>

#include "core/recent.h"
#include "core/self-trace.h"
#include "core/session-private.h"
#include "shared/error.h"

#define CLEARS_PER_TURN \
        4 /* of a ring: what depends on forgotten packets is at most a quarter of it */

int session_error_quota(const Session *session, SessionError *error, QuotaSlot slot, uint64_t n) {
        char why[QUOTA_WHY_BYTES];

        quota_explain(&session->service->quota, why, session->user, slot, n);
        return session_error(error, SESSION_E_LIMIT, "%s", why);
}

/* session_check() has asked for room already; what is charged here can fail only by memory, or by a limit that two
 * charges of one config share. */
static int session_charge(Session *session, SessionError *error) {
        int r;

        r = quota_charge(
                &session->service->quota, &session->charge, session->user, QUOTA_SESSIONS, 1);
        if (r == QUOTA_E_EXCEEDED)
                return session_error_quota(session, error, QUOTA_SESSIONS, 1);
        return r;
}

void session_buffer_cleared(SessionBuffer *buffer) {
        const TraceBufferStats *stats = trace_buffer_stats(buffer->buffer);

        if (buffer->clear_at_bytes != UINT64_MAX)
                buffer->clear_at_bytes =
                        stats->bytes_written + stats->buffer_bytes / CLEARS_PER_TURN;
}

static TraceBufferPolicy buffer_policy(const Perfetto__Protos__TraceConfig__BufferConfig *config) {
        return config->fill_policy ==
                               PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD
                       ? TRACE_BUFFER_DISCARD
                       : TRACE_BUFFER_RING;
}

static int session_buffer_make(TraceBuffer **ret,
                               const Perfetto__Protos__TraceConfig__BufferConfig *config) {
        return error_fold(
                trace_buffer_new(ret, session_buffer_bytes(config), 0, buffer_policy(config)));
}

static int session_add_buffer(Session *session,
                              const Perfetto__Protos__TraceConfig__BufferConfig *config,
                              SessionError *error) {
        SessionBuffer *buffer = &session->buffers[session->n_buffers];
        uint64_t n_bytes = session_buffer_bytes(config);
        int r;

        buffer->session = session;
        buffer->is_moved_on_clone = config->transfer_on_clone;
        r = quota_charge(&session->service->quota,
                         &buffer->charge,
                         session->user,
                         QUOTA_BUFFER_BYTES,
                         n_bytes);
        if (r == QUOTA_E_EXCEEDED)
                return session_error_quota(session, error, QUOTA_BUFFER_BYTES, n_bytes);
        if (r < 0)
                return r;
        r = session_buffer_make(&buffer->buffer, config);
        if (r) {
                charge_deinit(&buffer->charge);
                return r;
        }
        buffer->clear_at_bytes = buffer_policy(config) == TRACE_BUFFER_RING ? 0 : UINT64_MAX;
        session_buffer_cleared(buffer);
        buffer->id = service_claim_buffer_id(session->service, buffer);
        session->n_buffers++;
        return 0;
}

/* The checks have said that it can be made. */
static int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config) {
        char why[SESSION_FILTER_WHY_BYTES];

        return session_filter_new(&session->filter, config, why);
}

static int session_add_buffers(Session *session,
                               const Perfetto__Protos__TraceConfig *config,
                               SessionError *error) {
        session->buffers = calloc(config->n_buffers + 1, sizeof(*session->buffers));
        if (!session->buffers)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_buffers; i++) {
                int r = session_add_buffer(session, config->buffers[i], error);

                if (r)
                        return r;
        }
        return 0;
}

/* The checks have said that the names, targets and filters are good. */
static int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config) {
        session->sources = calloc(config->n_data_sources + 1, sizeof(*session->sources));
        if (!session->sources)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_data_sources; i++) {
                SessionSource *source = &session->sources[i];
                char why[PATTERN_WHY_BYTES];
                int r;

                source->session = session;
                source->index = i;
                source->pb = config->data_sources[i];
                source->awaited = -1;
                source->buffer =
                        &session->buffers[session_target_buffer(config, source->pb->config)];
                source->n_filters = source->pb->n_producer_name_regex_filter;
                r = patterns_new(&source->filters,
                                 source->pb->producer_name_regex_filter,
                                 source->n_filters,
                                 why);
                if (r < 0)
                        return r;
                session->n_sources++;
        }
        return 0;
}

/* A config may bring its own, to be found again by it. */
static void session_choose_uuid(Session *session, const Perfetto__Protos__TraceConfig *config) {
        if (config->has_trace_uuid_msb && config->has_trace_uuid_lsb) {
                session->uuid[0] = (uint64_t)config->trace_uuid_msb;
                session->uuid[1] = (uint64_t)config->trace_uuid_lsb;
        } else {
                session->service->ops->random(
                        session->service->userdata, session->uuid, sizeof(session->uuid));
        }
}

void session_register(Session *session) {
        Service *service = session->service;

        session->id = service_new_session_id(service, session->options.owner.uid);
        session->order = ++service->n_sessions_ever;
        list_append(&service->sessions, &session->link);
        service->n_sessions++;
        session->census->n[CENSUS_SESSIONS]++;
}

int session_allocate(Session **ret, Service *service, const SessionOptions *options) {
        Session *session = calloc(1, sizeof(*session));

        if (!session)
                return -ENOMEM;
        if (census_join(&session->census, &service->census, options->owner.uid) < 0) {
                free(session);
                return -ENOMEM;
        }
        session->service = service;
        session->options = *options;
        session->user = service_user_of(service, &options->owner);
        session->is_quiet = true;
        list_init(&session->link);
        list_init(&session->instances);
        list_init(&session->changed_instances);
        list_init(&session->notes);
        list_init(&session->flushes);
        list_init(&session->clones);
        list_init(&session->triggers.hits);
        list_init(&session->triggers.snapshots);
        for (size_t i = 0; i < _SESSION_TIMER_N; i++)
                session->timers[i] = UINT64_MAX;
        *ret = session;
        return 0;
}

/* Those that an exclusive one does not want beside it. What they have recorded stays theirs to read. */
static void session_stop_others(Session *session, uint64_t now) {
        Session *other;

        list_for_each (other, &session->service->sessions, link)
                if (other != session)
                        session_stop(other, "exclusive", now);
}

/* What the session changes for everybody; it has been asked for with the right to. */
static void session_take_over(Session *session, uint64_t now) {
        const Perfetto__Protos__TraceConfig *config = session->config->pb;

        if (config->lockdown_mode)
                session->service->is_locked_down =
                        config->lockdown_mode ==
                        PERFETTO__PROTOS__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_SET;
        if (config->exclusive_prio > 0)
                session_stop_others(session, now);
}

/* The last thing that can fail, so that only what begins counts. */
static int session_remember(const Session *session, const Config *config, uint64_t now) {
        Recent *recent;

        if (!config->pb->enable_extra_guardrails)
                return 0;
        return error_fold(recent_new(&recent,
                                     session->service,
                                     session->options.owner.uid,
                                     session->user,
                                     config->pb->unique_session_name ?: "",
                                     now));
}

int session_new(Session **ret,
                Service *service,
                Config *config,
                const SessionOptions *options,
                const SessionOps *ops,
                void *peer,
                SessionError *error,
                uint64_t now) {
        _cleanup_(session_freep) Session *session = NULL;
        int r;

        now = service_note_now(service, now);
        r = session_check(service, config, options, error, now);
        if (r)
                return r;
        r = session_allocate(&session, service, options);
        if (r < 0)
                return r;
        session->ops = ops;
        session->peer = peer;
        r = session_charge(session, error);
        if (r)
                return r;
        r = session_add_buffers(session, config->pb, error);
        if (r)
                return r;
        r = session_add_sources(session, config->pb);
        if (r < 0)
                return r;
        r = session_triggers_init(session, config->pb);
        if (r < 0)
                return r;
        r = session_add_filter(session, config->pb);
        if (r < 0)
                return r;
        r = session_remember(session, config, now);
        if (r < 0)
                return r;

        session_choose_uuid(session, config->pb);
        session_register(session);
        session->config = config;
        /* Nothing can fail any more. */
        session_take_over(session, now);
        session_note_periods(session, now);
        concurrent_added(session);
        self_session_added(session);
        session_match_all(session);
        session_triggers_set_up(session, now);
        session->is_quiet = false;
        *ret = TAKE(session);
        return 0;
}

/* Nobody waits for their answers: they come for numbers that are not known any more. */
static void session_end_instances(Session *session) {
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                if (instance_is_live(instance))
                        instance_stop(instance);
                instance_free(instance);
        }
}

/* The ids first: no chunk may find its way to a buffer that goes. */
static void session_free_buffers(Session *session) {
        for (size_t i = 0; i < session->n_buffers; i++) {
                service_release_buffer_id(session->service, session->buffers[i].id);
                trace_buffer_free(session->buffers[i].buffer);
                charge_deinit(&session->buffers[i].charge);
        }
        free(session->buffers);
}

Session *session_free(Session *session) {
        Flush *flush;

        if (!session)
                return NULL;

        session->is_quiet = true;
        session_abort_clones(session);
        concurrent_removed(session);
        self_session_removed(session);
        list_for_each (flush, &session->flushes, link)
                flush_finish(flush, SESSION_E_STATE);
        session_end_instances(session);
        session_free_buffers(session);
        for (size_t i = 0; i < session->n_sources; i++)
                patterns_free(session->sources[i].filters, session->sources[i].n_filters);
        free(session->sources);
        trace_filter_free(session->filter);
        if (list_is_linked(&session->link)) {
                list_unlink(&session->link);
                session->service->n_sessions--;
                session->census->n[CENSUS_SESSIONS]--;
        }
        census_leave(session->census);

        sequence_ids_deinit(&session->reader.sequences);
        session_rules_deinit(&session->reader.rules);
        session_triggers_deinit(session);
        event_list_clear(&session->events);
        session_free_notes(session);
        charge_deinit(&session->charge);
        config_free(session->change);
        config_free(session->config);
        free(session);
        return NULL;
}

/*
 * Accessors
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
