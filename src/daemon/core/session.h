/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session: one recording
 *
 * A validated config, its trace buffers, and the data source instances that it drives through setup, start,
 * flush and stop. Owned by the transport that made it (which frees it when the consumer says so or
 * disappears), listed by the service.
 *
 *      CONFIGURED ─▶ STARTING ─▶ STARTED ─▶ FLUSHING ─▶ STOPPING ─▶ STOPPED
 *
 * Every arrow but the first waits for producers, and each wait has a deadline. A session can be read in every
 * state; what is read is gone from the buffers.
 */

#include "buffer/trace-buffer.h"
#include "config/config.h"
#include "core/peer.h"
#include "core/service.h"
#include "shared/bytes.h"
#include "shared/list.h"

typedef enum SessionState {
        SESSION_CONFIGURED, /* buffers exist, data sources are set up; deferred_start waits here */
        SESSION_STARTING,   /* start requests are out, or an activated producer is awaited */
        SESSION_STARTED,    /* recording; the duration counts from here */
        SESSION_FLUSHING,   /* the last flush before a stop */
        SESSION_STOPPING,   /* stop requests are out */
        SESSION_STOPPED,    /* nothing more will come; readable until freed */
        _SESSION_STATE_N,
} SessionState;

typedef enum SessionScope {
        SESSION_SCOPE_OWN,    /* producers of the owner's uid only */
        SESSION_SCOPE_SYSTEM, /* all producers; the transport has asked polkit */
} SessionScope;

typedef enum InstanceState {
        INSTANCE_CONFIGURED,
        INSTANCE_STARTING,
        INSTANCE_STARTED,
        INSTANCE_STOPPING,
        INSTANCE_STOPPED,
        INSTANCE_MISSING, /* nobody offers the source (yet) */
        _INSTANCE_STATE_N,
} InstanceState;

typedef struct SessionOptions {
        Identity owner;
        SessionScope scope;
        bool has_output; /* streams to a descriptor: output_due() is called, session_read() is for it alone */
        bool detached;
        bool allows_missing; /* sources that nobody offers are no mistake, and no source at all */
        uint64_t
                snapshot_before_ns; /* of the clones that triggers make, see CloneOptions; 0: keep all */
} SessionOptions;

enum {
        _SESSION_E_SUCCESS,
        SESSION_E_CONFIG, /* *error says what is wrong */
        SESSION_E_LIMIT,  /* *error names the limit */
        SESSION_E_NAME_IN_USE,
        SESSION_E_NO_SOURCE, /* *error names the source and the nearest one */
        SESSION_E_STATE,
        SESSION_E_BUSY,   /* another session is in the way for now; *error says which */
        SESSION_E_DENIED, /* only root may, or whoever runs a private instance */
};

typedef struct SessionError {
        char message[QUOTA_WHY_BYTES];
        bool is_quota; /* of SESSION_E_LIMIT: the user has too much, and could do with less of something else */
} SessionError;

/* Checks everything that session_new() would refuse, and changes nothing: for asking polkit only about what could
 * be done. 0 or one of SESSION_E_CONFIG, _LIMIT, _NAME_IN_USE, _NO_SOURCE. */
int session_check(Service *service,
                  const Config *config,
                  const SessionOptions *options,
                  SessionError *error,
                  uint64_t now);

/* Checks the whole config, makes the buffers and sets up the sources that are there. Takes the config over on
 * success only. SessionOps are not called before it returns. */
int session_new(Session **ret,
                Service *service,
                Config *config,
                const SessionOptions *options,
                const SessionOps *ops,
                void *peer,
                SessionError *error,
                uint64_t now);

/* Stops at once what still runs, without waiting for anybody. */
Session *session_free(Session *session);
DEFINE_CLEANUP(Session *, session_free)

/* Adds to the filters of producers' names, or leaves out all those of a data source, as the new config says: it must be
 * the same as the one before in everything else. Takes the config over on success only; nothing happened otherwise.
 * SESSION_E_CONFIG names the first field that cannot be changed, SESSION_E_LIMIT the limit; SESSION_E_STATE once it
 * ends. */
int session_change_config(Session *session, Config *config, SessionError *error, uint64_t now);

/* From CONFIGURED; 0 or SESSION_E_STATE. STARTED (or later) is told by SessionOps.changed. */
int session_start(Session *session, uint64_t now);

/* Flushes first, then stops. Idempotent. `reason` as the StopReason property; copied. */
void session_stop(Session *session, const char *reason, uint64_t now);

/* The same for a peer whose protocol stops without a flush: waits for that no longer than SESSION_DISABLE_FLUSH_NS. */
void session_disable(Session *session, const char *reason, uint64_t now);

/* One reply: done(userdata, 0), also when some did not answer in time: what they had committed is still in, and
 * session_next_silent() names them within the call. Or SESSION_E_STATE when the session goes away first. May be called
 * before session_flush() returns. */
typedef void (*SessionFlushDone)(void *userdata, int outcome);
/* `timeout_ns` 0: what the config says, else SESSION_FLUSH_TIMEOUT_NS. 0; SESSION_E_STATE when it is not recording and
 * SESSION_E_LIMIT past SESSION_FLUSHES_MAX, both without a call of done(). */
int session_flush(Session *session,
                  uint64_t timeout_ns,
                  uint64_t flags,
                  SessionFlushDone done,
                  void *userdata,
                  uint64_t now);
/* The asker is gone: forget its callback. */
void session_flush_cancel(Session *session, void *userdata);

/* Appends whole packets in trace file framing to *out until about max_bytes; *ret_more says whether more is
 * there now. Service packets (§ docs/ARCHITECTURE.md) come first; a synchronisation marker is always the first packet
 * of a read. A stopped session is read to its end when *ret_more is false. */
int session_read(Session *session, size_t max_bytes, Bytes *out, bool *ret_more, uint64_t now);

/* The output takes no more, by max_file_size_bytes: stops the session. What is read from now on is only the end of the
 * trace, once more if it was read already. */
void session_output_full(Session *session, uint64_t now);

uint64_t session_id(const Session *session);
/* Grows with each session that comes, over all users: for the service alone to know. */
uint64_t session_order(const Session *session);
/* Which the trace has, its more significant half first. */
const uint64_t *session_uuid(const Session *session);
SessionState session_state(const Session *session);
const char *session_state_name(SessionState state);
const char *session_stop_reason(const Session *session); /* "" while running */
const char *session_name(const Session *session);
const SessionOptions *session_options(const Session *session);
void session_set_detached(Session *session, bool detached);
const Config *session_config(const Session *session);
uint64_t session_started_at(const Session *session); /* 0: it does not record yet */
uint64_t session_stopped_at(const Session *session); /* 0 while running */
uint64_t
session_ends_at(const Session *session); /* stops by itself then; UINT64_MAX: never, or it has */

typedef struct InstanceInfo {
        const char *source;
        const char *producer; /* "" when missing */
        Identity identity;
        InstanceState state;
        const char *why;   /* why it failed, or "" */
        bool is_cut_short; /* its producer left while the session recorded */
        bool is_suspended; /* its producer was seen stopped or frozen, and has not answered since */
} InstanceInfo;

const char *instance_state_name(InstanceState state);
size_t session_n_instances(const Session *session);
void session_instance(const Session *session, size_t i, InstanceInfo *ret);

/* All of them, in time that grows with their number only: begin with {}. Nothing may change in between. */
typedef struct InstanceCursor {
        size_t i;
        const List *at;
} InstanceCursor;

bool session_next_instance(const Session *session, InstanceCursor *cursor, InstanceInfo *ret);

/* Those of them that did not answer. Within a SessionFlushDone: that flush. Of a session that has stopped: its last
 * flush, or its stop. */
bool session_next_silent(const Session *session, InstanceCursor *cursor, InstanceInfo *ret);

/* What producers said of their instances, oldest first; also of those that are gone. *at is NULL to begin with. */
typedef struct NoteInfo {
        const char *source, *producer, *text;
        Identity identity;
} NoteInfo;

bool session_next_note(const Session *session, const List **at, NoteInfo *ret);
size_t session_n_notes(const Session *session);

/* Grows whenever the state or something about the sources changes. */
uint64_t session_n_changes(const Session *session);

/* Instances that have started or ended since they were last taken; of each the state that it has now. */
bool session_take_changed_instance(Session *session, InstanceInfo *ret);

/* Every source that takes part has started, or has been given up; never false again. */
bool session_all_started(const Session *session);

typedef struct SessionTotals {
        uint64_t bytes_written;
        uint64_t bytes_output;
        uint64_t chunks_lost;
        uint64_t packets_lost;
} SessionTotals;

void session_totals(const Session *session, SessionTotals *ret);
/* As perfetto.protos.TraceStats, without its writers. 0 or -ENOMEM. */
int session_append_stats(Session *session, Bytes *out);
size_t session_n_buffers(const Session *session);
const char *session_buffer_name(const Session *session, size_t i);
const TraceBufferStats *session_buffer_stats(const Session *session, size_t i);

/* The writers to the session's buffers, in no order: begin with {}. Nothing may change in between. */
typedef struct SessionWriter {
        size_t buffer;
        uint32_t sequence_id; /* trusted_packet_sequence_id of its packets */
        WriterStats stats;
} SessionWriter;

typedef struct SessionWriterCursor {
        size_t buffer;
        WriterCursor at;
} SessionWriterCursor;

bool session_next_writer(Session *session, SessionWriterCursor *cursor, SessionWriter *ret);
