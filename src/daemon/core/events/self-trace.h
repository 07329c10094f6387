/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Self trace: the data source SERVICE_SELF_SOURCE, in which the service shows its own work
 *
 * There is a row each for taking data from producers, for read-outs, flushes and sessions, and for how late the loop
 * is. The source is a producer without a process or shared memory: its chunks are made here and put into the trace
 * buffer, where they count like all others. Reads the clock (ServiceOps.read_boottime), and only while somebody records
 * it; otherwise each hook costs a branch.
 *
 * Recording must not feed itself: the read-out of a session that records the service is written into that session only
 * once a pass, so that reading to the end comes to an end.
 *
 * Session names and ids are shown only to users who may see the session.
 */

#include "core/model/service.h"
#include "core/model/source-instance.h"

typedef struct Flush Flush;

static inline bool self_is_traced(const Service *service) {
        return UNLIKELY(service->n_self_writers > 0);
}

/* Puts what has been written so far into the buffers, as producer_drain() does for others. */
void self_trace_commit(SelfTrace *self);

/* A piece of work; if nobody records it, ns is 0 and its end writes nothing. */
typedef struct SelfSpan {
        uint64_t ns;
        uint64_t n_bytes; /* a count at its beginning */
} SelfSpan;

SelfSpan self_span_begin_traced(Service *service, uint64_t n_bytes);

static inline SelfSpan self_span_begin(Service *service, uint64_t n_bytes) {
        return self_is_traced(service) ? self_span_begin_traced(service, n_bytes) : (SelfSpan){};
}

void self_drained(const Producer *producer, const SelfSpan *span, size_t n_commits);
void self_read(const Session *session, const SelfSpan *span, size_t n_bytes, bool is_pass_over);
void self_ticked(Service *service, uint64_t deadline);
void self_flush_begun(const Flush *flush);
void self_flush_ended(const Flush *flush);

/* Called as a session comes, changes and goes, like the functions of concurrent.h. */
void self_session_added(const Session *session);
void self_session_changed(const Session *session);
void self_session_removed(const Session *session);

#define SELF_CHUNK_BYTES 4000

typedef struct SelfWriter {
        List link;
        SourceInstance *instance;
        uint16_t id;
        bool is_described; /* its reader knows the rows */
        uint32_t next_chunk;
        uint16_t n_fragments;
        size_t n_used;
        SelfSpan pass; /* the read-out of its own session; n_bytes: in this pass so far */
        uint8_t payload[SELF_CHUNK_BYTES];
} SelfWriter;

typedef struct SelfTrace SelfTrace;

struct SelfTrace {
        Service *service;
        Producer *producer;
        List spares;   /* SelfWriter, of nobody yet */
        List prepared; /* of instances that have not started */
        List writers;
        uint16_t last_writer_id;
};

uint64_t self_now(const Service *service);
/* Puts what has been written so far into the buffer. */
void writer_commit(SelfWriter *writer);
bool writer_sees(const SelfWriter *writer, const Session *session);
void writer_put_state(SelfWriter *writer, uint64_t ns, const Session *session);
