/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A thread that sends a signal to the closing thread again and again, for as long as that is inside. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "closer/unlinger.h"
#include "shared/log.h"

/* Nobody else sends this signal to us, and the closing thread waits for nothing else. */
#define UNLINGER_SIGNAL SIGRTMAX

#define INTERVAL_NS 200000

static void ignore(int number) {
}

/* An ignored signal would not interrupt the wait, so there must be a handler. */
static void install(void) {
        struct sigaction action = { .sa_handler = ignore };

        sigaction(UNLINGER_SIGNAL, &action, NULL);
}

static void set_blocked(int how) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, UNLINGER_SIGNAL);
        pthread_sigmask(how, &signals, NULL);
}

void unlinger_begin(Unlinger *unlinger) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        const struct itimerspec often = { .it_interval = { .tv_nsec = INTERVAL_NS },
                                          .it_value = { .tv_nsec = INTERVAL_NS } };
        struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = UNLINGER_SIGNAL };

        pthread_once(&once, install);
        event._sigev_un._tid = gettid();
        unlinger->has_timer = timer_create(CLOCK_MONOTONIC, &event, &unlinger->timer) == 0;
        if (!unlinger->has_timer)
                log_warning("sockets of peers may linger: %s", strerror(errno));
        else
                timer_settime(unlinger->timer, 0, &often, NULL);
        set_blocked(SIG_UNBLOCK);
}

void unlinger_end(Unlinger *unlinger) {
        set_blocked(SIG_BLOCK);
        if (unlinger->has_timer)
                timer_delete(unlinger->timer);
        unlinger->has_timer = false;
}
