/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Threads: two threads emit at once, compared with one */

#include <pthread.h>
#include <stdatomic.h>

#include "lib.h"

typedef struct Runner {
        Burst burst;
        unsigned n;
        pthread_t thread;
        _Atomic unsigned *n_ready;
        unsigned n_all;
        uint64_t begin_ns, end_ns;
} Runner;

static void *run(void *userdata) {
        Runner *runner = userdata;

        runner->burst(1); /* a writer, and what it says at first */
        atomic_fetch_add(runner->n_ready, 1);
        while (atomic_load(runner->n_ready) < runner->n_all)
                ;
        runner->begin_ns = bench_now_ns();
        runner->burst(runner->n);
        runner->end_ns = bench_now_ns();
        return NULL;
}

/* From the first one's begin to the last one's end. */
static double run_threads_ns(Burst burst, unsigned n, unsigned n_threads) {
        _Atomic unsigned n_ready = 0;
        Runner runners[2];
        uint64_t begin_ns = UINT64_MAX, end_ns = 0;

        for (unsigned i = 0; i < n_threads; i++) {
                runners[i] =
                        (Runner){ .burst = burst, .n = n, .n_ready = &n_ready, .n_all = n_threads };
                if (pthread_create(&runners[i].thread, NULL, run, &runners[i]) != 0)
                        abort();
        }
        for (unsigned i = 0; i < n_threads; i++) {
                pthread_join(runners[i].thread, NULL);
                begin_ns = runners[i].begin_ns < begin_ns ? runners[i].begin_ns : begin_ns;
                end_ns = runners[i].end_ns > end_ns ? runners[i].end_ns : end_ns;
        }
        world_drain();
        return (double)(end_ns - begin_ns);
}

double threads_ratio(Burst burst, unsigned n) {
        double one_ns = run_threads_ns(burst, n, 1);

        return 2 * one_ns / run_threads_ns(burst, n, 2);
}
