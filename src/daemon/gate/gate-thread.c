/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "gate/gate-thread.h"
#include "shared/fd.h"

struct GateThread {
        Gates *gates;
        Gate *gate;
        pthread_t thread;
        bool is_running;
};

/* How long to sleep at most; 0: it is time to end. */
static int next_wait_ms(const GateThread *thread) {
        return gate_is_closed_by_service(thread->gate) ? GATE_LINGER_MS : -1;
}

static void *run(void *userdata) {
        GateThread *thread = userdata;
        struct pollfd wait = { .fd = gates_fd(thread->gates), .events = POLLIN };
        int n = 1;

        /* Only what lingers is waited for with an end. */
        while (n != 0 && !gate_is_over(thread->gate)) {
                n = gates_are_ready(thread->gates) ? 1 : poll(&wait, 1, next_wait_ms(thread));
                gates_turn(thread->gates);
        }
        thread->gate = gate_free(thread->gate);
        return NULL;
}

/* Signals are the main thread's business. */
static int start(GateThread *thread) {
        sigset_t all, before;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&thread->thread, NULL, run, thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        thread->is_running = r == 0;
        return -r;
}

int gate_thread_new(GateThread **ret, int *ret_fd, const GateOptions *options) {
        _cleanup_(gate_thread_freep) GateThread *thread = calloc(1, sizeof(*thread));
        _cleanup_(fd_closep) int outer = options->fd, fd = -1;
        GateOptions own = *options;
        int r;

        if (!thread)
                return -ENOMEM;
        r = gates_new(&thread->gates);
        if (r < 0)
                return r;
        own.fd = TAKE_FD(outer);
        r = gate_new(&thread->gate, &fd, thread->gates, &own);
        if (r >= 0)
                r = start(thread);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        *ret = TAKE(thread);
        return 0;
}

GateThread *gate_thread_free(GateThread *thread) {
        if (!thread)
                return NULL;
        if (thread->is_running)
                pthread_join(thread->thread, NULL);
        gate_free(thread->gate);
        gates_free(thread->gates);
        free(thread);
        return NULL;
}
