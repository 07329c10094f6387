/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Refusing a connection costs the thread a few system calls, which is less than making one. Finding out which login
 * user a process belongs to takes reading files of /proc, and is done only for connections that are not refused. Where
 * the unit allows it (LimitNICE=), the thread asks for more CPU time than other threads, since one user may run many
 * programs that connect.
 */

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accept/acceptor.h"
#include "closer/closer.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/monotonic.h"
#include "shared/thread.h"

#define NICE          (-10)
#define NS_PER_MS     UINT64_C(1000000)
#define EXHAUSTED_MS  50 /* between tries, without descriptors or memory */
#define TELL_AGAIN_MS 20 /* tells the main loop of connections that it has not taken */
#define WARN_AGAIN_NS (UINT64_C(60) * 1000 * NS_PER_MS)

typedef struct ListeningSocket {
        int fd, kind;
} ListeningSocket;

struct Acceptor {
        AcceptorOptions options;
        ListeningSocket sockets[ACCEPTOR_SOCKETS_MAX];
        size_t n_sockets;
        int ready; /* eventfd: for the main loop */
        int wake;  /* eventfd: for the thread */
        pthread_t thread;
        bool is_running;
        atomic_bool is_stopping;
        bool is_exhausted;   /* the thread's: nothing can be accepted now */
        uint64_t warn_again; /* likewise */

        pthread_mutex_t lock;
        AcceptQueue queue; /* under the lock */
};

static void ring(int fd) {
        const uint64_t one = 1;

        if (write(fd, &one, sizeof(one)) < 0)
                log_debug("cannot ring for connections: %s", strerror(errno));
}

static void silence(int fd) {
        uint64_t n;

        if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
                log_debug("cannot hear of connections: %s", strerror(errno));
}

/*
 * One connection
 */

/* The peer has closed the connection without sending anything. */
static bool is_gone(int fd) {
        struct pollfd state = { .fd = fd, .events = POLLRDHUP };
        int n = 0;

        return poll(&state, 1, 0) > 0 && state.revents & (POLLRDHUP | POLLHUP) &&
               ioctl(fd, SIOCINQ, &n) == 0 && n == 0;
}

static void refuse(const Accepted *accepted) {
        closer_close_socket(accepted->user, accepted->fd);
}

static bool is_refused(Acceptor *acceptor, uid_t uid) {
        bool refuses;

        pthread_mutex_lock(&acceptor->lock);
        refuses = accept_queue_refuses(&acceptor->queue, uid, monotonic_ns());
        pthread_mutex_unlock(&acceptor->lock);
        return refuses;
}

static void put(Acceptor *acceptor, const Accepted *accepted, uid_t uid) {
        const uint64_t now = monotonic_ns();
        Accepted refused;
        bool is_put, is_due;

        pthread_mutex_lock(&acceptor->lock);
        is_put = accept_queue_put(&acceptor->queue, accepted, uid, now, &refused);
        is_due = accept_queue_next_at(&acceptor->queue) <= now;
        pthread_mutex_unlock(&acceptor->lock);
        if (!is_put)
                refuse(&refused);
        if (is_due)
                ring(acceptor->ready);
}

static void admit(Acceptor *acceptor, int kind, int fd) {
        Accepted accepted = { .fd = fd, .kind = kind };
        Identity identity;

        if (is_gone(fd)) {
                fd_close(fd);
                return;
        }
        if (fd_peer_credentials(fd, &identity.uid, &identity.pid) < 0) {
                closer_close_socket((uid_t)-1, fd);
                return;
        }
        accepted.user = identity.uid;
        if (is_refused(acceptor, identity.uid)) {
                refuse(&accepted);
                return;
        }
        accepted.user = acceptor->options.user_of(acceptor->options.userdata, &identity);
        put(acceptor, &accepted, identity.uid);
}

/*
 * The thread
 */

/* Out-of-band bytes are read inline. Otherwise the kernel would drop them, with their descriptors, on the thread
 * that reads what follows them. */
static int accept_one(const ListeningSocket *from) {
        const int fd = accept4(from->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
        return fd;
}

static void warn(Acceptor *acceptor, int error) {
        const uint64_t now = monotonic_ns();

        if (now < acceptor->warn_again)
                return;
        acceptor->warn_again = now + WARN_AGAIN_NS;
        log_warning("cannot accept connections: %s", strerror(-error));
}

static void accept_burst(Acceptor *acceptor, const ListeningSocket *from) {
        for (size_t i = 0; i < ACCEPTOR_BURST; i++) {
                const int fd = accept_one(from);

                if (fd >= 0) {
                        admit(acceptor, from->kind, fd);
                } else if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
                        acceptor->is_exhausted = true;
                        warn(acceptor, fd);
                        return;
                } else if (fd != -ECONNABORTED && fd != -EINTR) {
                        return;
                }
        }
}

static void close_refused(Acceptor *acceptor) {
        Accepted accepted;
        bool is_one = true;

        while (is_one) {
                pthread_mutex_lock(&acceptor->lock);
                is_one = accept_queue_take_refused(&acceptor->queue, &accepted, monotonic_ns());
                pthread_mutex_unlock(&acceptor->lock);
                if (is_one)
                        refuse(&accepted);
        }
}

/* Tells the main loop of connections whose users have an allowance again. Returns how long to wait for the next of
 * them; -1: none waits. */
static int ring_if_due(Acceptor *acceptor) {
        const uint64_t now = monotonic_ns();
        uint64_t at;

        pthread_mutex_lock(&acceptor->lock);
        at = accept_queue_next_at(&acceptor->queue);
        pthread_mutex_unlock(&acceptor->lock);
        if (at == UINT64_MAX)
                return -1;
        if (at > now)
                return (int)((at - now) / NS_PER_MS) + 1;
        ring(acceptor->ready);
        return TELL_AGAIN_MS;
}

static void wait_and_accept(Acceptor *acceptor) {
        struct pollfd waits[ACCEPTOR_SOCKETS_MAX + 1] = { { acceptor->wake, POLLIN, 0 } };
        const size_t n = acceptor->is_exhausted ? 0 : acceptor->n_sockets;
        int timeout = ring_if_due(acceptor);

        if (acceptor->is_exhausted)
                timeout = EXHAUSTED_MS;
        for (size_t i = 0; i < n; i++)
                waits[1 + i] = (struct pollfd){ .fd = acceptor->sockets[i].fd, .events = POLLIN };
        acceptor->is_exhausted = false;
        if (poll(waits, 1 + n, timeout) <= 0)
                return;
        if (waits[0].revents)
                silence(acceptor->wake);
        close_refused(acceptor);
        for (size_t i = 0; i < n; i++)
                if (waits[1 + i].revents)
                        accept_burst(acceptor, &acceptor->sockets[i]);
}

static void *run(void *userdata) {
        Acceptor *acceptor = userdata;

        pthread_setname_np(pthread_self(), "accept");
        if (setpriority(PRIO_PROCESS, (id_t)gettid(), NICE) < 0)
                log_debug("connections are accepted with no priority: %s", strerror(errno));
        while (!acceptor->is_stopping)
                wait_and_accept(acceptor);
        return NULL;
}

int acceptor_start(Acceptor *acceptor) {
        int r;

        if (acceptor->is_running || acceptor->n_sockets == 0)
                return 0;
        acceptor->is_stopping = false;
        r = thread_start(&acceptor->thread, NULL, run, acceptor);
        acceptor->is_running = r == 0;
        return r;
}

void acceptor_stop(Acceptor *acceptor) {
        if (!acceptor->is_running)
                return;
        acceptor->is_stopping = true;
        ring(acceptor->wake);
        pthread_join(acceptor->thread, NULL);
        acceptor->is_running = false;
}

/*
 * The main loop's
 */

int acceptor_new(Acceptor **ret, const AcceptorOptions *options) {
        _cleanup_(acceptor_freep) Acceptor *acceptor = calloc(1, sizeof(*acceptor));

        if (!acceptor)
                return -ENOMEM;
        acceptor->options = *options;
        pthread_mutex_init(&acceptor->lock, NULL);
        accept_queue_init(&acceptor->queue);
        acceptor->wake = -1;
        acceptor->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (acceptor->ready >= 0)
                acceptor->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (acceptor->wake < 0)
                return -errno;
        *ret = TAKE(acceptor);
        return 0;
}

Acceptor *acceptor_free(Acceptor *acceptor) {
        Accepted accepted;

        if (!acceptor)
                return NULL;
        acceptor_stop(acceptor);
        while (accept_queue_take_any(&acceptor->queue, &accepted))
                refuse(&accepted);
        accept_queue_deinit(&acceptor->queue);
        pthread_mutex_destroy(&acceptor->lock);
        fd_close(acceptor->ready);
        fd_close(acceptor->wake);
        free(acceptor);
        return NULL;
}

/* The socket may have been made with a short backlog. */
int acceptor_add(Acceptor *acceptor, int fd, int kind) {
        if (acceptor->n_sockets == ACCEPTOR_SOCKETS_MAX)
                return -E2BIG;
        if (listen(fd, ACCEPTOR_BACKLOG) < 0)
                return -errno;
        acceptor->sockets[acceptor->n_sockets++] = (ListeningSocket){ .fd = fd, .kind = kind };
        return 0;
}

int acceptor_fd(const Acceptor *acceptor) {
        return acceptor->ready;
}

void acceptor_acknowledge(Acceptor *acceptor) {
        silence(acceptor->ready);
}

void acceptor_remind(Acceptor *acceptor) {
        ring(acceptor->ready);
}

bool acceptor_take(Acceptor *acceptor, Accepted *ret) {
        bool is_one = true;

        while (is_one) {
                pthread_mutex_lock(&acceptor->lock);
                is_one = accept_queue_take(&acceptor->queue, ret, monotonic_ns());
                pthread_mutex_unlock(&acceptor->lock);
                if (is_one && !is_gone(ret->fd))
                        return true;
                if (is_one)
                        fd_close(ret->fd);
        }
        return false;
}

static bool take_from_kernel(Acceptor *acceptor, Accepted *ret) {
        for (size_t i = 0; i < acceptor->n_sockets; i++) {
                const int fd = accept_one(&acceptor->sockets[i]);
                Identity identity;

                if (fd < 0)
                        continue;
                if (fd_peer_credentials(fd, &identity.uid, &identity.pid) < 0) {
                        closer_close_socket((uid_t)-1, fd);
                        continue;
                }
                *ret = (Accepted){
                        .fd = fd,
                        .kind = acceptor->sockets[i].kind,
                        .user = acceptor->options.user_of(acceptor->options.userdata, &identity),
                };
                return true;
        }
        return false;
}

bool acceptor_take_waiting(Acceptor *acceptor, Accepted *ret) {
        return accept_queue_take_any(&acceptor->queue, ret);
}

bool acceptor_take_any(Acceptor *acceptor, Accepted *ret) {
        return acceptor_take_waiting(acceptor, ret) || take_from_kernel(acceptor, ret);
}

void acceptor_refuse(Acceptor *acceptor, uid_t user) {
        pthread_mutex_lock(&acceptor->lock);
        accept_queue_refuse(&acceptor->queue, user, monotonic_ns());
        pthread_mutex_unlock(&acceptor->lock);
        ring(acceptor->wake);
}
