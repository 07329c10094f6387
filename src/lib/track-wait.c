/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track wait: dt_init() waits for the session of the recorder that started the program */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "lib/track-wait.h"
#include "shared/macro.h"
#include "shared/text.h"

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS  INT64_C(1000000)

/* A lock of its own: a program that waits must not keep the library's thread from starting the session. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended;
static bool has_ended;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* pthread_cond_clockwait() does not exist everywhere. */
static void init(void) {
        pthread_condattr_t attributes;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&ended, &attributes);
        pthread_condattr_destroy(&attributes);
}

unsigned track_wait_ms(const char *text) {
        uint64_t ms;

        switch (text ? text_parse_uint(&ms, text, TRACK_WAIT_MAX_MS) : -EINVAL) {
        case 0:
                return (unsigned)ms;
        case -ERANGE:
                return TRACK_WAIT_MAX_MS;
        default:
                return 0;
        }
}

static struct timespec deadline_after(unsigned ms) {
        struct timespec time;
        int64_t ns;

        clock_gettime(CLOCK_MONOTONIC, &time);
        ns = time.tv_nsec + ms * NS_PER_MS;
        time.tv_sec += (time_t)(ns / NS_PER_SEC);
        time.tv_nsec = (long)(ns % NS_PER_SEC);
        return time;
}

void track_wait(unsigned ms) {
        struct timespec deadline;
        int r = 0;

        if (ms == 0)
                return;
        pthread_once(&once, init);
        deadline = deadline_after(ms);
        pthread_mutex_lock(&lock);
        while (!has_ended && r == 0)
                r = pthread_cond_timedwait(&ended, &lock, &deadline);
        pthread_mutex_unlock(&lock);
}

void track_wait_end(void) {
        pthread_once(&once, init);
        pthread_mutex_lock(&lock);
        has_ended = true;
        pthread_cond_broadcast(&ended);
        pthread_mutex_unlock(&lock);
}
