/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One lock protects everything, and nothing is closed while it is held. A user is forgotten when its threads find
 * nothing more to close; if a thread could not be made, the descriptors wait until the user passes another one.
 *
 * Closing a file asks its file system, and no signal interrupts that. Closing a socket does not ask one, and neither
 * does the kernel when it drops the descriptors inside a closed socket, whatever they are; some of these linger, which
 * a signal ends. So the thread for sockets always makes progress, however many connections a user makes whose files
 * hang.
 */

#include <linux/sockios.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "closer/closer.h"
#include "closer/unlinger.h"
#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log-user.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/thread.h"

#define CLOSER_STACK_BYTES (64u << 10)
#define IDLE_NS \
        100000000 /* how long a thread waits for more, so that a flood does not make a thread for
                                      * each */

typedef struct CloserUser CloserUser;

typedef struct CloserQueue {
        CloserUser *user;
        int *fds; /* the oldest first */
        size_t n_fds, n_allocated;
        bool is_closing; /* the one being closed, which is no longer in fds */
        bool has_thread;
} CloserQueue;

struct CloserUser {
        uid_t user;
        List link;
        CloserQueue files, sockets;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static List users = LIST_INIT(users);
static int (*close_fd)(int fd) = close;
static bool is_replacing; /* no thread waits for more */

static CloserUser *user_find(uid_t user) {
        CloserUser *found;

        list_for_each (found, &users, link)
                if (found->user == user)
                        return found;
        return NULL;
}

static CloserUser *user_find_or_add(uid_t user) {
        CloserUser *found = user_find(user);

        if (found)
                return found;
        found = calloc(1, sizeof(*found));
        if (!found)
                return NULL;
        found->user = user;
        found->files.user = found->sockets.user = found;
        list_append(&users, &found->link);
        return found;
}

static bool queue_add(CloserQueue *queue, int fd) {
        if (queue->n_fds == queue->n_allocated) {
                size_t n = MAX(2 * queue->n_allocated, (size_t)8);
                int *fds = realloc(queue->fds, n * sizeof(*fds));

                if (!fds)
                        return false;
                queue->fds = fds;
                queue->n_allocated = n;
        }
        queue->fds[queue->n_fds++] = fd;
        return true;
}

static size_t queue_count(const CloserQueue *queue) {
        return queue->n_fds + queue->is_closing;
}

static void user_free_if_idle(CloserUser *user) {
        if (user->files.has_thread || user->sockets.has_thread || user->files.n_fds > 0 ||
            user->sockets.n_fds > 0)
                return;
        list_unlink(&user->link);
        free(user->files.fds);
        free(user->sockets.fds);
        free(user);
}

/* Called with the lock held, which is released meanwhile. */
static void close_all(CloserQueue *queue) {
        Unlinger unlinger;

        unlinger_begin(&unlinger);
        while (queue->n_fds > 0) {
                int fd = queue->fds[0];

                memmove(queue->fds, queue->fds + 1, --queue->n_fds * sizeof(*queue->fds));
                queue->is_closing = true;
                pthread_mutex_unlock(&lock);
                close_fd(fd);
                pthread_mutex_lock(&lock);
                queue->is_closing = false;
        }
        unlinger_end(&unlinger);
}

static void wait_for_more(const CloserQueue *queue) {
        struct timespec until;
        int r = 0;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += IDLE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (r == 0 && queue->n_fds == 0 && !is_replacing)
                r = pthread_cond_timedwait(&more, &lock, &until);
}

static void *run(void *userdata) {
        CloserQueue *queue = userdata;

        pthread_mutex_lock(&lock);
        while (queue->n_fds > 0) {
                close_all(queue);
                wait_for_more(queue);
        }
        queue->has_thread = false;
        user_free_if_idle(queue->user);
        pthread_cond_broadcast(&ended);
        pthread_mutex_unlock(&lock);
        return NULL;
}

static bool start_thread(CloserQueue *queue) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, CLOSER_STACK_BYTES);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        r = thread_start(&thread, &attributes, run, queue);
        pthread_attr_destroy(&attributes);
        return r == 0;
}

static void add(uid_t user, int fd, bool is_socket) {
        CloserUser *found;
        CloserQueue *queue;
        bool is_kept;

        pthread_mutex_lock(&lock);
        found = user_find_or_add(user);
        queue = !found ? NULL : is_socket ? &found->sockets : &found->files;
        is_kept = queue && queue_add(queue, fd);
        if (is_kept && !queue->has_thread)
                queue->has_thread = start_thread(queue);
        else if (is_kept)
                pthread_cond_broadcast(&more);
        pthread_mutex_unlock(&lock);
        if (!is_kept) /* leaking a descriptor is better than a main thread that hangs */
                log_warning("out of memory: a descriptor of user %u stays open", (unsigned)user);
}

void closer_close(uid_t user, int fd) {
        if (fd >= 0)
                add(user, fd, false);
}

static bool has_unread(int fd) {
        int n = 0;

        return ioctl(fd, SIOCINQ, &n) < 0 || n > 0;
}

/* Nothing more arrives after the shutdown. A socket without unread bytes has no descriptors in it, as each comes
 * with a byte. */
void closer_close_socket(uid_t user, int fd) {
        if (fd < 0)
                return;
        shutdown(fd, SHUT_RDWR);
        if (has_unread(fd))
                add(user, fd, true);
        else
                fd_close(fd);
}

bool closer_is_full(uid_t user) {
        const CloserUser *found;
        bool is_full;

        pthread_mutex_lock(&lock);
        found = user_find(user);
        is_full = found && (queue_count(&found->files) >= CLOSER_PENDING_MAX ||
                            queue_count(&found->sockets) >= CLOSER_SOCKETS_PENDING_MAX);
        pthread_mutex_unlock(&lock);
        return is_full;
}

bool closer_has_pending(void) {
        const CloserUser *user;
        bool has_pending = false;

        pthread_mutex_lock(&lock);
        list_for_each (user, &users, link)
                has_pending |= queue_count(&user->files) > 0 || queue_count(&user->sockets) > 0;
        pthread_mutex_unlock(&lock);
        return has_pending;
}

void closer_log_pending(void) {
        const CloserUser *user;

        pthread_mutex_lock(&lock);
        list_for_each (user, &users, link)
                if (queue_count(&user->files) > 0)
                        log_user(user->user,
                                 LOG_WARNING,
                                 "the file system of a descriptor that user %u has passed does not "
                                 "answer: until it "
                                 "does, this process cannot end, and systemd waits for it",
                                 (unsigned)user->user);
        pthread_mutex_unlock(&lock);
}

void closer_replace(int (*replacement)(int fd)) {
        pthread_mutex_lock(&lock);
        is_replacing = true;
        pthread_cond_broadcast(&more);
        while (!list_is_empty(&users))
                pthread_cond_wait(&ended, &lock);
        is_replacing = false;
        close_fd = replacement ? replacement : close;
        pthread_mutex_unlock(&lock);
}
