/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Library: all of its global state, and its private thread
 *
 * The thread starts with the first data source and lives as long as the process: the shared object is linked
 * with -z nodelete, and there is nothing to do at exit, because what has been written is in memory
 * that the service reads. It owns all connections and all instances; every callback runs on it, without
 * the lock.
 *
 * The lock guards the fields that are marked so below. It is held for a few list operations at a time, never over a
 * callback, a wait for a peer or anything that blocks.
 *
 * Some programs close every descriptor that they have not opened, and so ours. Each of ours is marked (shared/fd.h)
 * and checked before it is used, because its number may since belong to another file. The thread notices when it
 * next wakes up, and starts over.
 *
 * No function that the program calls is a cancellation point: a thread that is cancelled must not take a lock along.
 *
 * In a forked child the library does nothing: library_inert() is true, and every public function checks it before it
 * touches anything else. The child keeps the mappings, so that a stray access is harmless. It does not keep the
 * descriptors, so that the parent's connections end with the parent.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/list.h"

#define LIBRARY_CONNECTIONS_MAX 2 /* system bus and session bus, or one socket */

typedef struct Connection Connection;

/* 0 to 2 are left free: a program that has closed them must not find our descriptors there. */
#define LIBRARY_FD_MIN 3

typedef struct Library {
        pthread_mutex_t lock;
        pthread_cond_t
                removed; /* signalled when the private thread has removed a source; waits use CLOCK_MONOTONIC */

        /* Under the lock. */
        List sources; /* dt_source.link */
        List answers; /* dt_reply.link, answered but not yet sent */
        bool sources_changed;
        bool has_notes; /* some instance has notes that have not been sent */
        bool started;
        char *name; /* the program's name at the service; set when the thread has started */
        size_t shared_memory_bytes, page_bytes;

        /* Only the private thread uses these. */
        Connection *connections[LIBRARY_CONNECTIONS_MAX];
        unsigned n_connections;

        _Atomic int wake_fd; /* -1: none */

        /* Set before the thread starts. */
        char *socket_path; /* of $DESKTRACE_SOCKET, or NULL: the buses */
} Library;

extern Library library;

/* Set once, in a forked child. */
extern _Atomic bool library_is_inert;

static inline bool library_inert(void) {
        return atomic_load_explicit(&library_is_inert, memory_order_relaxed);
}

/* How many locks of the library this thread holds or waits for. While it is not 0, events from signal handlers or
 * from the program's malloc() must not take one. */
extern _Thread_local volatile unsigned library_n_locks
        __attribute__((__tls_model__("initial-exec")));

static inline void library_lock_mutex(pthread_mutex_t *mutex) {
        library_n_locks++;
        pthread_mutex_lock(mutex);
}

/* Returns false if another thread holds it. */
static inline bool library_try_lock_mutex(pthread_mutex_t *mutex) {
        library_n_locks++;
        if (pthread_mutex_trylock(mutex) == 0)
                return true;
        library_n_locks--;
        return false;
}

static inline void library_unlock_mutex(pthread_mutex_t *mutex) {
        pthread_mutex_unlock(mutex);
        library_n_locks--;
}

static inline void library_lock(void) {
        library_lock_mutex(&library.lock);
}

static inline void library_unlock(void) {
        library_unlock_mutex(&library.lock);
}

/* A name in the form that the service accepts, for lists and logs: non-ASCII characters become `?`, and the rest is
 * cut off. Returns NULL if memory has run out. */
char *library_plain_name(const char *name);

/* library-thread.c: starts the thread if it does not run. With the lock held. Returns 0 or a negative errno. */
int library_start(void);

/* Whether the thread runs. Without the lock. */
bool library_has_started(void);

/* Makes the thread process sources and answers. Any thread, with or without the lock. Returns false if the program
 * has closed the descriptor, and the thread will do it when something else wakes it. */
bool library_wake(void);

/* Whether this is the private thread; and declares that it is. */
bool library_on_thread(void);
void library_thread_begins(void);

uint64_t library_now_ns(void); /* CLOCK_MONOTONIC */

/* Registers a descriptor for a forked child to close. At most LIBRARY_FORK_FDS_MAX; further ones stay open, which
 * only delays the end of a connection. */
#define LIBRARY_FORK_FDS_MAX 16
void library_fork_close(int fd);
void library_fork_keep(int fd);

/* For pthread_atfork(): this is a forked child. */
void library_after_fork(void);
