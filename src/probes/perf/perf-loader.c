/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The lock guards the lists and the counts. Each thread has a reference, so a thread that is still held up when the
 * loader is freed finds everything it needs when it goes on.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/perf/perf-file.h"
#include "probes/perf/perf-identity.h"
#include "probes/perf/perf-loader.h"
#include "shared/log.h"
#include "shared/thread.h"

#define NS_PER_S UINT64_C(1000000000)

struct Loader {
        unsigned n_references; /* threads, and the owner */
        pthread_mutex_t lock;
        pthread_cond_t queued;
        pthread_cond_t done;
        List urgent; /* Load.loads */
        List waiting;
        List running;
        List finished;
        unsigned n_threads;
        bool is_closing;
        bool has_owner;
        ProbeOwner owner;
};

uint64_t loader_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

Load *load_new(LoadKind kind, pid_t pid) {
        Load *load = calloc(1, sizeof(*load));

        if (!load)
                return NULL;
        list_init(&load->loads);
        load->kind = kind;
        load->pid = pid;
        return load;
}

Load *load_free(Load *load) {
        if (!load)
                return NULL;
        list_unlink(&load->loads);
        module_free(load->module);
        jit_names_free(load->jit);
        free(load->path);
        free(load->maps);
        free(load->command);
        free(load->cgroup);
        free(load->piece);
        free(load);
        return NULL;
}

static void free_all(List *loads) {
        while (!list_is_empty(loads))
                load_free(list_first(loads, Load, loads));
}

/* Call it with the lock, which it releases. */
static void loader_unref(Loader *loader) {
        const bool is_last = --loader->n_references == 0;

        pthread_mutex_unlock(&loader->lock);
        if (!is_last)
                return;
        assert(loader->n_threads == 0 && list_is_empty(&loader->running));
        free_all(&loader->urgent);
        free_all(&loader->waiting);
        free_all(&loader->finished);
        pthread_cond_destroy(&loader->queued);
        pthread_cond_destroy(&loader->done);
        pthread_mutex_destroy(&loader->lock);
        free(loader);
}

/* With the lock. */
static bool has_waiting(const Loader *loader) {
        return !list_is_empty(&loader->urgent) || !list_is_empty(&loader->waiting);
}

/* Call it with the lock. Returns NULL if the loader is closing. */
static Load *next_load(Loader *loader) {
        Load *load;

        while (!has_waiting(loader) && !loader->is_closing)
                pthread_cond_wait(&loader->queued, &loader->lock);
        if (loader->is_closing)
                return NULL;
        load = list_first(&loader->urgent, Load, loads)
                       ?: list_first(&loader->waiting, Load, loads);
        list_unlink(&load->loads);
        list_append(&loader->running, &load->loads);
        load->begun_ns = loader_now_ns();
        return load;
}

/* Becomes the user whose files are read. If that fails, nothing may be read. */
static bool become_owner(const Loader *loader) {
        int r = loader->has_owner ? perf_identity_assume(loader->owner.uid, loader->owner.gid) : 0;

        if (r < 0)
                log_warning("cannot look with the eyes of user %u, so none of that user's programs "
                            "is shown: %s",
                            (unsigned)loader->owner.uid,
                            strerror(-r));
        return r >= 0;
}

static void *run(void *userdata) {
        Loader *loader = userdata;
        const bool may_read = become_owner(loader);
        Load *load;

        pthread_mutex_lock(&loader->lock);
        while ((load = next_load(loader))) {
                pthread_mutex_unlock(&loader->lock);
                if (may_read)
                        perf_file_carry_out(load);
                pthread_mutex_lock(&loader->lock);
                list_unlink(&load->loads);
                list_append(&loader->finished, &load->loads);
                pthread_cond_signal(&loader->done);
        }
        loader->n_threads--;
        loader_unref(loader);
        return NULL;
}

/* With the lock. */
static int start_thread(Loader *loader) {
        pthread_t thread;
        int r;

        r = thread_start(&thread, NULL, run, loader);
        if (r < 0)
                return r;
        pthread_detach(thread);
        loader->n_threads++;
        loader->n_references++;
        return 0;
}

int loader_new(Loader **ret, const ProbeOwner *owner) {
        pthread_condattr_t attributes;
        Loader *loader = calloc(1, sizeof(*loader));
        int r;

        if (!loader)
                return -ENOMEM;
        loader->n_references = 1;
        loader->has_owner = owner;
        if (owner)
                loader->owner = *owner;
        list_init(&loader->urgent);
        list_init(&loader->waiting);
        list_init(&loader->running);
        list_init(&loader->finished);
        pthread_mutex_init(&loader->lock, NULL);
        pthread_cond_init(&loader->queued, NULL);
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&loader->done, &attributes);
        pthread_condattr_destroy(&attributes);
        pthread_mutex_lock(&loader->lock);
        r = start_thread(loader);
        if (r < 0) {
                loader_unref(loader);
                return r;
        }
        pthread_mutex_unlock(&loader->lock);
        *ret = loader;
        return 0;
}

Loader *loader_free(Loader *loader) {
        if (!loader)
                return NULL;
        pthread_mutex_lock(&loader->lock);
        loader->is_closing = true;
        pthread_cond_broadcast(&loader->queued);
        loader_unref(loader);
        return NULL;
}

/* Call it with the lock. Whether perhaps no thread ever comes back, as each of them has been busy with one load for a
 * second. */
static bool is_stuck(const Loader *loader) {
        const uint64_t now_ns = loader_now_ns();
        unsigned n_stuck = 0;

        for (const List *at = loader->running.next; at != &loader->running; at = at->next)
                n_stuck += now_ns - list_entry(at, Load, loads)->begun_ns > LOADER_STUCK_NS;
        return n_stuck >= loader->n_threads;
}

bool loader_submit(Loader *loader, Load *load) {
        bool can_run = true;

        pthread_mutex_lock(&loader->lock);
        if (is_stuck(loader))
                can_run = loader->n_threads < LOADER_THREADS_MAX && start_thread(loader) == 0;
        if (can_run) {
                list_append(load->is_urgent ? &loader->urgent : &loader->waiting, &load->loads);
                pthread_cond_signal(&loader->queued);
        }
        pthread_mutex_unlock(&loader->lock);
        return can_run;
}

void loader_hurry(Loader *loader, pid_t pid) {
        List *at, *next;

        pthread_mutex_lock(&loader->lock);
        for (at = loader->waiting.next; at != &loader->waiting; at = next) {
                next = at->next;
                if (list_entry(at, Load, loads)->pid == pid) {
                        list_unlink(at);
                        list_append(&loader->urgent, at);
                }
        }
        pthread_mutex_unlock(&loader->lock);
}

Load *loader_take(Loader *loader) {
        Load *load;

        pthread_mutex_lock(&loader->lock);
        load = list_first(&loader->finished, Load, loads);
        if (load)
                list_unlink(&load->loads);
        pthread_mutex_unlock(&loader->lock);
        return load;
}

/* With the lock. */
static bool is_busy(const Loader *loader) {
        return has_waiting(loader) || !list_is_empty(&loader->running);
}

bool loader_is_busy(Loader *loader) {
        bool busy;

        pthread_mutex_lock(&loader->lock);
        busy = is_busy(loader) && !is_stuck(loader);
        pthread_mutex_unlock(&loader->lock);
        return busy;
}

void loader_wait(Loader *loader, uint64_t until_ns) {
        const struct timespec until = {
                .tv_sec = (time_t)(until_ns / NS_PER_S),
                .tv_nsec = (long)(until_ns % NS_PER_S),
        };

        pthread_mutex_lock(&loader->lock);
        while (list_is_empty(&loader->finished) && !is_stuck(loader) && is_busy(loader))
                if (pthread_cond_timedwait(&loader->done, &loader->lock, &until) != 0)
                        break;
        pthread_mutex_unlock(&loader->lock);
}
