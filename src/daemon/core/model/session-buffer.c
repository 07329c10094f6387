/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's buffers: how full they are, from where on their data can be understood, and how a config refers to
 * them. */

#include "core/model/session-buffer.h"
#include "core/model/service.h"
#include "core/model/session-output.h"
#include "core/model/session.h"

#define CLEARS_PER_TURN 4 /* of a ring: at most a quarter depends on overwritten packets */

/* The time from a request to start over to the first data that follows it: a mark counts only that much later. */
#define MARK_SLACK_NS (UINT64_C(100) * 1000000)

bool session_buffer_has_turned(const SessionBuffer *buffer) {
        return trace_buffer_stats(buffer->buffer)->bytes_written >= buffer->clear_at_bytes;
}

/* A period does not know the data rate: within one, a small ring may overwrite everything that its data refers to. */
void session_buffer_written(const SessionBuffer *buffer) {
        Session *session = buffer->session;

        if (session->state == SESSION_STARTED && session_buffer_has_turned(buffer))
                session->timers[SESSION_TIMER_TURN] = session->turned_at + SESSION_CLEAR_GAP_NS;
        session_note_pressure(buffer);
}

void session_buffer_cleared(SessionBuffer *buffer) {
        const TraceBufferStats *stats = trace_buffer_stats(buffer->buffer);

        if (buffer->clear_at_bytes != UINT64_MAX)
                buffer->clear_at_bytes =
                        stats->bytes_written + stats->buffer_bytes / CLEARS_PER_TURN;
}

TraceBufferPolicy buffer_policy(const Perfetto__Protos__TraceConfig__BufferConfig *config) {
        return config->fill_policy ==
                               PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD
                       ? TRACE_BUFFER_DISCARD
                       : TRACE_BUFFER_RING;
}

static void buffer_mark(SessionBuffer *buffer, uint64_t now) {
        if (buffer->n_marks == BUFFER_MARKS_MAX) {
                buffer->n_marks--;
                memmove(buffer->marks,
                        buffer->marks + 1,
                        buffer->n_marks * sizeof(buffer->marks[0]));
        }
        buffer->marks[buffer->n_marks++] = (BufferMark){
                .ns = now,
                .bytes_written = trace_buffer_stats(buffer->buffer)->bytes_written,
        };
}

void session_mark_buffers(Session *session, const SessionBuffer *buffer) {
        for (size_t i = 0; i < session->n_buffers; i++)
                if (!buffer || buffer == &session->buffers[i])
                        buffer_mark(&session->buffers[i], session->service->now);
}

/* The latest place from which all data since the cut can be understood; 0: the beginning. */
uint64_t buffer_cut(const SessionBuffer *buffer, uint64_t cut_ns) {
        for (size_t i = buffer->n_marks; i > 0; i--)
                if (buffer->marks[i - 1].ns + MARK_SLACK_NS <= cut_ns)
                        return buffer->marks[i - 1].bytes_written;
        return 0;
}

/* Sizes below the minimum are raised to it, as Perfetto's configs have such sizes. */
uint64_t session_buffer_bytes(const Perfetto__Protos__TraceConfig__BufferConfig *buffer) {
        return MAX((uint64_t)buffer->size_kb * 1024, (uint64_t)TRACE_BUFFER_BYTES_MIN);
}

/* The first buffer with that name, so that duplicates can be told from their originals. */
ssize_t config_find_buffer(const ConfigPb *config, const char *name) {
        for (size_t i = 0; i < config->n_buffers; i++)
                if (config->buffers[i]->name && streq(config->buffers[i]->name, name))
                        return (ssize_t)i;
        return -1;
}

/* The index of the buffer, or -1 for none. Checks have seen to it that name and index agree. */
ssize_t session_target_buffer(const ConfigPb *config,
                              const Perfetto__Protos__DataSourceConfig *source) {
        if (source->target_buffer_name && source->target_buffer_name[0])
                return config_find_buffer(config, source->target_buffer_name);
        return source->target_buffer < config->n_buffers ? (ssize_t)source->target_buffer : -1;
}
