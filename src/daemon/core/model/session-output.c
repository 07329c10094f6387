/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When a session that writes while it records does so, and what it flushes for that. */

#include "core/model/session-output.h"
#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"

uint64_t session_write_period_ns(const Session *session) {
        return config_period_ns(session->config->pb->file_write_period_ms, SESSION_WRITE_PERIOD_NS);
}

bool session_streams(const Session *session) {
        return session->options.has_output && session->config->pb->write_into_file;
}

/* The automatic mode is the default: a session that writes often flushes every SESSION_WRITE_PERIOD_NS, and one that
 * writes rarely flushes before each write. */
static bool session_flushes_by_itself(const Session *session) {
        return session->config->pb->write_into_file &&
               session->config->pb->write_flush_mode !=
                       PERFETTO__PROTOS__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED;
}

bool session_flushes_before_output(const Session *session) {
        if (session->config->pb->write_flush_mode ==
            PERFETTO__PROTOS__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_ENABLED)
                return true;
        return session_flushes_by_itself(session) &&
               session_write_period_ns(session) > SESSION_WRITE_PERIOD_NS;
}

uint64_t session_flush_period_ns(const Session *session) {
        if (session->config->pb->flush_period_ms)
                return config_period_ns(session->config->pb->flush_period_ms, 0);
        if (session_flushes_by_itself(session) && !session_flushes_before_output(session))
                return SESSION_WRITE_PERIOD_NS;
        return UINT64_MAX;
}

void session_output_due(Session *session) {
        if (session->options.has_output && !session->is_quiet)
                session->ops->output_due(session->peer);
}

/* A period does not know the data rate, so a buffer that is half full is written out before it overflows. There is a
 * shortest interval, as a buffer may be full of data that cannot be read yet. */
void session_note_pressure(const SessionBuffer *buffer) {
        Session *session = buffer->session;
        const uint64_t now = session->service->now;

        if (!session_streams(session) || now < session->pressed_until ||
            trace_buffer_unread_bytes(buffer->buffer) <
                    trace_buffer_stats(buffer->buffer)->buffer_bytes / SESSION_PRESSURE_SHARE)
                return;
        session->pressed_until = now + SESSION_PRESSURE_GAP_NS;
        session_output_due(session);
}
