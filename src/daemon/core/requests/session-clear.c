/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asking producers to start over: what comes behind that does not depend on what went before. */

#include "core/requests/session-clear.h"
#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "core/model/session-output.h"
#include "core/model/session.h"

static uint64_t session_bytes_written(const Session *session) {
        uint64_t n = 0;

        for (size_t i = 0; i < session->n_buffers; i++)
                n += trace_buffer_stats(session->buffers[i].buffer)->bytes_written;
        return n;
}

/*
 * A reader who enters the stream at a marker finds the clocks behind it, but knows nothing of what producers said
 * before, so they are asked to start over: what comes after the next marker or so can be decoded. Nobody is woken for
 * it when nothing was recorded.
 */
void session_mark_stream(Session *session) {
        const uint64_t n = session_bytes_written(session);

        if (!session_streams(session) || n == session->marked_at_bytes)
                return;
        session->marked_at_bytes = n;
        session->reader.marker_due = true;
        session_clear_incremental_state(session, NULL);
}

static bool instance_wants_clear(const SourceInstance *instance, const SessionBuffer *buffer) {
        return instance_is_live(instance) && instance->state == INSTANCE_STARTED &&
               instance->offered->clears_state && (!buffer || instance->buffer == buffer);
}

/* There is room for all instances of the session. */
static size_t session_collect_clears(const Session *session,
                                     const SessionBuffer *buffer,
                                     const Producer *producer,
                                     uint64_t *instances) {
        const SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->session == session && instance_wants_clear(instance, buffer))
                        instances[n++] = instance->id;
        return n;
}

/* Interned names and the like are lost with the ring's oldest chunks; written again now and then they are never all
 * lost. Each producer is asked once. */
void session_clear_incremental_state(Session *session, const SessionBuffer *buffer) {
        _cleanup_(freep) uint64_t *instances = calloc(session->n_instances + 1, sizeof(*instances));
        uint64_t round = ++session->service->last_round;
        SourceInstance *instance;

        /* Out of memory: the next time tries again. */
        if (!instances)
                return;
        session_mark_buffers(session, buffer);
        list_for_each (instance, &session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!instance_wants_clear(instance, buffer) || producer->last_round == round)
                        continue;
                producer->last_round = round;
                producer->ops->clear_incremental_state(
                        producer->peer,
                        instances,
                        session_collect_clears(session, buffer, producer, instances));
        }
}
