/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session, as the floors of the core know it; core/session.h is for transports.
 *
 * What is embedded here has a header of its own, which says what can be done with it.
 */

#include "core/model/event-list.h"
#include "core/model/sequence-ids.h"
#include "core/model/service-limits.h"
#include "core/model/session-buffer.h"
#include "core/model/session-phase.h"
#include "core/model/session-triggers.h"
#include "core/model/source-instance.h"
#include "packet/packet-check.h"
#include "packet/trace-filter.h"

typedef struct CensusRow CensusRow;
/* One data_sources entry of the config. */
struct SessionSource {
        Session *session;
        size_t index;
        const Perfetto__Protos__TraceConfig__DataSource *pb;
        SessionBuffer *buffer;
        Pattern **filters; /* compiled producer_name_regex_filter */
        size_t n_filters;
        size_t n_instances;           /* that were ever made and are still shown; 0: missing */
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

/* The values are those of perfetto.protos.TraceStats.FinalFlushOutcome. */
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
        bool is_left;        /* for another process: its buffers' files stay as they are */
        bool cannot_be_kept; /* there was no memory for it */
        bool is_quiet;       /* within session_new() or session_free(): no SessionOps */
        List marked_link;    /* service->marked: something happened that it may have waited for */
        char stop_reason[SESSION_STOP_REASON_BYTES];
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

#define SESSION_MACHINE_NAME "host" /* Perfetto's word for this one */
#define SESSION_GONE_MAX     64     /* ended instances that are kept for people to see */

#define NS_PER_MS UINT64_C(1000000)

void session_changed(Session *session);
/* The session may be able to proceed: the entry point that is running ends in service_settle(), which checks it. */
void session_mark(Session *session);
bool session_is_running(const Session *session); /* sources that appear are started at once */
bool session_is_open(const Session *session);    /* sources that appear can join */
uint64_t session_stop_timeout_ns(const Session *session);
uint64_t session_flush_timeout_ns(const Session *session);

/* A configured time, or the default when the config says none. */
static inline uint64_t config_ns(uint32_t ms, uint64_t default_ns) {
        return ms ? ms * NS_PER_MS : default_ns;
}

/* Periods are not shorter than SESSION_PERIOD_MIN_NS: nobody may keep the service busy with a number. */
static inline uint64_t config_period_ns(uint32_t ms, uint64_t default_ns) {
        return MAX(config_ns(ms, default_ns), SESSION_PERIOD_MIN_NS);
}

void session_arm(Session *session, SessionTimer timer, uint64_t now, uint64_t after_ns);
void session_disarm_all(Session *session);
