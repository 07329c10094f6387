/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sockets by the names that systemd gives them, and what happens to a connection on each. */

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "kept-store.h"
#include "listen-address.h"
#include "listeners.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

/* A peer may connect again and again without pause. */
#define LISTENERS_SERVED_LAST_MAX 256

/* FileDescriptorName= of the socket units. Any other name is the native protocol's. */
static const struct {
        const char *name;
        ListenerKind kind;
} listener_names[] = {
        { TRACING_PRODUCER_SOCKET, LISTENER_PRODUCER },
        { TRACING_CONSUMER_SOCKET, LISTENER_CONSUMER },
};

static ListenerKind listener_kind(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(listener_names); i++)
                if (name && streq(name, listener_names[i].name))
                        return listener_names[i].kind;
        return LISTENER_NATIVE;
}

static void listeners_serve(Listeners *listeners, const Accepted *accepted) {
        const ListenersOptions *options = &listeners->options;

        if (options->accepted(options->userdata, (ListenerKind)accepted->kind, accepted->fd) ==
            -EUSERS)
                acceptor_refuse(listeners->acceptor, accepted->user);
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Listeners *listeners = userdata;
        Accepted accepted;
        size_t n = 0;

        acceptor_acknowledge(listeners->acceptor);
        while (n < LISTENERS_SERVED_PER_TURN && acceptor_take(listeners->acceptor, &accepted)) {
                listeners_serve(listeners, &accepted);
                n++;
        }
        if (n == LISTENERS_SERVED_PER_TURN)
                acceptor_remind(listeners->acceptor);
        return 0;
}

static int listeners_init_acceptor(Listeners *listeners) {
        const AcceptorOptions options = {
                .user_of = listeners->options.user_of,
                .userdata = listeners->options.userdata,
        };
        int r;

        r = acceptor_new(&listeners->acceptor, &options);
        return r < 0 ? r
                     : sd_event_add_io(listeners->options.event,
                                       &listeners->source,
                                       acceptor_fd(listeners->acceptor),
                                       EPOLLIN,
                                       on_ready,
                                       listeners);
}

/* If this fails the descriptor stays the caller's. */
static int listeners_add(Listeners *listeners, ListenerKind kind, int fd, bool is_own) {
        Listener *listener = &listeners->all[listeners->n];
        int r;

        if (listeners->n >= LISTENERS_MAX)
                return -E2BIG;
        if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, true) <= 0) {
                log_error("descriptor %d is no listening AF_UNIX stream socket", fd);
                return -EINVAL;
        }
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        r = acceptor_add(listeners->acceptor, fd, (int)kind);
        if (r < 0)
                return r;
        *listener = (Listener){ .kind = kind, .fd = is_own ? fd : -1 };
        listeners->n++;
        return 0;
}

static void names_free(char **names) {
        for (size_t i = 0; names && names[i]; i++)
                free(names[i]);
        free(names);
}
DEFINE_CLEANUP(char **, names_free)

/* The keeper's: it has copies. */
static bool is_kept(const char *name) {
        return name && strncmp(name, KEPT_STORE_PREFIX, strlen(KEPT_STORE_PREFIX)) == 0;
}

int listeners_init(Listeners *listeners, const ListenersOptions *options) {
        _cleanup_(names_freep) char **names = NULL;
        int n, r;

        *listeners = (Listeners){ .options = *options };
        r = listeners_init_acceptor(listeners);
        if (r < 0)
                return r;
        n = sd_listen_fds_with_names(1, &names);
        if (n < 0)
                return n;
        for (int i = 0; r >= 0 && i < n; i++)
                if (is_kept(names[i]))
                        fd_close(SD_LISTEN_FDS_START + i);
                else
                        r = listeners_add(
                                listeners, listener_kind(names[i]), SD_LISTEN_FDS_START + i, false);
        return r;
}

void listeners_deinit(Listeners *listeners) {
        listeners->source = sd_event_source_disable_unref(listeners->source);
        listeners->acceptor = acceptor_free(listeners->acceptor);
        for (size_t i = 0; i < listeners->n; i++) {
                Listener *listener = &listeners->all[i];

                if (listener->path)
                        unlink(listener->path);
                free(listener->path);
                fd_close(listener->fd);
        }
        listeners->n = 0;
}

static bool listeners_has(const Listeners *listeners, ListenerKind kind) {
        for (size_t i = 0; i < listeners->n; i++)
                if (listeners->all[i].kind == kind)
                        return true;
        return false;
}

static int listeners_open(Listeners *listeners,
                          ListenerKind kind,
                          const char *address,
                          size_t n,
                          mode_t mode) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) char *path = NULL;
        int r;

        if (listeners->n >= LISTENERS_MAX)
                return -E2BIG;
        r = listen_address_open(&fd, &path, address, n, mode);
        if (r) {
                log_error(
                        "cannot listen at \"%.*s\": %s", (int)n, address, listen_address_error(r));
                return r < 0 ? r : -EADDRNOTAVAIL;
        }
        r = listeners_add(listeners, kind, fd, true);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        listeners->all[listeners->n - 1].path = TAKE(path);
        listeners->has_own = true;
        return 0;
}

static int
listeners_open_list(Listeners *listeners, ListenerKind kind, const char *list, mode_t mode) {
        const char *address;
        size_t n;
        int r = 0;

        if (!list || listeners_has(listeners, kind))
                return 0;
        while (r >= 0 && listen_address_next(&list, &address, &n))
                r = listeners_open(listeners, kind, address, n, mode);
        return r;
}

bool listeners_in_unit(void) {
        const char *pid = getenv("SYSTEMD_EXEC_PID");

        return pid && strtol(pid, NULL, 10) == (long)getpid();
}

int listeners_open_environment(Listeners *listeners, bool is_shared) {
        const mode_t mode = is_shared ? 0666 : 0600;
        int r;

        if (listeners_in_unit())
                return 0;
        r = listeners_open_list(
                listeners, LISTENER_PRODUCER, getenv("PERFETTO_PRODUCER_SOCK_NAME"), mode);
        if (r < 0)
                return r;
        return listeners_open_list(
                listeners, LISTENER_CONSUMER, getenv("PERFETTO_CONSUMER_SOCK_NAME"), mode);
}

int listeners_start(Listeners *listeners) {
        return acceptor_start(listeners->acceptor);
}

static void listeners_serve_last(Listeners *listeners,
                                 bool (*take)(Acceptor *acceptor, Accepted *ret)) {
        Accepted accepted;

        acceptor_stop(listeners->acceptor);
        for (size_t i = 0; i < LISTENERS_SERVED_LAST_MAX; i++) {
                if (!take(listeners->acceptor, &accepted))
                        return;
                listeners_serve(listeners, &accepted);
        }
}

void listeners_stop(Listeners *listeners) {
        listeners_serve_last(listeners, acceptor_take_any);
}

void listeners_end(Listeners *listeners) {
        listeners_serve_last(listeners, acceptor_take_waiting);
}
