/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "probes/entrance.h"
#include "shared/fd.h"
#include "shared/log.h"

typedef struct EntrancePeer {
        List peers;
        Entrance *entrance;
        sd_bus *bus;
        uid_t uid;
} EntrancePeer;

struct Entrance {
        sd_event *event;
        sd_event_source *listening;
        int fd;
        List peers;
        size_t n_peers;
};

static EntrancePeer *peer_free(EntrancePeer *peer) {
        if (!peer)
                return NULL;
        sd_bus_close_unref(peer->bus);
        list_unlink(&peer->peers);
        peer->entrance->n_peers--;
        free(peer);
        return NULL;
}
DEFINE_CLEANUP(EntrancePeer *, peer_free)

static int on_peer_gone(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        peer_free(userdata);
        return 0;
}

/* Takes the descriptor over, always. */
static int peer_serve(EntrancePeer *peer, int fd) {
        _cleanup_(fd_closep) int own_fd = fd;
        sd_id128_t id;
        int r;

        r = sd_id128_randomize(&id);
        if (r >= 0)
                r = sd_bus_new(&peer->bus);
        if (r >= 0)
                r = sd_bus_set_fd(peer->bus, own_fd, own_fd);
        if (r < 0)
                return r;
        own_fd = -1;
        r = sd_bus_set_server(peer->bus, true, id);
        if (r >= 0)
                r = sd_bus_start(peer->bus);
        if (r >= 0)
                r = sd_bus_match_signal(peer->bus,
                                        NULL,
                                        NULL,
                                        "/org/freedesktop/DBus/Local",
                                        "org.freedesktop.DBus.Local",
                                        "Disconnected",
                                        on_peer_gone,
                                        peer);
        return r < 0 ? r
                     : sd_bus_attach_event(
                               peer->bus, peer->entrance->event, SD_EVENT_PRIORITY_NORMAL);
}

/* Takes the descriptor over, always. */
static int peer_new(Entrance *entrance, int fd) {
        _cleanup_(peer_freep) EntrancePeer *peer = NULL;
        _cleanup_(fd_closep) int own_fd = fd;
        pid_t pid;
        uid_t uid;
        int r;

        if (entrance->n_peers >= ENTRANCE_PEERS_MAX)
                return -EUSERS;
        r = fd_peer_credentials(fd, &uid, &pid);
        if (r < 0)
                return r;
        peer = calloc(1, sizeof(*peer));
        if (!peer)
                return -ENOMEM;
        peer->entrance = entrance;
        peer->uid = uid;
        list_append(&entrance->peers, &peer->peers);
        entrance->n_peers++;
        r = peer_serve(peer, TAKE_FD(own_fd));
        if (r < 0)
                return r;
        peer = NULL; /* in the list, until its connection ends */
        return 0;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        int peer_fd, r;

        peer_fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        r = peer_fd < 0 ? -errno : peer_new(userdata, peer_fd);
        /* A peer that has left again need not be told. */
        if (r < 0 && r != -EAGAIN && r != -ECONNABORTED)
                log_notice("cannot serve a connection: %s", strerror(-r));
        return 0;
}

int entrance_new(Entrance **ret, sd_event *event, int fd) {
        _cleanup_(entrance_freep) Entrance *entrance = calloc(1, sizeof(*entrance));
        int r;

        if (!entrance) {
                fd_close(fd);
                return -ENOMEM;
        }
        entrance->event = sd_event_ref(event);
        entrance->fd = fd;
        list_init(&entrance->peers);
        r = sd_event_add_io(event, &entrance->listening, fd, EPOLLIN, on_connection, entrance);
        if (r < 0)
                return r;
        *ret = TAKE(entrance);
        return 0;
}

Entrance *entrance_free(Entrance *entrance) {
        EntrancePeer *peer;

        if (!entrance)
                return NULL;
        list_for_each (peer, &entrance->peers, peers)
                peer_free(peer);
        sd_event_source_disable_unref(entrance->listening);
        fd_close(entrance->fd);
        sd_event_unref(entrance->event);
        free(entrance);
        return NULL;
}
