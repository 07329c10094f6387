/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The lock protects who has the gate, and a question with its answer. The gate itself is used without it, by the side
 * that has it. An event in the gate's epoll wakes that side up: the thread when it is to give the gate away, the loop
 * when a question is answered.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "closer/closer.h"
#include "closer/unlinger.h"
#include "gate/gate-thread.h"
#include "shared/fd.h"
#include "shared/thread.h"

typedef enum QuestionState {
        QUESTION_NONE,
        QUESTION_ASKED,
        QUESTION_ANSWERED,
} QuestionState;

struct GateThread {
        GateThreadOptions options;
        Gates *gates;
        Gate *gate; /* NULL: the gate has ended */
        int wake_fd;
        pthread_t thread;
        bool is_running; /* the thread was started and must be joined */

        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool is_mine;    /* the thread is to have the gate */
        bool is_turning; /* the thread has the gate now */
        QuestionState question;
        GateQuestion asked;
        GateAnswer answer;
};

/*
 * Questions
 */

/* Reads a byte without room for descriptors: the kernel drops them here, without asking a file system. */
static ssize_t drop_byte(int fd) {
        Unlinger unlinger;
        uint8_t byte;
        ssize_t n;

        unlinger_begin(&unlinger);
        n = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);
        unlinger_end(&unlinger);
        return n;
}

/* If a message is not wanted, its first byte is read, which carries the descriptors. */
static void find_answer(const GateThread *thread, const GateQuestion *question, GateAnswer *ret) {
        ssize_t n;

        *ret = (GateAnswer){ .user = (uid_t)-1 };
        if (!question->is_refused) {
                ret->is_gone = thread->options.find_user(
                                       thread->options.userdata, question->sender, &ret->user) != 0;
                ret->is_wanted = !ret->is_gone && !closer_is_full(ret->user);
        }
        if (ret->is_wanted)
                return;
        n = drop_byte(question->fd);
        ret->n_dropped = n > 0 ? (size_t)n : 0;
}

/* The thread does not wait for itself. */
static bool ask(void *userdata, const GateQuestion *question, GateAnswer *ret) {
        GateThread *thread = userdata;
        bool is_mine;

        pthread_mutex_lock(&thread->lock);
        is_mine = thread->is_turning;
        if (!is_mine) {
                thread->asked = *question;
                thread->question = QUESTION_ASKED;
                pthread_cond_broadcast(&thread->changed);
        }
        pthread_mutex_unlock(&thread->lock);
        if (is_mine)
                find_answer(thread, question, ret);
        return is_mine;
}

static void wake(GateThread *thread) {
        eventfd_write(thread->wake_fd, 1);
}

/* Called with the lock, which is released meanwhile. */
static void answer_question(GateThread *thread) {
        const GateQuestion question = thread->asked;
        GateAnswer answer;

        pthread_mutex_unlock(&thread->lock);
        find_answer(thread, &question, &answer);
        pthread_mutex_lock(&thread->lock);
        thread->answer = answer;
        thread->question = QUESTION_ANSWERED;
        wake(thread);
}

static bool take_answer(GateThread *thread) {
        GateAnswer answer;
        bool is_answered;

        pthread_mutex_lock(&thread->lock);
        is_answered = thread->question == QUESTION_ANSWERED;
        answer = thread->answer;
        if (is_answered)
                thread->question = QUESTION_NONE;
        pthread_mutex_unlock(&thread->lock);
        if (is_answered && thread->gate)
                gate_answer(thread->gate, &answer);
        return is_answered;
}

/*
 * Turns
 */

/* The turn takes the event that an answer comes with, so the answer is looked for afterwards: one that comes meanwhile
 * is taken now, or has its event still. */
bool gate_thread_turn(GateThread *thread) {
        gates_turn(thread->gates);
        if (take_answer(thread))
                gates_turn(thread->gates);
        return gates_are_ready(thread->gates);
}

void gate_thread_pump(GateThread *thread) {
        if (thread->gate)
                gate_pump(thread->gate);
}

void gate_thread_refuse_replies(GateThread *thread, const GateRefusal *refusal) {
        if (thread->gate)
                gate_refuse_replies(thread->gate, refusal);
}

bool gate_thread_has_taken(GateThread *thread) {
        return thread->gate && gate_has_taken(thread->gate);
}

size_t gate_thread_n_unread(const GateThread *thread) {
        return thread->gate ? gate_n_unread(thread->gate) : 0;
}

int gate_thread_fd(const GateThread *thread) {
        return gates_fd(thread->gates);
}

/* The longest time to sleep; 0: the deadline has passed. */
static int next_wait_ms(const GateThread *thread) {
        return gate_is_closed_by_service(thread->gate) ? GATE_LINGER_MS : -1;
}

/* Called with the lock held, which is released meanwhile. Returns false if the gate has ended. */
static bool turn(GateThread *thread) {
        struct pollfd wait = { .fd = gates_fd(thread->gates), .events = POLLIN };
        int n;

        thread->is_turning = true;
        pthread_mutex_unlock(&thread->lock);
        /* There is a deadline only when the last bytes linger. */
        n = gates_are_ready(thread->gates) ? 1 : poll(&wait, 1, next_wait_ms(thread));
        gate_thread_turn(thread);
        pthread_mutex_lock(&thread->lock);
        thread->is_turning = false;
        pthread_cond_broadcast(&thread->changed);
        return n != 0 && !gate_is_over(thread->gate);
}

static void *run(void *userdata) {
        GateThread *thread = userdata;
        bool is_over = false;

        pthread_mutex_lock(&thread->lock);
        while (!is_over)
                if (thread->question == QUESTION_ASKED)
                        answer_question(thread);
                else if (thread->is_mine)
                        is_over = !turn(thread);
                else
                        pthread_cond_wait(&thread->changed, &thread->lock);
        thread->gate = gate_free(thread->gate);
        pthread_mutex_unlock(&thread->lock);
        return NULL;
}

void gate_thread_hand_over(GateThread *thread) {
        pthread_mutex_lock(&thread->lock);
        thread->is_mine = false;
        wake(thread);
        while (thread->is_turning)
                pthread_cond_wait(&thread->changed, &thread->lock);
        pthread_mutex_unlock(&thread->lock);
}

void gate_thread_take_back(GateThread *thread) {
        pthread_mutex_lock(&thread->lock);
        thread->is_mine = true;
        pthread_cond_broadcast(&thread->changed);
        pthread_mutex_unlock(&thread->lock);
}

/*
 * Beginning and end
 */

static int start(GateThread *thread) {
        const int r = thread_start(&thread->thread, NULL, run, thread);

        thread->is_running = r == 0;
        return r;
}

static int init(GateThread *thread, int *ret_fd, int *bus_fd) {
        GateOptions options = { .fd = -1, .is_bus = true, .ask = ask, .userdata = thread };
        int r;

        r = gates_new(&thread->gates);
        if (r < 0)
                return r;
        thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (thread->wake_fd < 0)
                return -errno;
        r = gates_add_wake(thread->gates, thread->wake_fd);
        if (r < 0)
                return r;
        options.fd = TAKE_FD(*bus_fd);
        r = gate_new(&thread->gate, ret_fd, thread->gates, &options);
        return r < 0 ? r : start(thread);
}

int gate_thread_new(GateThread **ret, int *ret_fd, const GateThreadOptions *options) {
        _cleanup_(gate_thread_freep) GateThread *thread = calloc(1, sizeof(*thread));
        _cleanup_(fd_closep) int bus_fd = options->fd, fd = -1;
        int r;

        if (!thread)
                return -ENOMEM;
        *thread = (GateThread){
                .options = *options,
                .wake_fd = -1,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER,
                .is_mine = true,
        };
        r = init(thread, &fd, &bus_fd);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        *ret = TAKE(thread);
        return 0;
}

GateThread *gate_thread_free(GateThread *thread) {
        if (!thread)
                return NULL;
        if (thread->is_running) {
                gate_thread_take_back(thread);
                pthread_join(thread->thread, NULL);
        }
        gate_free(thread->gate);
        gates_free(thread->gates);
        fd_close(thread->wake_fd);
        free(thread);
        return NULL;
}
