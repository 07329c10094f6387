/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Two threads that work, and can be watched: run it, and meanwhile `desktrace record -t 2s`.
 *
 *      hello-desktrace [--seconds N]
 *
 * Build it elsewhere with: cc hello-desktrace.c $(pkg-config --cflags --libs desktrace) -pthread
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <desktrace/track-event.h>

DT_CATEGORY(kitchen, "kitchen", "What the cooks do");
DT_CATEGORY_TAGGED(detail, "kitchen.detail", "Every single potato", "debug");

static double seconds = 5;

static double now(void) {
        struct timespec time;

        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work_for(double how_long) {
        for (double end = now() + how_long; now() < end;)
                ;
}

static void peel(int potato) {
        DT_SLICE(kitchen, "peel", DT_INT("potato", potato), DT_STRING("kind", "mealy"));

        for (int i = 0; i < 4; i++) {
                DT_SLICE(detail, "cut", DT_INT("cut", i));
                work_for(0.0002);
        }
}

static void *cook(void *name) {
        struct timespec pause = { .tv_nsec = 4000000 };
        double end = now() + seconds;

        dt_thread_set_name(name);
        for (int potato = 1; now() < end; potato++) {
                peel(potato);
                DT_COUNTER(kitchen, name, potato);
                DT_SLICE_BEGIN(kitchen, "rest");
                nanosleep(&pause, NULL);
                DT_SLICE_END(kitchen);
        }
        DT_INSTANT(kitchen, "done", DT_STRING("who", name));
        return NULL;
}

int main(int argc, char **argv) {
        static char names[][16] = { "cook Anna", "cook Boris" };
        pthread_t cooks[2];

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = atof(argv[2]);
        dt_init(NULL);
        for (int i = 0; i < 2; i++)
                if (pthread_create(&cooks[i], NULL, cook, names[i]) != 0)
                        return EXIT_FAILURE;
        for (int i = 0; i < 2; i++)
                pthread_join(cooks[i], NULL);
        return EXIT_SUCCESS;
}
