/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Emits a known number of slices from several threads, slowly enough that none has to be dropped:
 *
 *      known-events THREADS SLICES-OF-EACH
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <desktrace/track-event.h>

#define BATCH   100 /* slices, then a rest */
#define REST_US 2000
#define LARGE   INT64_C(0x7123456789abcdef) /* does not fit into 32 bits */
#define N_MAX   64

DT_CATEGORY(known, "known", "Slices that are counted");

static int n_slices;

static void *emit(void *unused) {
        (void)unused;
        for (int i = 0; i < n_slices; i++) {
                DT_SLICE_BEGIN(known, "one", DT_INT("large", LARGE));
                DT_SLICE_END(known);
                if (i % BATCH == BATCH - 1)
                        usleep(REST_US);
        }
        DT_COUNTER(known, "large", LARGE);
        return NULL;
}

int main(int argc, char *argv[]) {
        const int n_threads = argc == 3 ? atoi(argv[1]) : 0;
        pthread_t threads[N_MAX];

        if (n_threads < 1 || n_threads > N_MAX || dt_init(NULL) < 0)
                return 2;
        n_slices = atoi(argv[2]);
        for (int i = 0; i < n_threads; i++)
                if (pthread_create(&threads[i], NULL, emit, NULL) != 0)
                        return 1;
        for (int i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
