/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track state: the tables of sessions and categories, and their lock */

#include "lib/library.h"
#include "lib/track.h"

TrackSession track_sessions[TRACK_PLACES]; /* the last one is unused */
dt_category *track_categories;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void track_lock(void) {
        library_lock_mutex(&mutex);
}

void track_unlock(void) {
        library_unlock_mutex(&mutex);
}

bool track_try_lock(void) {
        return library_try_lock_mutex(&mutex);
}

unsigned track_sessions_recording(void) {
        unsigned sessions = 0;

        track_lock();
        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                sessions |= (unsigned)track_sessions[i].started << i;
        track_unlock();
        return sessions;
}
