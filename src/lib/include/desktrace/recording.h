/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recording, as the program sees it: which sessions record its track events, and how to keep events from before the
 * first one
 *
 * <desktrace/track-event.h> includes this. "Sessions" are those that record this program's track events; a program's
 * own data sources learn of theirs through callbacks, see <desktrace/source.h>.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Observers: whether anybody records this program
 */

/* Whether any session records this program's track events now. Any thread, at any time; one relaxed load. */
bool dt_is_recording(void);

typedef enum dt_recording {
        DT_RECORDING_STARTED, /* another session has started to record */
        DT_RECORDING_ENDS,    /* one is about to end */
} dt_recording;

/*
 * `n_sessions` is how many sessions record now, or go on recording after one has ended.
 *
 * Called on the library's thread, one call at a time, and has to be quick: sessions wait for it. No lock of the library
 * is held, so it may call everything but dt_source_unregister(). The categories that the session wants are on already,
 * or still on: an event that is emitted in here is recorded, before a session has reported that it started and before
 * one that stops is told that all is written. (When the service itself is gone, an end is told, too, and nobody
 * records what is emitted there.) Other threads' events are recorded from a moment before the call on.
 */
typedef void (*dt_observer_func)(dt_recording what, unsigned n_sessions, void *userdata);

/* An observer of starts and ends. It lives until dt_observer_remove(). */
typedef struct dt_observer dt_observer;

/* Reports all starts and ends from now on. If sessions are recording already, the first call comes soon and reports
 * all of them: DT_RECORDING_STARTED. Any thread, also in a callback, and before dt_init(). Returns 0, -EINVAL (no
 * callback), -ENOMEM, -ECANCELED (a forked child, which is not recorded). */
int dt_observer_add(dt_observer **ret, dt_observer_func callback, void *userdata);

/* Frees the observer; NULL is allowed. Returns NULL. When this returns, the callback is not running and will not be
 * called again: the function waits for a call that is in progress, so hold no lock that the callback takes. In the
 * callback itself, and in others on the library's thread, it does not wait. Any thread. */
dt_observer *dt_observer_remove(dt_observer *observer);

/*
 * Startup events: those from before a session is there
 *
 * A program that is to be seen from its first line on keeps its events in memory of its own until a session comes that
 * wants some of them. Then they are written there, each once, as if the session had been there from the start:
 * the same threads, tracks, names, arguments and times, and slices that are open go on. What the session does not want
 * is left out. All sessions that start within 10 ms of the first one that wants something get theirs, and then
 * it is over; sessions that start later get events from then on.
 *
 * Nothing waits for anybody. To keep an event takes a few hundred nanoseconds at most, and a copy of its texts and
 * arguments. One that finds no room is counted, and the session hears how many it misses. What nobody fetches in time,
 * or before the program ends, is forgotten. The memory is used as events come, and given back when it is over; then
 * nothing costs more than if nothing had been kept. A child that is made by fork() keeps nothing of its parent's.
 *
 * Without a change in the program $DESKTRACE_STARTUP asks for the same, from when the library is loaded on: that is
 * before the program's static constructors. `desktrace record -- PROGRAM` sets it.
 */

#define DT_STARTUP_BYTES          (4u << 20) /* the default memory size */
#define DT_STARTUP_BYTES_MAX      (256u << 20)
#define DT_STARTUP_TIMEOUT_MS     10000u /* the same */
#define DT_STARTUP_TIMEOUT_MAX_MS 3600000u

typedef struct dt_startup_options {
        /* Which: names with commas between, such as "render,net*,-net.noisy,#debug": a `*` at the end stands for
         * anything, `#` is before a tag, `-` before what is not wanted. What nothing matches is wanted if nothing else
         * is named than what is not. The rules are those of perfetto.protos.TrackEventConfig. Copied. NULL: all but
         * those with the tags "debug" and "slow". */
        const char *categories;
        size_t bytes;        /* of memory at most; 0: DT_STARTUP_BYTES */
        unsigned timeout_ms; /* how long to keep them; 0: DT_STARTUP_TIMEOUT_MS */
} dt_startup_options;

/* Keeps events from now on; NULL: defaults. May be called before dt_init(), which is still needed, or after it, but
 * only once in the life of a program. Any thread. Returns 0, -EALREADY (called before, or set by the environment),
 * -EBUSY (a session is already recording), -EINVAL (out of range), -ENOMEM, -ECANCELED (a forked child). */
int dt_startup_record(const dt_startup_options *options);

#ifdef __cplusplus
}
#endif
