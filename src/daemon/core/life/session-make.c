/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the parts of a session, and frees them without a trace. */

#include <assert.h>
#include <errno.h>

#include "core/life/session-make.h"
#include "core/life/session-refusal.h"
#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "core/model/session-filter.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "shared/error.h"

/* session_check() has looked for room already. Charges can fail here only for want of memory, or if two charges of one
 * config share a limit. */
int session_charge(Session *session, SessionError *error) {
        int r;

        r = quota_charge(
                &session->service->quota, &session->charge, session->user, QUOTA_SESSIONS, 1);
        if (r == QUOTA_E_EXCEEDED)
                return session_error_quota(session, error, QUOTA_SESSIONS, 1);
        /* Empty for now: it grows with the writers whose packets are read. */
        return r < 0 ? r
                     : quota_charge(&session->service->quota,
                                    &session->reader.sequences.charge,
                                    session->user,
                                    QUOTA_BUFFER_BYTES,
                                    0);
}

static int session_buffer_make(TraceBuffer **ret,
                               const Session *session,
                               const Perfetto__Protos__TraceConfig__BufferConfig *config) {
        return error_fold((session->options.is_kept ? trace_buffer_new_kept : trace_buffer_new)(
                ret, session_buffer_bytes(config), 0, buffer_policy(config)));
}

static int session_buffer_adopt(TraceBuffer **ret, FormerBuffer *former) {
        TraceBufferFound found;
        int r;

        r = trace_buffer_adopt(ret, former->index_fd, former->segments_fd, &found);
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        former->index_fd = former->segments_fd = -1;
        former->n_broken = found.n_slots_broken + found.n_records_broken;
        return 0;
}

/* The records of writers are charged to the user who records them. */
static bool session_buffer_may_grow(void *userdata, size_t n_bytes) {
        SessionBuffer *buffer = userdata;

        return charge_grow(&buffer->charge, n_bytes) == 0;
}

static int session_add_buffer(Session *session,
                              const Perfetto__Protos__TraceConfig__BufferConfig *config,
                              FormerBuffer *former,
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
        r = former ? session_buffer_adopt(&buffer->buffer, former)
                   : session_buffer_make(&buffer->buffer, session, config);
        if (r) {
                charge_deinit(&buffer->charge);
                return r;
        }
        trace_buffer_set_may_grow(buffer->buffer, session_buffer_may_grow, buffer);
        buffer->clear_at_bytes = buffer_policy(config) == TRACE_BUFFER_RING ? 0 : UINT64_MAX;
        session_buffer_cleared(buffer);
        buffer->id = service_claim_buffer_id(session->service, buffer);
        session->n_buffers++;
        return 0;
}

/* The checks have found that it can be made. */
int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config) {
        char why[SESSION_FILTER_WHY_BYTES];

        return session_filter_new(&session->filter, config, why);
}

int session_add_buffers(Session *session,
                        const Perfetto__Protos__TraceConfig *config,
                        FormerBuffer *former,
                        SessionError *error) {
        session->buffers = calloc(config->n_buffers + 1, sizeof(*session->buffers));
        if (!session->buffers)
                return -ENOMEM;
        for (size_t i = 0; i < config->n_buffers; i++) {
                int r = session_add_buffer(
                        session, config->buffers[i], former ? &former[i] : NULL, error);

                if (r)
                        return r;
        }
        return 0;
}

/* The checks have found the names, targets and filters to be valid. */
int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config) {
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

void session_register(Session *session) {
        session_register_as(session,
                            service_new_session_id(session->service, session->options.owner.uid));
}

void session_register_as(Session *session, uint64_t id) {
        Service *service = session->service;

        session->id = id;
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
        list_init(&session->marked_link);
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

/* The ids first, so that no chunk can reach a buffer that is being freed. */
static void session_free_buffers(Session *session) {
        for (size_t i = 0; i < session->n_buffers; i++) {
                service_release_buffer_id(session->service, session->buffers[i].id);
                if (session->is_left)
                        trace_buffer_leave(session->buffers[i].buffer);
                else
                        trace_buffer_free(session->buffers[i].buffer);
                charge_deinit(&session->buffers[i].charge);
        }
        free(session->buffers);
}

Session *session_discard(Session *session) {
        if (!session)
                return NULL;
        assert(list_is_empty(&session->instances) && session->n_instances == 0);
        assert(list_is_empty(&session->flushes) && session->n_flushes == 0);
        assert(list_is_empty(&session->clones) && list_is_empty(&session->changed_instances));
        assert(session->n_asleep == 0);
        for (size_t i = 0; i < _INSTANCE_STATE_N; i++)
                assert(session->n_in_state[i] == 0);

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
        assert(session->triggers.n_hits == 0 && session->triggers.n_snapshots == 0);
        charge_deinit(&session->charge);
        config_free(session->change);
        config_free(session->config);
        bytes_deinit(&session->concurrent.packets);
        list_unlink(&session->marked_link);
        free(session);
        return NULL;
}
