/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library's private thread: how it starts, sleeps, and is woken */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/connection.h"
#include "lib/library.h"
#include "lib/observer.h"
#include "lib/source-private.h"
#include "lib/startup.h"
#include "lib/track-clock.h"
#include "lib/trigger.h"
#include "lib/writer.h"
#include "shared/fd.h"
#include "shared/names.h"

#define NS_PER_SEC     UINT64_C(1000000000)
#define TIMER_SLACK_NS 50000000ul

/* Enough for sd-bus and for well-behaved callbacks. A program that locks its memory (mlockall()) pays for all of
 * it. */
#define STACK_BYTES (512u * 1024)

/*
 * Waking up
 */

static void take_wakeups(void) {
        uint64_t n;

        while (read(library.wake_fd, &n, sizeof(n)) < 0 && errno == EINTR)
                ;
}

static int make_wake_fd(void) {
        _cleanup_(fd_closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int moved_fd;

        if (fd < 0)
                return -errno;
        moved_fd = fcntl(fd, F_DUPFD_CLOEXEC, LIBRARY_FD_MIN);
        if (moved_fd < 0)
                return -errno;
        fd_mark(moved_fd);
        library_fork_close(moved_fd);
        library.wake_fd = moved_fd;
        return 0;
}

/* If no new descriptor can be made, only the service can wake the thread. */
static void keep_wake_fd(void) {
        int fd = library.wake_fd;

        if (fd_is_marked(fd))
                return;
        library.wake_fd = -1;
        library_fork_keep(fd);
        make_wake_fd();
}

/*
 * The thread
 */

static void run_connections(void) {
        bool sources_changed;

        library_lock();
        sources_changed = library.sources_changed;
        library.sources_changed = false;
        library_unlock();

        for (unsigned i = 0; i < library.n_connections; i++) {
                if (sources_changed)
                        connection_sources_changed(library.connections[i]);
                connection_run(library.connections[i], library_now_ns());
        }
}

/* Our timers may be late, so the kernel may merge them with other wake-ups. Set only while waiting, since threads
 * that a callback starts would inherit the slack. */
static void
sleep_until_woken(struct pollfd fds[], const struct timespec *timeout, bool is_in_hurry) {
        static const struct timespec pause = { .tv_sec = 1 };

        if (timeout && !is_in_hurry)
                prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
        /* A sandbox denies waiting, or memory has run out: do not retry without a pause. */
        if (ppoll(fds, 1 + CONNECTION_FDS * library.n_connections, timeout, NULL) < 0 &&
            errno != EINTR)
                nanosleep(&pause, NULL);
        if (timeout && !is_in_hurry)
                prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0);
}

static void wait_for_work(uint64_t at_most_ns) {
        struct pollfd fds[1 + CONNECTION_FDS * LIBRARY_CONNECTIONS_MAX];
        uint64_t until_ns = UINT64_MAX, now_ns = library_now_ns();
        struct timespec timeout;

        fds[0] = (struct pollfd){ .fd = library.wake_fd, .events = POLLIN };
        for (unsigned i = 0; i < library.n_connections; i++) {
                uint64_t due_ns =
                        connection_prepare(library.connections[i], &fds[1 + CONNECTION_FDS * i]);

                until_ns = MIN(until_ns, due_ns);
        }

        if (at_most_ns != UINT64_MAX)
                until_ns = MIN(until_ns, now_ns + at_most_ns);
        if (until_ns != UINT64_MAX) {
                uint64_t ns = until_ns > now_ns ? until_ns - now_ns : 0;

                timeout.tv_sec = (time_t)(ns / NS_PER_SEC);
                timeout.tv_nsec = (long)(ns % NS_PER_SEC);
        }
        sleep_until_woken(fds, until_ns != UINT64_MAX ? &timeout : NULL, at_most_ns != UINT64_MAX);
        if (fds[0].revents && fd_is_marked(library.wake_fd))
                take_wakeups();
}

static void *run(void *userdata) {
        library_thread_begins();
        for (;;) {
                uint64_t at_most_ns;

                keep_wake_fd();
                run_connections();
                observers_greet();
                at_most_ns = startup_run();
                sources_remove_doomed();
                triggers_send(library_now_ns());
                replies_send(); /* last, since any callback above may have queued a reply */
                wait_for_work(at_most_ns);
        }
        return NULL;
}

/* Signals that a thread raises itself must reach their handlers: a sandbox may carry out system calls in the
 * handler of SIGSYS, and a thread that blocks such a signal is killed. */
static void fill_signals(sigset_t *ret) {
        static const int synchronous[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

        sigfillset(ret);
        for (size_t i = 0; i < ARRAY_SIZE(synchronous); i++)
                sigdelset(ret, synchronous[i]);
}

/* The C library takes thread-local variables out of the stack, and a program may have any number of them. */
static int create_thread(pthread_t *ret) {
        pthread_attr_t attributes;
        int r;

        if (pthread_attr_init(&attributes) != 0)
                return pthread_create(ret, NULL, run, NULL);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        r = pthread_create(ret, &attributes, run, NULL);
        pthread_attr_destroy(&attributes);
        return r == EINVAL ? pthread_create(ret, NULL, run, NULL) : r;
}

static int start_thread(void) {
        sigset_t signals, saved;
        pthread_t thread;
        int r;

        /* Signals belong to the application, and must be delivered to one of its threads. */
        fill_signals(&signals);
        r = pthread_sigmask(SIG_SETMASK, &signals, &saved);
        if (r != 0)
                return -r;
        r = create_thread(&thread);
        pthread_sigmask(SIG_SETMASK, &saved, NULL);
        if (r != 0)
                return -r;
        pthread_setname_np(thread, "desktrace");
        pthread_detach(thread);
        return 0;
}

/*
 * Start
 */

/* The environment is read here: the application may change it, but not while it is in a call of ours. */
static int read_environment(void) {
        const char *path = secure_getenv(TRACING_ENV_SOCKET);

        if (!path || library.socket_path)
                return 0;
        library.socket_path = strdup(path);
        return library.socket_path ? 0 : -ENOMEM;
}

/* Made before the thread, which could not report a lack of memory. Connections of an earlier attempt are still
 * there. */
static int make_connections(void) {
        static const ConnectionKind buses[] = { CONNECTION_SYSTEM, CONNECTION_SESSION },
                                    sockets[] = { CONNECTION_SOCKET };
        const ConnectionKind *kinds = library.socket_path ? sockets : buses;
        const unsigned n = library.socket_path ? ARRAY_SIZE(sockets) : ARRAY_SIZE(buses);

        for (unsigned i = library.n_connections; i < n; i++) {
                int r = connection_new(&library.connections[i], kinds[i], i);

                if (r < 0)
                        return r;
                library.n_connections++;
        }
        return 0;
}

static void init_removed(void) {
        pthread_condattr_t attributes;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&library.removed, &attributes);
        pthread_condattr_destroy(&attributes);
}

/* A program may have any name; if the service refused it, its user would never learn why. */
static int choose_name(void) {
        library.name = library.name ?: library_plain_name(program_invocation_short_name);
        return library.name ? 0 : -ENOMEM;
}

static int start(void) {
        static bool fork_handled;
        int r;

        r = choose_name();
        if (r < 0)
                return r;
        r = read_environment();
        if (r < 0)
                return r;
        r = make_connections();
        if (r < 0)
                return r;
        r = library.wake_fd >= 0 ? 0 : make_wake_fd();
        if (r < 0)
                return r;
        if (!fork_handled) {
                r = pthread_atfork(NULL, NULL, library_after_fork);
                if (r != 0)
                        return -r;
                fork_handled = true;
        }
        init_removed();
        writers_prepare();
        track_clock_prepare();
        return start_thread();
}

int library_start(void) {
        int cancel_state, r;

        if (library.started)
                return 0;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        r = start();
        pthread_setcancelstate(cancel_state, NULL);
        library.started = r == 0;
        return r;
}
