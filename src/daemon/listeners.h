/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Listeners: the sockets that clients connect to
 *
 * They are passed by systemd, or by another program in the same way: LISTEN_FDNAMES names the protocol of each. If
 * Perfetto's sockets are not passed, they are opened here at the places that its environment variables name, as its own
 * service does when it is started by hand.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "accept/acceptor.h"

#define LISTENERS_MAX ACCEPTOR_SOCKETS_MAX

#define LISTENERS_SERVED_PER_TURN \
        16 /* new connections that are served before other work has its turn */

typedef enum ListenerKind {
        LISTENER_NATIVE,   /* D-Bus, point to point */
        LISTENER_PRODUCER, /* Perfetto's, for programs that record events */
        LISTENER_CONSUMER, /* likewise, for programs that ask for recordings */
} ListenerKind;

typedef struct Listener {
        ListenerKind kind;
        int fd;     /* -1: systemd's */
        char *path; /* to be removed at the end; NULL: not made by us */
} Listener;

typedef struct ListenersOptions {
        sd_event *event;
        /* Takes over a connected socket. Returns -EUSERS if its user has too many, which is then refused for a while
         * without asking. */
        int (*accepted)(void *userdata, ListenerKind kind, int fd);
        /* The login user of a peer. Called on a thread. */
        uid_t (*user_of)(void *userdata, const Identity *identity);
        void *userdata;
} ListenersOptions;

typedef struct Listeners {
        ListenersOptions options;
        Acceptor *acceptor;
        sd_event_source *source;
        Listener all[LISTENERS_MAX];
        size_t n;
        bool has_own; /* some of the sockets would have no listener without us */
} Listeners;

/* Takes the sockets that were passed to this process. A negative errno has been logged. */
int listeners_init(Listeners *listeners, const ListenersOptions *options);
void listeners_deinit(Listeners *listeners); /* zeros are allowed */

/* Whether systemd has started this process as a unit's. It names the process, as sd-daemon's LISTEN_PID does; children
 * inherit the variable with that other process's number. */
bool listeners_in_unit(void);

/* Opens Perfetto's sockets at PERFETTO_PRODUCER_SOCK_NAME (a list with commas) and PERFETTO_CONSUMER_SOCK_NAME,
 * unless they were passed. Not in a unit of systemd: there, socket units name the addresses, and the variables in a
 * user's environment are for clients. `is_shared`: all users may connect. A negative errno has been logged. */
int listeners_open_environment(Listeners *listeners, bool is_shared);

/* From now on connections are accepted. */
int listeners_start(Listeners *listeners);

/* Serves the connections that wait now, and accepts no others until listeners_start(): later ones belong to the next
 * process that listens. */
void listeners_stop(Listeners *listeners);

/* Serves what was accepted, and accepts nothing more, as this process ends. Later connections wait for the next one, if
 * somebody keeps the sockets open for it. */
void listeners_end(Listeners *listeners);
