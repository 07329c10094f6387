/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track events, inside
 *
 *      track-event.c     dt_init(), the data source, whose sessions come and go, and categories
 *      track-session.c   which session records which categories
 *      track-state.c     the tables of sessions and categories; their lock
 *      track-thread.c    what each thread has: a sequence for each session; the public event functions
 *      track-sequence.c  one thread's stream of packets into one or several sessions: its start, its clock, what it
 *                        has interned
 *      track-clock.c     the time
 *      track-wait.c      what dt_init() waits for
 *      startup*.c        events from before a session is there; see startup.h
 *      track-encode.c    events into bytes; knows no state but the stream's tables
 *      track-args.c      the same for the arguments of events
 *      track-descriptor.c the same for descriptions of tracks, threads and the program
 *      track-details.c   what the program has said about its tracks
 *      track-names.c     the program's name for itself, by process-names.c
 *      track-process.c   what identifies it
 *      track-uuid.c      the numbers of tracks
 *      track-counts.c    counters that are written as differences
 *      track-lanes.c     tracks for things that overlap
 *      category.c        categories that are made at run time
 *
 * Most events go to one session and refer only to names and tracks that it already has. Such events are short:
 * straight-line code encodes them directly in shared memory, and gives up, with nothing done, if anything else is
 * needed. All other events take the long way, through the thread's scratch memory.
 *
 * A thread that emits reads the sessions without the lock. A session's epoch tells the thread whether its writer
 * still belongs to that session; only if not does it take the lock to get another one.
 */

#include <stdatomic.h>
#include <sys/types.h>

#include "desktrace/source.h"
#include "desktrace/track-event.h"
#include "lib/intern.h"
#include "lib/track-clock.h"
#include "wire/wire-writer.h"

/* The bit in dt_category.enabled, behind those of the sessions, for events that are kept until there are
 * sessions: see startup.h. No sequence is ever at its place. */
#define TRACK_STARTUP_BIT (1u << DT_SESSIONS_MAX)
#define TRACK_PLACES      (DT_SESSIONS_MAX + 1)

#define TRACK_THREAD_NAME_MAX 64
#define TRACK_TICK_BYTES_MAX  16
#define TRACK_INTERNED_BYTES  8192 /* room for what one event interns; more is written out */
#define TRACK_MISSING_MAX     16 /* remembered groups of lost begins, with open slices between them */

typedef struct TrackSession {
        _Atomic uint32_t epoch;    /* changes whenever another session takes the place */
        _Atomic uint32_t n_clears; /* how often it was asked to reset its incremental state */

        /* Under track_lock. */
        dt_instance *instance; /* NULL: the place is free */
        Bytes config;          /* TrackEventConfig */
        unsigned stream;       /* sessions with the same config have the same number */
        bool started;
        bool continues_startup; /* has received the events that were kept before it came */
} TrackSession;

typedef enum TrackEventType {
        TRACK_EVENT_PROCESS = 0, /* no event: the program has a new name */
        TRACK_EVENT_SLICE_BEGIN = 1,
        TRACK_EVENT_SLICE_END = 2,
        TRACK_EVENT_INSTANT = 3,
        TRACK_EVENT_COUNTER = 4,
        TRACK_EVENT_STATE = 5,
} TrackEventType;

typedef enum TrackKind {
        TRACK_KIND_SLICES,
        TRACK_KIND_COUNTER,
        TRACK_KIND_STATES,
} TrackKind;

typedef struct TrackEvent {
        TrackEventType type;
        const dt_category *category;
        const dt_track *track; /* NULL: the thread's */
        uint64_t uuid;         /* of `track` */
        const char *name;      /* NULL: none */
        const dt_arg *args;
        size_t n_args;
        uint64_t time_ns; /* 0: now */
        bool is_double;   /* of a counter */
        int64_t int_value;
        double double_value;
} TrackEvent;

#define TRACK_RECENT            16
#define TRACK_RECENT_NAME_BYTES 48 /* with their NUL; longer ones are looked at each time */
#define TRACK_RECENT_UNIT_BYTES 16

/* A track without a parent that was used lately, so that its uuid need not be computed again. The address of its
 * texts is only a hint, as what lies there may change. */
typedef struct TrackRecent {
        const char *name; /* NULL: empty */
        const char *unit;
        uint64_t id;
        char name_text[TRACK_RECENT_NAME_BYTES];
        char unit_text[TRACK_RECENT_UNIT_BYTES];
        uint8_t field[16]; /* the uuid as it is in an event */
        uint8_t n_field;
} TrackRecent;

#define TRACK_COUNTS_MAX 64 /* in the whole program; a counter counts once in each thread */

/* A counter that is written as differences. */
typedef struct TrackCount {
        uint64_t uuid;
        double last;
} TrackCount;

typedef struct TrackValue {
        bool is_double;
        int64_t as_int;
        double as_double;
} TrackValue;

/* What one thread has written so far, to which its next packets refer. Sessions that record the same categories
 * share a stream, so that an event is encoded once for all of them. Only its thread touches it. */
typedef struct TrackStream {
        uint64_t position; /* counts what was written */
        uint64_t last_ns;  /* time of the last packet, from which the next one counts */
        uint32_t name_epoch;
        Intern names;
        Intern arg_names;
        Intern values;    /* of text arguments */
        Intern locations; /* in the source */
        uint32_t n_log_bodies;
        Intern tracks;            /* uuids of tracks that have been described */
        uint64_t recent_track[8]; /* some of them, each at its place */
        TrackRecent recent[TRACK_RECENT];
        uint64_t categories[DT_CATEGORIES_MAX / 64];
        uint64_t thread_uuid;
        TrackCount *counts; /* NULL: none yet */
        unsigned n_counts;
} TrackStream;

/* Open slices, directly inside each other, that the session does not have. */
typedef struct TrackMissing {
        uint32_t n_slices;
        uint32_t outer; /* how many open slices are around them */
} TrackMissing;

/* One thread in one session. Only its thread touches it. */
typedef struct TrackSequence {
        const TrackSession *session;
        dt_writer *writer; /* NULL: none yet */
        uint32_t epoch;    /* the session's when the writer was made */
        uint32_t n_clears; /* the session's value when the sequence last began */
        unsigned stream;   /* its own number */
        uint64_t
                position; /* the stream's, if nothing was missed since it began; 0: the sequence has to begin */
        uint32_t
                depth; /* open slices on the thread's track, inside the last one whose begin was lost */
        TrackMissing missing[TRACK_MISSING_MAX];
        unsigned n_missing;
} TrackSequence;

/* The sequences to which an event goes, among those that share one stream. */
typedef struct TrackMembers {
        TrackStream *stream;
        TrackSequence *sequences[DT_SESSIONS_MAX];
        unsigned n;
        bool has_event; /* an event, or a packet that has to precede one, is being written */
} TrackMembers;

typedef struct TrackScratch {
        uint8_t packet[DT_EVENT_BYTES_MAX];
        uint8_t interned[TRACK_INTERNED_BYTES];
} TrackScratch;

typedef struct TrackKept TrackKept; /* startup.h */

typedef struct TrackThread {
        uint64_t uuid; /* of its track */
        pid_t tid;
        bool busy; /* emitting: an event from the thread's own allocator is not recorded */
        uint32_t name_epoch;              /* counts dt_thread_set_name() */
        char name[TRACK_THREAD_NAME_MAX]; /* "": the kernel's */
        int32_t rank;                     /* 0: none */
        TrackSequence *sequences[TRACK_PLACES];
        TrackStream *streams[DT_SESSIONS_MAX];
        TrackClock clock;
        TrackScratch *scratch; /* with the first sequence */
        TrackKept *kept;       /* events from before there was a session; or NULL */
} TrackThread;

/*
 * track-state.c
 */

extern TrackSession track_sessions[TRACK_PLACES];

/* The registered categories, under the lock. */
extern dt_category *track_categories;

/* Guards everything in track-*.c and startup*.c that a comment puts under it. It is taken before the library's
 * lock, never while that is held. */
void track_lock(void);
void track_unlock(void);
bool track_try_lock(void); /* False: another thread holds it */

/* A bit for each session that has started and not ended. */
unsigned track_sessions_recording(void);

/*
 * track-session.c
 */

/* Updates the recording sessions of one category, or of all. With the lock. */
void track_apply_category(dt_category *category);
void track_apply_categories(void);

/* Gives the sequence a writer of the session that is in that place now. Returns 0, or a negative errno. */
int track_attach(TrackSequence *sequence, unsigned session, const TrackKept *kept);

/*
 * track-event.c
 */

/* Whether dt_init() was successful. With the lock. */
bool track_is_offered(void);

/* In a forked child, which is a program of its own: forgets what its parent had. With the lock. */
void track_forget_parent(void);

/*
 * track-process.c
 */

/* Both are set by track_introduce_process(). */
extern uint64_t track_process_uuid; /* see process-uuid.h */
/* A random number, for ids that no other program may share, such as those of threads and flows. After exec() the
 * process is the same, but the program is not. */
extern uint64_t track_program_seed;

/* /proc/self/cmdline, with a NUL behind it. Read once, as every thread writes it in every session. */
extern char *track_cmdline;
extern size_t track_n_cmdline;

/* Reads the program's identity, once. Returns 0 or a negative errno. With the lock. */
int track_introduce_process(void);

/*
 * track-uuid.c
 */

#define TRACK_ROOT_UUID 0

/* Whether the track is predefined, and so needs no description. */
static inline bool track_is_given(const dt_track *track) {
        return track == &dt_thread_track || track == &dt_root_track;
}

/* A track's number, computed from its name, unit and id and from those of its parents, below the given numbers.
 * This must never change: programs agree about tracks under the root by it. */
uint64_t track_hash(const dt_track *track, uint64_t process, uint64_t thread, uint64_t root);

/* The track's uuid; NULL: the program's own track. `thread_uuid` is that of the thread whose event it is for. */
uint64_t track_uuid(const dt_track *track, uint64_t thread_uuid);

/*
 * track-thread.c
 */

/* The calling thread is the only one of a forked child. */
void track_thread_forget_parent(void);

/* Describes the program again to all sessions that record, from the calling thread. */
void track_say_process(void);

/*
 * track-sequence.c
 */

TrackSequence *track_sequence_free(TrackSequence *sequence);
TrackStream *track_stream_free(TrackStream *stream);
void track_stream_deinit(TrackStream *stream);

/* Writes an event that refers to known texts only, if nothing else has to be done either. Returns false if nothing
 * was written, and track_members_write() has to do it. */
bool track_sequence_write_short(TrackSequence *sequence,
                                const TrackThread *thread,
                                TrackStream *stream,
                                const TrackEvent *event,
                                uint64_t now_ns);

/* Writes an event, after the packets that have to come before it. What cannot be written is lost, and the writer
 * counts it. */
void track_members_write(TrackMembers *members,
                         TrackThread *thread,
                         const TrackEvent *event,
                         uint64_t now_ns);

/*
 * track-encode.c
 */

/* The fields of TracePacket that the packets below are about. */
#define TRACK_PACKET_FIELDS_N 3
extern const uint32_t track_packet_fields[TRACK_PACKET_FIELDS_N];

/* The packet that starts incremental state: defaults, and the sequence's clock begins at now_ns. */
void track_encode_start(WireWriter *packet, const TrackThread *thread, uint64_t now_ns);

/* `since_ns` is the time since the stream's last packet. */
void track_encode_event(WireWriter *packet,
                        WireWriter *interned,
                        TrackStream *stream,
                        const TrackEvent *event,
                        uint64_t since_ns);

/* Encodes an event whose texts and track are known to the stream, and which has only simple arguments: most
 * events are such. There must be room for SMB_WRITER_SMALL_MAX bytes, which is not checked. Returns where it
 * ends, or NULL if it is not such an event. */
uint8_t *
track_encode_short(uint8_t *at, TrackStream *stream, const TrackEvent *event, uint64_t since_ns);

/* The track of an event has been described: next time the event may be short. */
void track_remember(TrackStream *stream, const TrackEvent *event);

/* Writes only the time, for sequences that skip an event. */
void track_encode_tick(WireWriter *packet, uint64_t since_ns);

/*
 * track-descriptor.c
 */

/* Declares that ranks count, in the whole trace. */
void track_encode_root(WireWriter *packet);
void track_encode_thread(WireWriter *packet, const TrackThread *thread);
void track_encode_process(WireWriter *packet);
void track_encode_track(WireWriter *packet,
                        TrackStream *stream,
                        const dt_track *track,
                        TrackKind kind);

/*
 * track-counts.c
 */

/* From here on the stream's values of the counter are differences. Returns false if there is no memory to do that. */
bool track_counts_add(TrackStream *stream, uint64_t uuid);

/* Turns the value into a difference, if the counter is written as differences. */
void track_counts_make_relative(TrackStream *stream, uint64_t uuid, TrackValue *value);
