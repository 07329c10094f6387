/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What desktrace.self records. Each instance, that is each session that records the service, has a writer. The writer
 * fills a chunk in private memory, which goes into the buffer when it is full, with each flush, and when the instance
 * stops.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/events/self-packets.h"
#include "core/events/self-trace.h"
#include "core/model/flush.h"
#include "core/model/policy.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"
#include "wire/wire-writer.h"

uint64_t self_now(const Service *service) {
        return service->ops->read_boottime ? service->ops->read_boottime(service->userdata)
                                           : service->now;
}

SelfSpan self_span_begin_traced(Service *service, uint64_t n_bytes) {
        return (SelfSpan){ .ns = self_now(service), .n_bytes = n_bytes };
}

/*
 * Writers
 */

/* A refusal is counted by the buffer. */
void writer_commit(SelfWriter *writer) {
        SessionBuffer *buffer = writer->instance->buffer;
        const Producer *producer = writer->instance->producer;
        const ChunkOrigin origin = {
                .producer_id = producer->origin_id,
                .writer_id = writer->id,
                .identity = producer->identity,
        };
        const ChunkData chunk = {
                .chunk_id = writer->next_chunk,
                .n_fragments = writer->n_fragments,
                .complete = true,
                .payload = writer->payload,
                .n_payload = writer->n_used,
        };

        if (writer->n_fragments == 0)
                return;
        trace_buffer_put(buffer->buffer, &origin, &chunk);
        session_buffer_written(buffer);
        writer->next_chunk++;
        writer->n_fragments = 0;
        writer->n_used = 0;
}

static void writer_put(SelfWriter *writer, const SelfPacket *packet) {
        uint8_t *at;

        if (packet->n == 0)
                return;
        if (writer->n_used + WIRE_VARINT_MAX + packet->n > sizeof(writer->payload))
                writer_commit(writer);
        at = wire_encode_varint(writer->payload + writer->n_used, packet->n);
        memcpy(at, packet->bytes, packet->n);
        writer->n_used = (size_t)(at - writer->payload) + packet->n;
        writer->n_fragments++;
}

bool writer_sees(const SelfWriter *writer, const Session *session) {
        const Session *reader = writer->instance->session;

        return policy_owns_session(&reader->service->info, &reader->options.owner, session);
}

static uint64_t session_track(const Session *session) {
        return SELF_TRACK_SESSION_0 + session->id;
}

static void writer_put_track(SelfWriter *writer,
                             uint64_t ns,
                             uint64_t track,
                             const char *name,
                             const char *unit) {
        SelfPacket packet;

        self_packet_track(&packet, ns, track, name, unit);
        writer_put(writer, &packet);
}

static void writer_put_session_track(SelfWriter *writer, uint64_t ns, const Session *session) {
        const char *name = session_name(session);
        char title[SESSION_NAME_MAX + 64];

        snprintf(title,
                 sizeof(title),
                 "session %" PRIu64 "%s%s",
                 session->id,
                 name[0] ? ": " : "",
                 name);
        writer_put_track(writer, ns, session_track(session), title, NULL);
}

/* The rows. They are written again whenever readers may have lost them. */
static void writer_describe(SelfWriter *writer, uint64_t ns) {
        const Service *service = writer->instance->session->service;
        const Session *session;
        SelfPacket packet;

        writer->is_described = true;
        self_packet_process(&packet, ns, service->info.pid, writer->instance->producer->name);
        writer_put(writer, &packet);
        writer_put_track(writer, ns, SELF_TRACK_INGEST, "ingest", NULL);
        writer_put_track(writer, ns, SELF_TRACK_READ_OUT, "read-out", NULL);
        writer_put_track(writer, ns, SELF_TRACK_LATENCY, "loop latency", "us");
        list_for_each (session, &service->sessions, link)
                if (writer_sees(writer, session))
                        writer_put_session_track(writer, ns, session);
}

static void writer_put_event(SelfWriter *writer, const SelfEvent *event) {
        SelfPacket packet;

        if (!writer->is_described)
                writer_describe(writer, event->ns);
        self_packet_event(&packet, event);
        writer_put(writer, &packet);
}

static void writer_put_slice(SelfWriter *writer,
                             uint64_t begin_ns,
                             uint64_t end_ns,
                             uint64_t track,
                             const SelfEvent *event) {
        SelfEvent begin = *event;

        begin.type = SELF_SLICE_BEGIN;
        begin.ns = begin_ns;
        begin.track = track;
        writer_put_event(writer, &begin);
        writer_put_event(writer,
                         &(SelfEvent){ .type = SELF_SLICE_END,
                                       .ns = MAX(end_ns, begin_ns),
                                       .track = track });
}

void writer_put_state(SelfWriter *writer, uint64_t ns, const Session *session) {
        writer_put_event(writer,
                         &(SelfEvent){
                                 .type = SELF_SLICE_BEGIN,
                                 .ns = ns,
                                 .track = session_track(session),
                                 .name = session_state_name(session->state),
                         });
}

static void writer_end_state(SelfWriter *writer, uint64_t ns, const Session *session) {
        writer_put_event(
                writer,
                &(SelfEvent){ .type = SELF_SLICE_END, .ns = ns, .track = session_track(session) });
}

/*
 * The producer
 */

void self_trace_commit(SelfTrace *self) {
        SelfWriter *writer;

        list_for_each (writer, &self->writers, link)
                writer_commit(writer);
}

/*
 * Hooks
 */

/* The last argument is about the session, and only for those who may see it. */
static void self_put_slice(const SelfTrace *self,
                           const SelfSpan *span,
                           uint64_t track,
                           const Session *session,
                           const SelfEvent *event) {
        uint64_t now = self_now(self->service);
        SelfWriter *writer;

        list_for_each (writer, &self->writers, link) {
                SelfEvent seen = *event;

                if (session && writer->instance->session == session)
                        continue;
                if (session && !writer_sees(writer, session))
                        seen.n_notes--;
                writer_put_slice(writer, span->ns, now, track, &seen);
        }
}

void self_drained(const Producer *producer, const SelfSpan *span, size_t n_commits) {
        const SelfEvent event = {
                .name = producer->name,
                .notes = { { .name = "commits", .number = n_commits },
                           { .name = "bytes", .number = producer->n_bytes_taken - span->n_bytes },
                           { .name = "pid", .number = (uint64_t)producer->identity.pid } },
                .n_notes = 3,
        };

        if (span->ns > 0 && n_commits > 0)
                self_put_slice(producer->service->self, span, SELF_TRACK_INGEST, NULL, &event);
}

/* What a session reads of itself is added up until there is nothing more to read. */
static void self_read_itself(SelfTrace *self,
                             const Session *session,
                             const SelfSpan *span,
                             size_t n_bytes,
                             bool is_pass_over) {
        SelfWriter *writer;

        list_for_each (writer, &self->writers, link) {
                if (writer->instance->session != session || (writer->pass.ns == 0 && n_bytes == 0))
                        continue;
                if (writer->pass.ns == 0)
                        writer->pass.ns = span->ns;
                writer->pass.n_bytes += n_bytes;
                if (!is_pass_over)
                        continue;
                writer_put_slice(
                        writer,
                        writer->pass.ns,
                        self_now(self->service),
                        SELF_TRACK_READ_OUT,
                        &(SelfEvent){
                                .name = "read this session",
                                .notes = { { .name = "bytes", .number = writer->pass.n_bytes } },
                                .n_notes = 1,
                        });
                writer->pass = (SelfSpan){};
        }
}

void self_read(const Session *session, const SelfSpan *span, size_t n_bytes, bool is_pass_over) {
        const SelfEvent event = {
                .name = "read",
                .notes = { { .name = "bytes", .number = n_bytes },
                           { .name = "session", .number = session->id } },
                .n_notes = 2,
        };

        if (span->ns == 0)
                return;
        if (n_bytes > 0)
                self_put_slice(session->service->self, span, SELF_TRACK_READ_OUT, session, &event);
        self_read_itself(session->service->self, session, span, n_bytes, is_pass_over);
}

/* How late the loop was for its timer. A turn that was due at no known time, or not due at all, says nothing about
 * that. */
void self_ticked(Service *service, uint64_t deadline) {
        uint64_t now = self_now(service);
        const SelfEvent event = {
                .type = SELF_COUNTER,
                .ns = now,
                .track = SELF_TRACK_LATENCY,
                .value = (now - deadline) / 1000,
        };
        SelfWriter *writer;

        if (deadline == 0 || deadline > now)
                return;
        list_for_each (writer, &service->self->writers, link)
                writer_put_event(writer, &event);
}

/* Flushes overlap, so each has a row, which viewers put together by the name. */
static void self_put_flush(const Flush *flush, const SelfEvent *event) {
        const Session *session = flush->session;
        SelfWriter *writer;

        list_for_each (writer, &session->service->self->writers, link) {
                if (!writer_sees(writer, session))
                        continue;
                if (event->type == SELF_SLICE_BEGIN)
                        writer_put_track(writer, event->ns, event->track, "flush", NULL);
                writer_put_event(writer, event);
        }
}

void self_flush_begun(const Flush *flush) {
        const Service *service = flush->session->service;

        if (!self_is_traced(service))
                return;
        self_put_flush(flush,
                       &(SelfEvent){
                               .type = SELF_SLICE_BEGIN,
                               .ns = self_now(service),
                               .track = SELF_TRACK_FLUSH_0 + flush->id,
                               .name = "flush",
                               .notes = { { .name = "producers", .number = flush->n_pending },
                                          { .name = "session", .number = flush->session->id } },
                               .n_notes = 2,
                       });
}

void self_flush_ended(const Flush *flush) {
        const Service *service = flush->session->service;

        if (!self_is_traced(service))
                return;
        self_put_flush(flush,
                       &(SelfEvent){
                               .type = SELF_SLICE_END,
                               .ns = self_now(service),
                               .track = SELF_TRACK_FLUSH_0 + flush->id,
                               .notes = { { .name = "silent",
                                            .number = flush->n_pending + flush->n_silent } },
                               .n_notes = 1,
                       });
}

/* Writes to the trace of everybody who may see the session. */
static void self_tell(const Session *session,
                      void (*tell)(SelfWriter *writer, uint64_t now, const Session *session)) {
        const Service *service = session->service;
        SelfWriter *writer;

        if (!self_is_traced(service))
                return;
        list_for_each (writer, &service->self->writers, link)
                if (writer_sees(writer, session))
                        tell(writer, self_now(service), session);
}

static void writer_put_session(SelfWriter *writer, uint64_t now, const Session *session) {
        writer_put_session_track(writer, now, session);
        writer_put_state(writer, now, session);
}

static void writer_change_state(SelfWriter *writer, uint64_t now, const Session *session) {
        writer_end_state(writer, now, session);
        writer_put_state(writer, now, session);
}

void self_session_added(const Session *session) {
        self_tell(session, writer_put_session);
}

void self_session_changed(const Session *session) {
        self_tell(session, writer_change_state);
}

void self_session_removed(const Session *session) {
        if (list_is_linked(&session->link))
                self_tell(session, writer_end_state);
}
