/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Two threads with slices, until it is killed: for tests that run it in containers. */

#include <desktrace/track-event.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

DT_CATEGORY(boxed, "boxed", "What runs in a container");

static void *work(void *name) {
        dt_thread_set_name(name);
        for (;;) {
                DT_SLICE(boxed, "work");
                usleep(5000);
        }
        return NULL;
}

int main(void) {
        static char first[] = "box main", second[] = "box worker";
        pthread_t thread;

        dt_init(NULL);
        if (pthread_create(&thread, NULL, work, second) != 0)
                return 1;
        work(first);
}
