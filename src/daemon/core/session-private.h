/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the parts of a session know of each other; not for transports.
 *
 *      session.c        life: states, timers, stop
 *      session-new.c    making one, and its end
 *      session-check*.c  what a config may ask for
 *      session-change.c  changing its config
 *      session-match.c  which sources of which producers take part
 *      session-read.c   read-out
 *      session-output.c writing while recording
 *      session-clone.c  snapshots
 *      session-writers.c  who has written into it
 *      concurrent.c     what it says of other sessions
 *      session-wait.c   who is not waited for
 *      session-notes.c  what producers say of their instances
 */

#include "core/concurrent.h"
#include "core/flush.h"
#include "core/sequence-ids.h"
#include "core/service-packets.h"
#include "core/session-clone.h"
#include "core/session-filter.h"
#include "core/session.h"
#include "core/source-instance.h"
#include "core/trigger-private.h"
#include "packet/packet-check.h"
#include "packet/packet-rules.h"
#include "packet/pattern.h"

/* All that was written up to here is not needed to understand what comes behind. */
typedef struct BufferMark {
        uint64_t ns;
        uint64_t bytes_written;
} BufferMark;

#define BUFFER_MARKS_MAX 32 /* older ones are forgotten */

typedef Perfetto__Protos__TraceConfig ConfigPb;

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

/* One data_sources entry of the config. */
struct SessionSource {
        Session *session;
        size_t index;
        const Perfetto__Protos__TraceConfig__DataSource *pb;
        SessionBuffer *buffer;
        Pattern **filters; /* compiled producer_name_regex_filter */
        size_t n_filters;
        size_t n_instances;           /* ever, and still shown; 0: missing */
        ssize_t awaited;              /* the activatable producer that should bring it, or -1 */
        char why[INSTANCE_WHY_BYTES]; /* why it is missing, if there is more to say */
};

typedef enum SessionTimer {
        SESSION_TIMER_SETTLE,           /* the service is old enough */
        SESSION_TIMER_START,            /* starts and activations are overdue */
        SESSION_TIMER_SLOW,             /* still not all have started */
        SESSION_TIMER_DURATION,         /* recorded long enough */
        SESSION_TIMER_FLUSH,            /* periodic flush */
        SESSION_TIMER_CLEAR,            /* periodic clearing of incremental state */
        SESSION_TIMER_TURN,             /* a ring is about to forget the incremental state in it */
        SESSION_TIMER_SNAPSHOT,         /* periodic clock snapshot */
        SESSION_TIMER_OUTPUT,           /* a piece for the output */
        SESSION_TIMER_LOOK,             /* nobody has answered for a while: who is suspended? */
        SESSION_TIMER_STOP,             /* stops are overdue */
        SESSION_TIMER_TRIGGER_TIMEOUT,  /* no trigger came, or enough of them */
        SESSION_TIMER_TRIGGER_STOP,     /* after a trigger */
        SESSION_TIMER_TRIGGER_SNAPSHOT, /* the next one that a trigger asked for */
        _SESSION_TIMER_N,
} SessionTimer;

/* As perfetto.protos.TraceStats.FinalFlushOutcome. */
typedef enum FinalFlush {
        FINAL_FLUSH_NONE,
        FINAL_FLUSH_SUCCEEDED,
        FINAL_FLUSH_FAILED,
} FinalFlush;

/* What is said behind each packet of a sequence, encoded. */
typedef struct SequenceTrust {
        uint64_t producer_id; /* 0: none */
        uint16_t writer_id;
        PacketTrust fields; /* nothing lost */
        uint8_t encoded[PACKET_TRUST_BYTES_MAX];
        size_t n_encoded;
        size_t n_brief; /* without the pid, which is last */
        bool said_pid;
} SequenceTrust;

/* Where the read-out stands. */
typedef struct SessionReader {
        bool in_pass;
        bool is_last_pass;  /* it began when the session had stopped */
        bool has_packets;   /* this pass found some */
        bool is_finished;   /* everything is read */
        bool is_full;       /* max_file_size_bytes */
        bool said_preamble; /* config, uuid, system info */
        bool said_change;   /* the latest */
        size_t n_notes_said;
        bool stats_due, marker_due;
        size_t buffer; /* being read */
        SequenceIds sequences;
        SequenceTrust trust;   /* of the sequence that was read last */
        size_t n_writers_said; /* in the provenance */
        uint64_t n_invalid;    /* packets dropped: malformed or forged */
        uint64_t n_bytes;      /* given out */
        SessionRules rules;    /* what each producer may write */
} SessionReader;

struct Session {
        Service *service;
        List link;
        uint64_t id, order;
        SessionState state;
        uid_t user; /* who is charged */
        SessionOptions options;
        const SessionOps *ops;
        void *peer;
        Config *config; /* what the user sent */
        Config *change; /* and what he sent later, if he did; filters count as it says */
        Charge charge;
        CensusRow *census;
        bool is_quiet;    /* within session_new() or session_free(): no SessionOps */
        List marked_link; /* service->marked: something happened that it may have waited for */
        char stop_reason[128];
        uint64_t started_at, stopped_at;
        uint64_t turned_at; /* when incremental state was cleared for a ring; or recording began */
        uint64_t timers[_SESSION_TIMER_N]; /* UINT64_MAX: off */
        uint64_t
                ends_at_monotonic; /* the duration, of one that stands still with the machine; else 0 */

        SessionBuffer *buffers;
        size_t n_buffers;
        SessionSource *sources;
        size_t n_sources;
        List instances;
        size_t n_instances;
        size_t n_in_state[_INSTANCE_STATE_N]; /* instances, by state */
        size_t n_asleep; /* of the starting ones: suspended, and not waited for */
        List changed_instances;
        List notes; /* SourceNote */
        size_t n_notes;
        uint64_t n_changes; /* ever, of its state and its sources */

        uint64_t cloned_from;                  /* 0: not a clone */
        char clone_name[SESSION_NAME_MAX + 1]; /* of a clone, which does not inherit the config's */
        bool skips_filter;
        SessionTriggers triggers;
        List clones; /* SessionClone: being made of this session */

        List flushes;
        size_t n_flushes;
        uint64_t flushes_requested, flushes_succeeded, flushes_failed;
        uint64_t answering_flush; /* within its SessionFlushDone */
        FinalFlush final_flush;
        TraceFilter *filter;      /* NULL: everything may leave */
        bool has_periodic_flush;  /* one that nobody has answered yet */
        bool output_awaits_flush; /* the output is due when it is answered */

        uint64_t uuid[2];
        ClockRing clocks;
        EventList events;
        Concurrent concurrent;
        bool said_all_started;
        uint64_t chunks_discarded,
                patches_discarded;  /* of producers in this session, for no buffer of theirs */
        uint64_t producers_dropped; /* lost packets told by producers that are gone */
        SessionReader reader;
        uint64_t pressed_until;   /* a full buffer need not be written out before */
        uint64_t marked_at_bytes; /* recorded when the last marker was due */
};

typedef struct SourceNote {
        List link; /* session->notes */
        Charge charge;
        uint64_t ns;
        Identity identity;
        uid_t user; /* who is charged */
        char *source, *producer, *text;
} SourceNote;

#define SESSION_MACHINE_NAME "host" /* Perfetto's word for this one */
#define SESSION_GONE_MAX     64     /* ended instances that are kept for people to see */

/* session.c */
void session_changed(Session *session);
/* It may go on: the entry point that is under way ends in service_settle(), which looks at it. */
void session_mark(Session *session);
/* Enters the next state once everything it waits for has arrived. For session_settle() alone. */
void session_progress(Session *session, uint64_t now);

/* settle.c */
/* Carries on one session: its states, and when it has stopped, the snapshots that are planned. */
void session_settle(Session *session, uint64_t now);
/* The end of each entry point: carries on every session that is marked. */
void service_settle(Service *service);
void session_tick(Session *session, uint64_t now);
uint64_t session_next_deadline(const Session *session);
bool session_is_running(const Session *session); /* sources that appear are started at once */
bool session_is_open(const Session *session);    /* sources that appear can join */
void session_drain(Session *session);
/* Something was put into it. */
void session_buffer_written(const SessionBuffer *buffer);
uint64_t session_stop_timeout_ns(const Session *session);
uint64_t session_flush_timeout_ns(const Session *session);

#define NS_PER_MS UINT64_C(1000000)

/* A configured time, or the default when the config says none. */
static inline uint64_t config_ns(uint32_t ms, uint64_t default_ns) {
        return ms ? ms * NS_PER_MS : default_ns;
}

/* Periods are not shorter than SESSION_PERIOD_MIN_NS: nobody may keep the service busy with a number. */
static inline uint64_t config_period_ns(uint32_t ms, uint64_t default_ns) {
        return MAX(config_ns(ms, default_ns), SESSION_PERIOD_MIN_NS);
}

/* session-output.c */
bool session_streams(
        const Session *session); /* what is recorded goes to the output all the while */
uint64_t session_write_period_ns(const Session *session);
uint64_t session_flush_period_ns(const Session *session); /* UINT64_MAX: none */
bool session_flushes_before_output(const Session *session);
/* The config for the trace: as it was sent, but with the flush period that is used. */
int session_put_config(const Session *session, const Config *config, Bytes *out);
void session_output_due(Session *session);
/* Something was put into it: if it is getting full, the output is due. */
void session_note_pressure(const SessionBuffer *buffer);
/* With the next piece comes a synchronisation marker. */
void session_mark_stream(Session *session);

/* session-new.c */
int session_allocate(Session **ret, Service *service, const SessionOptions *options);
void session_register(Session *session);
void session_snapshot_clocks(Session *session); /* of session.c */
/* Its writers start over: none of them depends on what is in it so far. */
void session_buffer_cleared(SessionBuffer *buffer);

/* session-check.c */
int session_error(SessionError *error, int outcome, const char *format, ...) _printf_(3, 4);
ssize_t session_target_buffer(const Perfetto__Protos__TraceConfig *config,
                              const Perfetto__Protos__DataSourceConfig *source);
int session_error_quota(const Session *session, SessionError *error, QuotaSlot slot, uint64_t n);
uint64_t session_buffer_bytes(const Perfetto__Protos__TraceConfig__BufferConfig *buffer);

/* session-clone.c */
/* What session_clone() does, but for the settling. */
int session_begin_clone(Session *session,
                        const CloneOptions *options,
                        SessionCloneDone done,
                        void *userdata,
                        SessionError *error,
                        uint64_t now);
/* Writers to this buffer, or to all (NULL), are asked to start over. */
void session_mark_buffers(Session *session, const SessionBuffer *buffer);
/* The original goes away. */
void session_abort_clones(Session *session);

/* session-match.c */
void session_match_all(Session *session);
/* Those that the source's filters let through, and did not before. */
void session_match_newcomers(SessionSource *source, const SessionSource *before);
void session_match_source(Session *session, Producer *producer, ProducerSource *offered);
void session_activate_missing(Session *session);
/* Of what goes to one buffer, or to all (NULL). */
void session_clear_incremental_state(Session *session, const SessionBuffer *buffer);
bool session_awaits_producer(const Session *session);
void session_give_up_on(Session *session, ssize_t activatable, const char *why);

/* session-wait.c */
/* Somebody is asked, and has a while to answer before it is looked at. */
void session_expect_answers(Session *session, uint64_t now);
/* An answer arrived: restart the grace period for the others. */
void session_give_grace(Session *session, uint64_t now);
void session_look_for_suspended(Session *session, uint64_t now);
/* A producer that was suspended a moment ago and still is need not have it. */
void session_give_up_on_suspended(Session *session);

/* session-stats.c */
uint64_t session_producers_dropped(const Session *session); /* as they say */
void session_put_stats(Session *session, WireWriter *writer);

/* session-notes.c. Without memory, beyond a limit or its user's quota a note is left out. */
void session_add_note(SourceInstance *instance, const char *text, uint64_t now);
/* Of each period in the config that is not as short as it says. */
void session_note_periods(Session *session, uint64_t now);
void session_copy_notes(Session *session, const Session *source);
void session_free_notes(Session *session);
int session_put_notes(Session *session, Bytes *out);

/* session-writers.c */
int session_put_provenance(Session *session, Bytes *out);
int session_put_late_provenance(Session *session, Bytes *out);
void session_put_writer_stats(Session *session, WireWriter *writer);

/* session-buffer.c */
/* The first of that name, which tells duplicates from their originals. */
ssize_t config_find_buffer(const ConfigPb *config, const char *name);
TraceBufferPolicy buffer_policy(const Perfetto__Protos__TraceConfig__BufferConfig *config);
uint64_t buffer_cut(const SessionBuffer *buffer, uint64_t cut_ns);
bool session_buffer_has_turned(const SessionBuffer *buffer);

/* event-list.c */
uint64_t session_snapshot_period_ns(const Session *session);

/* session.c */
void session_arm(Session *session, SessionTimer timer, uint64_t now, uint64_t after_ns);
void session_disarm_all(Session *session);

/* session-progress.c */
void session_enter(Session *session, SessionState state);
uint64_t session_clear_period_ns(const Session *session);
uint64_t session_read_monotonic(const Session *session);
void session_record(Session *session, uint64_t now);
void session_tell_slow_starters(Session *session, uint64_t now);
/* What session_start(), session_flush(), session_stop() do, but for the settling: they mark. */
int session_begin(Session *session, uint64_t now);
int session_begin_flush(Session *session,
                        uint64_t timeout_ns,
                        uint64_t flags,
                        SessionFlushDone done,
                        void *userdata);
void session_end(Session *session, const char *reason);
void session_end_within(Session *session, const char *reason, uint64_t flush_timeout_ns);

/* session-make.c */
int session_charge(Session *session, SessionError *error);
int session_add_buffers(Session *session,
                        const Perfetto__Protos__TraceConfig *config,
                        SessionError *error);
int session_add_sources(Session *session, const Perfetto__Protos__TraceConfig *config);
int session_add_filter(Session *session, const Perfetto__Protos__TraceConfig *config);
/* Frees what no list of the service has a use for: its memory, charges and buffers. session_free() ends all that goes
 * on in it first. */
Session *session_discard(Session *session);
DEFINE_CLEANUP(Session *, session_discard)
