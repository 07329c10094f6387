/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen-address.h"
#include "listeners.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

#define LISTEN_INTERVAL_USEC (UINT64_C(100) * 1000)
#define LISTEN_BURST         64

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

static int listener_accept(Listener *listener) {
        Listeners *listeners = listener->listeners;
        int fd;

        fd = accept4(sd_event_source_get_io_fd(listener->source),
                     NULL,
                     NULL,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return -errno;
        listeners->accepted(listeners->userdata, listener->kind, fd);
        return 0;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        const int r = listener_accept(userdata);

        if (r < 0 && r != -EAGAIN)
                log_notice("cannot accept a connection: %s", strerror(-r));
        return 0;
}

static int listeners_add(Listeners *listeners, ListenerKind kind, int fd) {
        Listener *listener = &listeners->all[listeners->n];
        int r;

        if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, true) <= 0) {
                log_error("descriptor %d is no listening AF_UNIX stream socket", fd);
                return -EINVAL;
        }
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        *listener = (Listener){ .listeners = listeners, .kind = kind };
        r = sd_event_add_io(
                listeners->event, &listener->source, fd, EPOLLIN, on_connection, listener);
        if (r >= 0)
                r = sd_event_source_set_ratelimit(
                        listener->source, LISTEN_INTERVAL_USEC, LISTEN_BURST);
        if (r < 0)
                return r;
        listeners->n++;
        return 0;
}

static void names_free(char **names) {
        for (size_t i = 0; names && names[i]; i++)
                free(names[i]);
        free(names);
}
DEFINE_CLEANUP(char **, names_free)

int listeners_init(Listeners *listeners,
                   sd_event *event,
                   ListenerAccepted accepted,
                   void *userdata) {
        _cleanup_(names_freep) char **names = NULL;
        int n, r = 0;

        *listeners = (Listeners){ .event = event, .accepted = accepted, .userdata = userdata };
        n = sd_listen_fds_with_names(1, &names);
        if (n < 0)
                return n;
        if (n > LISTENERS_MAX)
                return -E2BIG;
        for (int i = 0; r >= 0 && i < n; i++)
                r = listeners_add(listeners, listener_kind(names[i]), SD_LISTEN_FDS_START + i);
        return r;
}

void listeners_deinit(Listeners *listeners) {
        for (size_t i = 0; i < listeners->n; i++) {
                Listener *listener = &listeners->all[i];

                if (listener->path)
                        unlink(listener->path);
                free(listener->path);
                sd_event_source_disable_unref(listener->source);
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
        r = listeners_add(listeners, kind, fd);
        if (r < 0)
                return r;
        sd_event_source_set_io_fd_own(listeners->all[listeners->n - 1].source, true);
        fd = -1; /* the source's */
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

/* As sd-daemon has no word for it: systemd says so to the process that it has started, and that one's children
 * inherit another's number. */
static bool is_unit(void) {
        const char *pid = getenv("SYSTEMD_EXEC_PID");

        return pid && strtol(pid, NULL, 10) == (long)getpid();
}

int listeners_open_environment(Listeners *listeners, bool is_shared) {
        const mode_t mode = is_shared ? 0666 : 0600;
        int r;

        if (is_unit())
                return 0;
        r = listeners_open_list(
                listeners, LISTENER_PRODUCER, getenv("PERFETTO_PRODUCER_SOCK_NAME"), mode);
        if (r < 0)
                return r;
        return listeners_open_list(
                listeners, LISTENER_CONSUMER, getenv("PERFETTO_CONSUMER_SOCK_NAME"), mode);
}

void listeners_accept_all(Listeners *listeners) {
        for (size_t i = 0; i < listeners->n; i++)
                while (listener_accept(&listeners->all[i]) >= 0)
                        ;
}
