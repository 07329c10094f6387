/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Data sources: the public functions that register, change and end one */

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "lib/source-private.h"

#define NAME_BYTES_MAX 128 /* the longest that the service accepts */

/* For a private thread that cannot be woken, because the program has closed its descriptor. */
#define UNREGISTER_WAIT_S 1

/* Checks a name as the service does: a program that offers one that the service refuses would not be recorded at
 * all. */
static bool name_is_valid(const char *name) {
        size_t n = name ? strnlen(name, NAME_BYTES_MAX + 1) : 0;

        for (size_t i = 0; i < n; i++)
                if (name[i] < ' ' || name[i] > '~')
                        return false;
        return n > 0 && n <= NAME_BYTES_MAX;
}

DT_EXPORT int dt_source_register(dt_source **ret,
                                 const char *name,
                                 const dt_source_options *options,
                                 const dt_source_ops *ops,
                                 void *userdata) {
        _cleanup_(source_freep) dt_source *source = NULL;
        int r;

        if (!name_is_valid(name) || !ops || !ops->setup)
                return -EINVAL;
        if (library_inert())
                return -ECANCELED;
        r = source_new(&source, name, options, ops, userdata);
        if (r < 0)
                return r;

        library_lock();
        r = source_find(name) ? -EEXIST : library_start();
        if (r == 0) {
                *ret = source;
                list_append(&library.sources, &source->link);
                source_set_dirty(TAKE(source));
        }
        library_unlock();
        return r;
}

DT_EXPORT int dt_source_update(dt_source *source, const dt_source_options *options) {
        int r;

        if (library_inert())
                return 0;
        library_lock();
        r = source_set_options(source, options);
        if (r == 0)
                source_set_dirty(source);
        library_unlock();
        return r;
}

/* With the lock held. Returns false if the thread has not removed it, because it could not be woken. */
static bool wait_for_removal(dt_source *source) {
        struct timespec deadline;
        bool is_woken = library_wake();
        int r = 0;

        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += UNREGISTER_WAIT_S;
        while (!source->removed && r == 0)
                r = is_woken ? pthread_cond_wait(&library.removed, &library.lock)
                             : pthread_cond_timedwait(&library.removed, &library.lock, &deadline);
        return source->removed;
}

DT_EXPORT void dt_source_unregister(dt_source *source) {
        static const dt_source_ops nothing = { 0 };
        bool is_removed;
        int cancel_state;

        if (!source || library_inert()) /* in a forked child: not worth a race */
                return;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        library_lock();
        source->doomed = true;
        is_removed = wait_for_removal(source);
        if (!is_removed) { /* the thread sleeps, and will find this when it wakes up */
                source->ops = &nothing;
                source->is_orphan = true;
        }
        library_unlock();
        pthread_setcancelstate(cancel_state, NULL);
        if (is_removed)
                source_free(source);
}

DT_EXPORT bool dt_source_enabled(const dt_source *source) {
        return atomic_load_explicit(&source->n_recording, memory_order_relaxed) > 0;
}

DT_EXPORT int dt_set_producer(const char *name, size_t shared_memory_bytes, size_t page_bytes) {
        char *copy = NULL;

        if (page_bytes % 1024 != 0 || shared_memory_bytes > SMB_PAGES_BYTES_MAX ||
            page_bytes > SMB_PAGE_BYTES_MAX || (name && !name[0]))
                return -EINVAL;
        if (library_inert())
                return -EBUSY;
        if (name && !(copy = library_plain_name(name)))
                return -ENOMEM;
        library_lock();
        if (library.started) {
                library_unlock();
                free(copy);
                return -EBUSY;
        }
        free(library.name);
        library.name = copy;
        library.shared_memory_bytes = shared_memory_bytes;
        library.page_bytes = page_bytes;
        library_unlock();
        return 0;
}
