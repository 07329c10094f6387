/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One lock is over all of it, and nobody closes anything with the lock held. A user is forgotten when its thread finds
 * nothing more to close; where no thread could be made its descriptors wait for the next one that it passes.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "shared/fd.h"
#include "shared/list.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/thread.h"

#define CLOSER_STACK_BYTES (64u << 10)
#define CLOSER_DRAIN_FDS   253 /* the kernel's SCM_MAX_FD: as many as a message has */

typedef struct CloserUser {
        uid_t user;
        List link;
        int *fds; /* the oldest first */
        size_t n_fds, n_allocated;
        bool is_closing; /* one that is no longer in fds */
        bool has_thread;
} CloserUser;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static List users = LIST_INIT(users);
static int (*close_fd)(int fd) = close;

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
        list_append(&users, &found->link);
        return found;
}

static bool user_add(CloserUser *user, int fd) {
        if (user->n_fds == user->n_allocated) {
                size_t n = MAX(2 * user->n_allocated, (size_t)8);
                int *fds = realloc(user->fds, n * sizeof(*fds));

                if (!fds)
                        return false;
                user->fds = fds;
                user->n_allocated = n;
        }
        user->fds[user->n_fds++] = fd;
        return true;
}

static void user_free(CloserUser *user) {
        list_unlink(&user->link);
        free(user->fds);
        free(user);
}

static void *run(void *userdata) {
        CloserUser *user = userdata;

        pthread_mutex_lock(&lock);
        while (user->n_fds > 0) {
                int fd = user->fds[0];

                memmove(user->fds, user->fds + 1, --user->n_fds * sizeof(*user->fds));
                user->is_closing = true;
                pthread_mutex_unlock(&lock);
                close_fd(fd);
                pthread_mutex_lock(&lock);
                user->is_closing = false;
        }
        user_free(user);
        pthread_cond_broadcast(&ended);
        pthread_mutex_unlock(&lock);
        return NULL;
}

static bool start_thread(CloserUser *user) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, CLOSER_STACK_BYTES);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        r = thread_start(&thread, &attributes, run, user);
        pthread_attr_destroy(&attributes);
        return r == 0;
}

void closer_close(uid_t user, int fd) {
        CloserUser *found;
        bool is_kept;

        if (fd < 0)
                return;
        pthread_mutex_lock(&lock);
        found = user_find_or_add(user);
        is_kept = found && user_add(found, fd);
        if (is_kept && !found->has_thread)
                found->has_thread = start_thread(found);
        pthread_mutex_unlock(&lock);
        if (!is_kept) /* better one descriptor too many than a main thread that hangs */
                log_warning("out of memory: a descriptor of user %u stays open", (unsigned)user);
}

/* One message. False: there are no more. */
static bool drain_once(uid_t user, int fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[CLOSER_DRAIN_FDS]))];
        } control;
        static uint8_t ignored[64u << 10]; /* written by anybody, read by nobody */
        struct iovec piece = { .iov_base = ignored, .iov_len = sizeof(ignored) };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        int fds[sizeof(control) / sizeof(int)];
        size_t n_fds;

        /* Without room the kernel lets go of what comes, which asks less of a file system than a close. */
        if (!closer_is_full(user)) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control.space);
        }
        if (recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
                return false;
        n_fds = fd_list_received(&message, fds, ARRAY_SIZE(fds));
        while (n_fds > 0)
                closer_close(user, fds[--n_fds]);
        return true;
}

/* Nothing more comes after the shutdown, so this ends. */
void closer_close_socket(uid_t user, int fd) {
        if (fd < 0)
                return;
        shutdown(fd, SHUT_RDWR);
        while (drain_once(user, fd))
                ;
        fd_close(fd);
}

bool closer_is_full(uid_t user) {
        const CloserUser *found;
        bool is_full;

        pthread_mutex_lock(&lock);
        found = user_find(user);
        is_full = found && found->n_fds + found->is_closing >= CLOSER_PENDING_MAX;
        pthread_mutex_unlock(&lock);
        return is_full;
}

void closer_replace(int (*replacement)(int fd)) {
        pthread_mutex_lock(&lock);
        while (!list_is_empty(&users))
                pthread_cond_wait(&ended, &lock);
        close_fd = replacement ? replacement : close;
        pthread_mutex_unlock(&lock);
}
