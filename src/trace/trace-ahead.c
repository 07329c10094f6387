/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace ahead: a ring of four batches, between a thread that makes them and the program, which takes them
 */

#include "trace/trace-ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define BATCHES 4

typedef struct Batch {
        void *memory;
        size_t n;
} Batch;

struct TraceAhead {
        TraceMake *make;
        void *user_data;
        Batch batches[BATCHES];
        pthread_t thread;
        bool has_thread;
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        /* How many batches have been made, and how many are no longer in use. The mutex guards these members. */
        size_t n_made, n_done;
        bool is_at_end, is_stopped;
        bool has_taken; /* only for trace_ahead_next() */
};

static Batch *ahead_batch(TraceAhead *ahead, size_t number) {
        return &ahead->batches[number % BATCHES];
}

/* Waits until there is room for another batch. Returns false if none is wanted. */
static bool ahead_wait_for_room(TraceAhead *ahead) {
        bool is_stopped;

        pthread_mutex_lock(&ahead->mutex);
        while (!ahead->is_stopped && ahead->n_made - ahead->n_done == BATCHES)
                pthread_cond_wait(&ahead->changed, &ahead->mutex);
        is_stopped = ahead->is_stopped;
        pthread_mutex_unlock(&ahead->mutex);
        return !is_stopped;
}

static void ahead_publish(TraceAhead *ahead, size_t n) {
        pthread_mutex_lock(&ahead->mutex);
        if (n)
                ahead->n_made++;
        else
                ahead->is_at_end = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
}

/* The thread. Nobody else looks at the batch that is being made, and only this thread changes n_made. */
static void *ahead_run(void *user_data) {
        TraceAhead *ahead = user_data;
        size_t number = 0;

        while (ahead_wait_for_room(ahead)) {
                Batch *batch = ahead_batch(ahead, number++);

                batch->n = ahead->make(ahead->user_data, batch->memory);
                ahead_publish(ahead, batch->n);
                if (batch->n == 0)
                        break;
        }
        return NULL;
}

static bool has_several_cpus(void) {
        cpu_set_t cpus;

        /* It fails if there are more than fit in. */
        return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) > 1;
}

/* Signals are for the program's other threads. */
static void ahead_start(TraceAhead *ahead) {
        sigset_t all, before;

        if (!has_several_cpus())
                return;
        sigfillset(&all);
        if (pthread_sigmask(SIG_SETMASK, &all, &before))
                return;
        ahead->has_thread = pthread_create(&ahead->thread, NULL, ahead_run, ahead) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int trace_ahead_new(TraceAhead **ret,
                    size_t batch_bytes,
                    TraceMake *make,
                    void *user_data,
                    bool wants_thread) {
        _cleanup_(trace_ahead_freep) TraceAhead *ahead = calloc(1, sizeof(*ahead));

        if (!ahead)
                return -ENOMEM;
        ahead->make = make;
        ahead->user_data = user_data;
        pthread_mutex_init(&ahead->mutex, NULL);
        pthread_cond_init(&ahead->changed, NULL);
        for (size_t i = 0; i < BATCHES; i++) {
                ahead->batches[i].memory = malloc(batch_bytes);
                if (!ahead->batches[i].memory)
                        return -ENOMEM;
        }
        if (wants_thread)
                ahead_start(ahead);
        *ret = TAKE(ahead);
        return 0;
}

TraceAhead *trace_ahead_free(TraceAhead *ahead) {
        if (!ahead)
                return NULL;

        if (ahead->has_thread) {
                pthread_mutex_lock(&ahead->mutex);
                ahead->is_stopped = true;
                pthread_cond_signal(&ahead->changed);
                pthread_mutex_unlock(&ahead->mutex);
                pthread_join(ahead->thread, NULL);
        }
        pthread_cond_destroy(&ahead->changed);
        pthread_mutex_destroy(&ahead->mutex);
        for (size_t i = 0; i < BATCHES; i++)
                free(ahead->batches[i].memory);
        free(ahead);
        return NULL;
}

/* Gives back the batch before. */
static const Batch *ahead_wait_for_batch(TraceAhead *ahead) {
        const Batch *batch = NULL;

        pthread_mutex_lock(&ahead->mutex);
        if (ahead->has_taken) {
                ahead->n_done++;
                pthread_cond_signal(&ahead->changed);
        }
        while (ahead->n_made == ahead->n_done && !ahead->is_at_end)
                pthread_cond_wait(&ahead->changed, &ahead->mutex);
        if (ahead->n_made > ahead->n_done)
                batch = ahead_batch(ahead, ahead->n_done);
        pthread_mutex_unlock(&ahead->mutex);
        ahead->has_taken = batch;
        return batch;
}

static const Batch *ahead_make_batch(TraceAhead *ahead) {
        Batch *batch = ahead_batch(ahead, 0);

        if (!ahead->is_at_end)
                batch->n = ahead->make(ahead->user_data, batch->memory);
        ahead->is_at_end = batch->n == 0;
        return ahead->is_at_end ? NULL : batch;
}

const void *trace_ahead_next(TraceAhead *ahead, size_t *ret_n) {
        const Batch *batch =
                ahead->has_thread ? ahead_wait_for_batch(ahead) : ahead_make_batch(ahead);

        *ret_n = batch ? batch->n : 0;
        return batch ? batch->memory : NULL;
}
