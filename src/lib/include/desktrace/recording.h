/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recording, as the program sees it: who records its track events
 *
 * <desktrace/track-event.h> includes this. Sessions are those that record this program's track events; data sources of
 * one's own hear of theirs by their callbacks, see <desktrace/source.h>.
 */

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Is anybody recording me?
 */

/* Whether any session records this program's track events now. Any thread, at any time; one relaxed load. */
bool dt_is_recording(void);

typedef enum dt_recording {
        DT_RECORDING_STARTED, /* one more session records */
        DT_RECORDING_ENDS,    /* one is about to end */
} dt_recording;

/*
 * `n_sessions` is how many record now, or go on after one that ends.
 *
 * Called on the library's thread, one call at a time, and has to be quick: sessions wait for it. No lock of the library
 * is held, so it may call everything but dt_source_unregister(). The categories that the session wants are on already,
 * or still on: an event that is emitted in here is recorded, before a session has reported that it started and before
 * one that stops is told that all is written. (When the service itself is gone, an end is told, too, and nobody
 * records what is emitted there.) Other threads' events are recorded from a moment before the call on.
 */
typedef void (*dt_observer_func)(dt_recording what, unsigned n_sessions, void *userdata);

/* Who is told of starts and ends; lives until dt_observer_remove(). */
typedef struct dt_observer dt_observer;

/* Tells of all starts and ends from now on. If sessions record already, the first call comes soon, and is about
 * all of them: DT_RECORDING_STARTED. Any thread, also in a callback, and before dt_init(). 0, -EINVAL (no callback),
 * -ENOMEM, -ECANCELED (a forked child, which is not recorded). */
int dt_observer_add(dt_observer **ret, dt_observer_func callback, void *userdata);

/* Frees it; NULL is allowed. Returns NULL. When this returns the callback does not run and will not be called any more:
 * it waits for a call that runs, so hold no lock that the callback takes. In the callback itself, and in others on the
 * library's thread, it does not wait. Any thread. */
dt_observer *dt_observer_remove(dt_observer *observer);

#ifdef __cplusplus
}
#endif
