/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sessions that write while they record: when a piece is due, what is flushed for it, where a stream can be entered.
 */

#include "core/session-private.h"

#define CONFIG_FLUSH_PERIOD_MS 13 /* of perfetto.protos.TraceConfig */

uint64_t session_write_period_ns(const Session *session) {
        return config_period_ns(session->config->pb->file_write_period_ms, SESSION_WRITE_PERIOD_NS);
}

bool session_streams(const Session *session) {
        return session->options.has_output && session->config->pb->write_into_file;
}

/* The automatic mode is the default: who writes often flushes every SESSION_WRITE_PERIOD_NS beside it, who writes
 * seldom does it before each write. */
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

/* 0: nobody is flushed before the end. */
static uint64_t session_told_flush_ms(const Session *session) {
        uint64_t period_ns = session_flush_period_ns(session);

        if (session->config->pb->write_into_file && session_flushes_before_output(session))
                period_ns = MIN(period_ns, session_write_period_ns(session));
        return period_ns == UINT64_MAX ? 0 : period_ns / NS_PER_MS;
}

/* A file seems to lack data to readers unless its config has a flush period. The last value of a field counts. */
int session_put_config(const Session *session, const Config *config, Bytes *out) {
        _cleanup_(bytes_deinit) Bytes told = {};
        const uint64_t flush_ms = session_told_flush_ms(session);
        WireWriter writer;
        int r;

        bytes_writer_init(&writer, &told);
        wire_put_raw(&writer, config->bytes, config->n_bytes);
        if (flush_ms != config->pb->flush_period_ms)
                wire_put_uint(&writer, CONFIG_FLUSH_PERIOD_MS, flush_ms);
        r = bytes_writer_finish(&writer, &told);
        if (r < 0)
                return r;
        return packet_put_config(out, &session->service->info, told.data, told.n);
}

void session_output_due(Session *session) {
        if (session->options.has_output && !session->is_quiet)
                session->ops->output_due(session->peer);
}

/* Periods know nothing of rates: what is half full is written out before it overflows. Not more often than that, as a
 * buffer may be full of what cannot be read yet. */
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

/* Whatever pass is under way goes no further, and the last one only says how it ended. */
void session_output_full(Session *session, uint64_t now) {
        SessionReader *reader = &session->reader;

        now = service_note_now(session->service, now);
        reader->is_full = true;
        reader->is_finished = false;
        session_stop(session, "max-file-size", now);
}
