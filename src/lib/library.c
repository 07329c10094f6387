/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Library: its global state, and what happens to it in a forked child */

#include <stdlib.h>
#include <time.h>

#include "lib/library.h"
#include "lib/pool.h"
#include "shared/fd.h"

#define NS_PER_SEC UINT64_C(1000000000)

#define NAME_BYTES_MAX 128 /* the longest that the service accepts */

Library library = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .sources = LIST_INIT(library.sources),
        .answers = LIST_INIT(library.answers),
        .wake_fd = -1,
};

_Atomic bool library_is_inert;

/* Descriptor + 1; 0 is an empty place. */
static _Atomic int fork_fds[LIBRARY_FORK_FDS_MAX];

_Thread_local volatile unsigned library_n_locks __attribute__((__tls_model__("initial-exec")));

static _Thread_local bool on_thread;

bool library_on_thread(void) {
        return on_thread;
}

void library_thread_begins(void) {
        on_thread = true;
}

uint64_t library_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/*
 * Fork
 */

void library_fork_close(int fd) {
        for (size_t i = 0; i < LIBRARY_FORK_FDS_MAX; i++) {
                int empty = 0;

                if (atomic_compare_exchange_strong(&fork_fds[i], &empty, fd + 1))
                        return;
        }
}

void library_fork_keep(int fd) {
        for (size_t i = 0; i < LIBRARY_FORK_FDS_MAX; i++) {
                int there = fd + 1;

                if (atomic_compare_exchange_strong(&fork_fds[i], &there, 0))
                        return;
        }
}

/* Only async-signal-safe calls: the parent may have other threads in the middle of anything. */
void library_after_fork(void) {
        atomic_store(&library_is_inert, true);
        pool_after_fork();
        for (size_t i = 0; i < LIBRARY_FORK_FDS_MAX; i++)
                fd_close_marked(atomic_exchange(&fork_fds[i], 0) - 1);
}

/*
 * The thread
 */

bool library_wake(void) {
        return fd_ring_marked(library.wake_fd);
}

bool library_has_started(void) {
        bool r;

        library_lock();
        r = library.started;
        library_unlock();
        return r;
}

char *library_plain_name(const char *name) {
        char *copy = malloc(NAME_BYTES_MAX + 1);
        size_t n = 0;

        if (!copy)
                return NULL;
        for (; *name && n < NAME_BYTES_MAX; name++)
                if (*name >= ' ' && *name <= '~')
                        copy[n++] = *name;
                else if (((uint8_t)*name & 0xc0) != 0x80) /* once for each character of UTF-8 */
                        copy[n++] = '?';
        if (n == 0)
                copy[n++] = '?';
        copy[n] = '\0';
        return copy;
}
