/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session buffer: a trace buffer, and what the session knows about it.
 */

#include "buffer/trace-buffer.h"
#include "config/config.h"
#include "core/model/peer.h"
#include "core/model/quota.h"

/* Data after this place can be understood without the data before it. */
typedef struct BufferMark {
        uint64_t ns;
        uint64_t bytes_written;
} BufferMark;

#define BUFFER_MARKS_MAX 32 /* older ones are forgotten */

typedef struct SessionBuffer SessionBuffer;

struct SessionBuffer {
        Session *session;
        TraceBuffer *buffer;
        uint16_t id;            /* what producers call it; 0: none yet */
        bool is_moved_on_clone; /* transfer_on_clone */
        uint64_t
                clear_at_bytes; /* of bytes_written: enough of the ring is new; UINT64_MAX: no ring */
        BufferMark marks[BUFFER_MARKS_MAX]; /* oldest first */
        size_t n_marks;
        uint64_t n_filtered; /* bytes that the trace filter took out */
        Charge charge;
};

typedef Perfetto__Protos__TraceConfig ConfigPb;

/* Data was put into it. */
void session_buffer_written(const SessionBuffer *buffer);
/* Its writers start over: none of them depends on what is in it so far. */
void session_buffer_cleared(SessionBuffer *buffer);
ssize_t session_target_buffer(const Perfetto__Protos__TraceConfig *config,
                              const Perfetto__Protos__DataSourceConfig *source);
uint64_t session_buffer_bytes(const Perfetto__Protos__TraceConfig__BufferConfig *buffer);
/* Asks writers to this buffer, or to all (NULL), to start over. */
void session_mark_buffers(Session *session, const SessionBuffer *buffer);

/* The first buffer with that name, so that duplicates can be told from their originals. */
ssize_t config_find_buffer(const ConfigPb *config, const char *name);
TraceBufferPolicy buffer_policy(const Perfetto__Protos__TraceConfig__BufferConfig *config);
uint64_t buffer_cut(const SessionBuffer *buffer, uint64_t cut_ns);
bool session_buffer_has_turned(const SessionBuffer *buffer);
