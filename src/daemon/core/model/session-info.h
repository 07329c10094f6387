/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What any code may ask of a session: its state, its options, its sources, and notes about them
 *
 * core/session.h has what a transport does with it.
 */

#include "buffer/trace-buffer.h"
#include "config/config.h"
#include "core/model/peer.h"
#include "core/model/quota.h"

typedef enum SessionState {
        SESSION_CONFIGURED, /* buffers exist, data sources are set up; deferred_start waits here */
        SESSION_STARTING,   /* start requests are out, or an activated producer is awaited */
        SESSION_STARTED,    /* recording; the duration counts from here */
        SESSION_FLUSHING,   /* the last flush before a stop */
        SESSION_STOPPING,   /* stop requests are out */
        SESSION_STOPPED,    /* no more data will come; readable until freed */
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
        bool is_kept;        /* its buffers lie in files, with which a later process can continue */
        bool allows_missing; /* sources that nobody offers are no error, and are left out */
        uint64_t
                snapshot_before_ns; /* of the clones that triggers make, see CloneOptions; 0: keep all */
} SessionOptions;

#define SESSION_STOP_REASON_BYTES 128

enum {
        _SESSION_E_SUCCESS,
        SESSION_E_CONFIG, /* *error has the reason */
        SESSION_E_LIMIT,  /* *error names the limit */
        SESSION_E_NAME_IN_USE,
        SESSION_E_NO_SOURCE, /* *error names the source and the nearest one */
        SESSION_E_STATE,
        SESSION_E_BUSY,   /* another session is in conflict with it for now; *error names it */
        SESSION_E_DENIED, /* only root may, or the owner of a private instance */
};

typedef struct SessionError {
        char message[QUOTA_WHY_BYTES];
        bool is_quota; /* of SESSION_E_LIMIT: the user's own quota, so freeing something else helps */
} SessionError;

/* One reply: done(userdata, 0), also when some did not answer in time: what they had committed is still in, and
 * session_next_silent() names them within the call. Or SESSION_E_STATE when the session goes away first. May be called
 * before session_flush() returns. */
typedef void (*SessionFlushDone)(void *userdata, int outcome);

/* The caller is gone: forget its callback. */
void session_flush_cancel(Session *session, void *userdata);

uint64_t session_id(const Session *session);
/* Grows with each session that comes, over all users: for the service alone to know. */
uint64_t session_order(const Session *session);
/* The uuid in the trace, its more significant half first. */
const uint64_t *session_uuid(const Session *session);
SessionState session_state(const Session *session);
const char *session_state_name(SessionState state);
const char *session_stop_reason(const Session *session); /* "" while running */
const char *session_name(const Session *session);
const SessionOptions *session_options(const Session *session);
void session_set_detached(Session *session, bool detached);
/* Sets the owner of the clone, for SessionOps. */
void session_adopt(Session *clone, const SessionOps *ops, void *peer);
/* The original's id; 0 when it is not a clone. */
uint64_t session_cloned_from(const Session *session);
const Config *session_config(const Session *session);
uint64_t session_started_at(const Session *session); /* 0: it does not record yet */
uint64_t session_stopped_at(const Session *session); /* 0 while running */
uint64_t session_ends_at(const Session *session);    /* UINT64_MAX: never, or it has */

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

/* Walks over all of them in linear time: begin with {}. Nothing may change in between. */
typedef struct InstanceCursor {
        size_t i;
        const List *at;
} InstanceCursor;

bool session_next_instance(const Session *session, InstanceCursor *cursor, InstanceInfo *ret);

/* Walks over those that did not answer. Within a SessionFlushDone: that flush. Of a session that has stopped: its last
 * flush, or its stop. */
bool session_next_silent(const Session *session, InstanceCursor *cursor, InstanceInfo *ret);

/* The notes of producers about their instances, oldest first, including instances that are gone. Start with *at =
 * NULL. */
/* When there was no service, in BOOTTIME, and what was lost by that. */
typedef struct ServiceAway {
        uint64_t from, until; /* until 0: it was there */
        uint64_t n_lost;      /* packets */
} ServiceAway;

typedef struct NoteInfo {
        const char *source, *producer, *text;
        Identity identity;
        ServiceAway away; /* of a note about that */
} NoteInfo;

bool session_next_note(const Session *session, const List **at, NoteInfo *ret);
size_t session_n_notes(const Session *session);

/* Whether another process can take it over: its buffers lie in files, and are its own, unlike a clone's. */
bool session_can_be_left(const Session *session);

/* Grows whenever the state or something about the sources changes. */
uint64_t session_n_changes(const Session *session);

/* Instances that have started or ended since they were last taken; of each the state that it has now. */
bool session_take_changed_instance(Session *session, InstanceInfo *ret);

/* Every source that takes part has started, or has been given up; never false again. */
bool session_all_started(const Session *session);
size_t session_n_buffers(const Session *session);
/* The files that it lies in; false: it is in this process's memory. The session keeps the descriptors. */
bool session_buffer_files(const Session *session,
                          size_t i,
                          int *ret_index_fd,
                          int *ret_segments_fd);
const char *session_buffer_name(const Session *session, size_t i);
const TraceBufferStats *session_buffer_stats(const Session *session, size_t i);
