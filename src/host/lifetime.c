/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lifetime: when a program with data sources ends */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/lifetime.h"
#include "shared/fd.h"
#include "shared/log.h"

#define IDLE_SLACK_US    UINT64_C(500000)
#define SEARCH_PERIOD_US UINT64_C(50000)

static int on_idle(sd_event_source *source, uint64_t now_us, void *userdata) {
        Lifetime *lifetime = userdata;

        log_info("idle, exiting");
        return sd_event_exit(lifetime->event, 0);
}

int lifetime_until_idle(Lifetime *lifetime, sd_event *event) {
        int r;

        lifetime->event = event;
        r = sd_event_add_time_relative(event,
                                       &lifetime->idle,
                                       CLOCK_MONOTONIC,
                                       LIFETIME_IDLE_US,
                                       IDLE_SLACK_US,
                                       on_idle,
                                       lifetime);
        return MIN(r, 0);
}

void lifetime_set_busy(Lifetime *lifetime, bool is_busy) {
        if (!lifetime->idle)
                return;
        if (!is_busy)
                sd_event_source_set_time_relative(lifetime->idle, LIFETIME_IDLE_US);
        sd_event_source_set_enabled(lifetime->idle, is_busy ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* The process that last listened on the socket, which the kernel reveals to any process that connects. The
 * connection itself is not used. */
static int socket_owner(pid_t *ret, const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_(fd_closep) int fd = -1;
        uid_t uid;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        return fd_peer_credentials(fd, &uid, ret);
}

static int on_owner_gone(sd_event_source *source, int fd, uint32_t events, void *userdata);

static int lifetime_watch_owner(Lifetime *lifetime, pid_t pid) {
        int r;

        lifetime->owner_fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (lifetime->owner_fd < 0)
                return -errno;
        r = sd_event_add_io(lifetime->event,
                            &lifetime->owner,
                            lifetime->owner_fd,
                            EPOLLIN,
                            on_owner_gone,
                            lifetime);
        return MIN(r, 0);
}

/* While a keeper holds the socket, the kernel still names the dead process until the next one listens. */
static int on_search(sd_event_source *source, uint64_t now_us, void *userdata) {
        Lifetime *lifetime = userdata;
        pid_t pid;

        if (socket_owner(&pid, lifetime->socket) < 0 || now_us >= lifetime->search_until_us) {
                log_debug("the private service is gone, exiting");
                return sd_event_exit(lifetime->event, 0);
        }
        if (lifetime_watch_owner(lifetime, pid) == 0)
                return 0;
        sd_event_source_set_time_relative(source, SEARCH_PERIOD_US);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_owner_gone(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Lifetime *lifetime = userdata;
        uint64_t now_us = 0;

        lifetime->owner = sd_event_source_disable_unref(lifetime->owner);
        lifetime->owner_fd = fd_close(lifetime->owner_fd);
        sd_event_now(lifetime->event, CLOCK_MONOTONIC, &now_us);
        lifetime->search_until_us = now_us + LIFETIME_RETURN_US;
        lifetime->search = sd_event_source_disable_unref(lifetime->search);
        return sd_event_add_time(lifetime->event,
                                 &lifetime->search,
                                 CLOCK_MONOTONIC,
                                 now_us,
                                 1,
                                 on_search,
                                 lifetime);
}

int lifetime_until_service_ends(Lifetime *lifetime, sd_event *event, const char *socket) {
        pid_t pid;
        int r;

        lifetime->event = event;
        lifetime->socket = socket;
        r = socket_owner(&pid, socket);
        if (r < 0) {
                log_error("cannot connect to %s: %s", socket, strerror(-r));
                return r;
        }
        return lifetime_watch_owner(lifetime, pid);
}

void lifetime_deinit(Lifetime *lifetime) {
        sd_event_source_disable_unref(lifetime->idle);
        sd_event_source_disable_unref(lifetime->owner);
        sd_event_source_disable_unref(lifetime->search);
        fd_close(lifetime->owner_fd);
        *lifetime = (Lifetime)LIFETIME_INIT;
}
