/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Observers: callbacks of the program for starts and ends of recordings */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/library.h"
#include "lib/observer.h"
#include "lib/source-private.h"

struct dt_observer {
        dt_observer_func callback;
        void *userdata;

        /* Under the lock. */
        List link;
        uint64_t turn; /* number of the last announcement that it received */
        bool is_new;   /* sessions exist that it has not been told about */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;

/* Under the lock. */
static List observers = LIST_INIT(observers);
static dt_observer *running; /* whose callback runs */
static uint64_t turn;        /* counts announcements */

static _Atomic unsigned n_sessions; /* changes under the lock */
static _Atomic unsigned n_new;      /* observers, the same */

DT_EXPORT bool dt_is_recording(void) {
        return !library_inert() && atomic_load_explicit(&n_sessions, memory_order_relaxed) > 0;
}

static void set_new(dt_observer *observer, bool is_new) {
        n_new += (unsigned)is_new - (unsigned)observer->is_new;
        observer->is_new = is_new;
}

/* Callbacks add and remove observers, so the search starts over after each call. */
static dt_observer *next_observer(bool of_new, uint64_t up_to) {
        dt_observer *observer;

        list_for_each (observer, &observers, link)
                if (of_new ? observer->is_new : observer->turn < up_to)
                        return observer;
        return NULL;
}

/* Called with the lock, which is released during the callback. */
static void call(dt_observer *observer, dt_recording what, unsigned n) {
        running = observer;
        pthread_mutex_unlock(&lock);
        observer->callback(what, n, observer->userdata);
        pthread_mutex_lock(&lock);
        running = NULL;
        pthread_cond_broadcast(&returned);
}

void observers_tell(dt_recording what) {
        dt_observer *observer;
        uint64_t this_turn;
        unsigned n;

        pthread_mutex_lock(&lock);
        n_sessions += what == DT_RECORDING_STARTED ? 1 : -1u;
        n = n_sessions;
        this_turn = ++turn;
        while ((observer = next_observer(false, this_turn))) {
                observer->turn = this_turn;
                /* An observer that was not told of the start is not told of the end. */
                if (observer->is_new && what == DT_RECORDING_ENDS)
                        continue;
                set_new(observer, false);
                call(observer, what, n);
        }
        pthread_mutex_unlock(&lock);
}

void observers_greet(void) {
        dt_observer *observer;

        if (atomic_load_explicit(&n_new, memory_order_relaxed) == 0)
                return;
        pthread_mutex_lock(&lock);
        while ((observer = next_observer(true, 0))) {
                set_new(observer, false);
                if (n_sessions > 0)
                        call(observer, DT_RECORDING_STARTED, n_sessions);
        }
        pthread_mutex_unlock(&lock);
}

DT_EXPORT int dt_observer_add(dt_observer **ret, dt_observer_func callback, void *userdata) {
        dt_observer *observer;

        if (!callback)
                return -EINVAL;
        if (library_inert())
                return -ECANCELED;
        observer = calloc(1, sizeof(*observer));
        if (!observer)
                return -ENOMEM;
        observer->callback = callback;
        observer->userdata = userdata;
        pthread_mutex_lock(&lock);
        observer->turn = turn;
        list_append(&observers, &observer->link);
        set_new(observer, n_sessions > 0);
        /* Set first, as the callback may need it. */
        *ret = observer;
        pthread_mutex_unlock(&lock);
        if (atomic_load(&n_new) > 0)
                library_wake();
        return 0;
}

DT_EXPORT dt_observer *dt_observer_remove(dt_observer *observer) {
        int cancel_state;

        /* In a forked child the lock may be held by a thread that is not there. */
        if (!observer || library_inert())
                return NULL;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        pthread_mutex_lock(&lock);
        set_new(observer, false);
        list_unlink(&observer->link);
        while (running == observer && !library_on_thread())
                pthread_cond_wait(&returned, &lock);
        pthread_mutex_unlock(&lock);
        pthread_setcancelstate(cancel_state, NULL);
        free(observer);
        return NULL;
}
