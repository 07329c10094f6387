/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Startup: events from before a session is there
 *
 * See <desktrace/recording.h> for what it promises.
 *
 *      startup.c         how it begins
 *      startup-rules.c   what it keeps
 *      startup-end.c     how it ends
 *      startup-log.c     how a thread keeps an event
 *      startup-replay.c  how kept events get into sessions
 *
 * Events are kept as such rather than encoded, with copies of everything that they point to. At the hand-over, the
 * library's thread emits each thread's events again in the usual way. So the session's categories apply, and nothing
 * that it does not want gets into names, tracks or arguments.
 *
 * Keeping has a bit of its own in dt_category.enabled, behind those of the sessions. While it is set no other bit
 * is: a category is kept or recorded, never both. So at the hand-over one store for each category sends all later
 * events to the sessions. A thread that has read the old value finds its log closed, and reads the word again: no
 * event is lost or comes twice, and no thread waits.
 *
 * The memory is one mapping, of which pages are touched as they are needed. When keeping has ended, it stays mapped
 * without pages, because some thread may still be in the middle of an event.
 */

#include <pthread.h>

#include "desktrace/recording.h"
#include "lib/track.h"

#define STARTUP_BYTES_MIN 65536u

/* How long the first session that wants events waits for others. */
#define STARTUP_GATHER_NS UINT64_C(10000000)

/* The most bytes of one record; a longer event loses its arguments. */
#define STARTUP_RECORD_BYTES_MAX 65536u

typedef enum StartupKind {
        STARTUP_EVENT,
        STARTUP_NAME, /* the thread's name and its position, from here on */
        STARTUP_JUMP, /* the log continues elsewhere */
} StartupKind;

/* n_bytes is a multiple of 8. */
typedef struct StartupRecord {
        uint32_t n_bytes; /* the event, followed by what it points to */
        StartupKind kind;
} StartupRecord;

typedef struct StartupEvent {
        StartupRecord record;
        uint64_t now_ns;
        TrackEvent event; /* points into the record, and to copies of categories */
} StartupEvent;

typedef struct StartupName {
        StartupRecord record;
        int32_t rank;
        char name[TRACK_THREAD_NAME_MAX];
} StartupName;

typedef struct StartupJump {
        StartupRecord record;
        uint64_t to;
} StartupJump;

/* Set in StartupLog.end when the log is closed. */
#define STARTUP_CLOSED UINT64_C(1)

/* Set in Startup.n_lost when the logs are closed. */
#define STARTUP_LOST_CLOSED (UINT64_C(1) << 63)

/* What one thread keeps, at the beginning of its first block. */
typedef struct StartupLog {
        /* The offset of the next record in the memory; everything before it is published (release). The thread
         * writes it, and closing the log does so once. 0: the memory has been given back. */
        _Atomic uint64_t end;
        _Atomic bool lost; /* some events found no room */
        pid_t tid;
        uint64_t uuid;
        struct StartupLog *next;
        uint64_t begin; /* the first record */
} StartupLog;

/* The thread's own view of its log. */
typedef struct TrackKept {
        StartupLog *log;
        uint64_t block_end;
        uint32_t name_epoch;
        uint16_t open[DT_CATEGORIES_MAX]; /* slices on the thread's own track, by category */
} TrackKept;

typedef struct Startup {
        uint8_t *memory;
        size_t n_bytes;
        _Atomic size_t n_used;
        _Atomic(StartupLog *) logs; /* &startup_closed: no more can be added */
        _Atomic uint64_t deadline_ns;

        /* By category number. These are copies, as the program may unload its own categories. */
        _Atomic(dt_category *) categories[DT_CATEGORIES_MAX];
        _Atomic uint64_t n_lost[DT_CATEGORIES_MAX]; /* with STARTUP_LOST_CLOSED it stays as it is */

        /* Under track_lock(). */
        Bytes rules;    /* TrackEventConfig */
        bool was_asked; /* ever */
        bool is_keeping;
        uint64_t gather_ns; /* when the hand-over is due; 0: no session has come */
} Startup;

extern Startup startup;
extern StartupLog startup_closed;

/*
 * startup-rules.c. With track_lock().
 */

/* Whether the category is kept. Remembers it if it is. */
bool startup_keeps(const dt_category *category);

/* Whether the session wants something that may have been kept. */
bool startup_interests(const TrackSession *session);
bool startup_interests_any(void);

/* How many of the slices that the session wants a thread had open. */
uint32_t startup_n_open(const TrackKept *kept, const TrackSession *session);

/*
 * startup-end.c
 */

/* Stops keeping events: the categories go to the sessions. With track_lock(). */
void startup_end(void);

/* The functions below are called without it. */

/* Ends keeping if its time is over and no session has started. */
void startup_expire(uint64_t now_ns);

/* Frees the kept events; keeping must have ended, and the logs must be closed. */
void startup_forget(void);

/* Ends the keeping of events. Returns the logs, which can be read now that their ends are final. */
StartupLog *startup_close(void);

/*
 * startup-log.c: any thread
 */

/* Returns false if keeping has ended, and the event goes to the sessions. */
bool startup_keep(TrackThread *thread, const TrackEvent *event, uint64_t now_ns);

/* Counts an event that cannot be kept. Returns the same. */
bool startup_lose(const TrackThread *thread, const TrackEvent *event);

/*
 * startup-replay.c: the library's thread
 */

/* Does the work that is due. Returns after how many nanoseconds to call it again; UINT64_MAX: never. */
uint64_t startup_run(void);

/* Hands over now, if the session gets anything. */
void startup_hand_over_to(const TrackSession *session);

/* Whether the session will get any kept events. */
bool startup_awaits(const TrackSession *session);
