/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Listeners: the sockets that clients connect to
 *
 * Passed by systemd, or by whoever started us as systemd would: LISTEN_FDNAMES says which protocol is spoken on each.
 * Perfetto's are also opened here when nobody passes them, where its own environment variables say, as its service
 * does when it is started by hand.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "accept/acceptor.h"

#define LISTENERS_MAX ACCEPTOR_SOCKETS_MAX

#define LISTENERS_SERVED_PER_TURN 16 /* new connections, before other work has its turn */

typedef enum ListenerKind {
        LISTENER_NATIVE,   /* D-Bus, point to point */
        LISTENER_PRODUCER, /* Perfetto's, for programs that record events */
        LISTENER_CONSUMER, /* likewise, for programs that ask for recordings */
} ListenerKind;

typedef struct Listener {
        ListenerKind kind;
        int fd;     /* -1: systemd's */
        char *path; /* to be removed at the end; NULL: not by us */
} Listener;

typedef struct ListenersOptions {
        sd_event *event;
        /* A connected socket; takes it over. Returns -EUSERS when its user has too many, which is then refused for a
         * while without asking. */
        int (*accepted)(void *userdata, ListenerKind kind, int fd);
        /* The login user of a peer; called on a thread. */
        uid_t (*user_of)(void *userdata, const Identity *identity);
        void *userdata;
} ListenersOptions;

typedef struct Listeners {
        ListenersOptions options;
        Acceptor *acceptor;
        sd_event_source *source;
        Listener all[LISTENERS_MAX];
        size_t n;
        bool has_own; /* some that nobody would listen on if we went */
} Listeners;

/* Those that were passed to this process. A negative errno has been said. */
int listeners_init(Listeners *listeners, const ListenersOptions *options);
void listeners_deinit(Listeners *listeners); /* zeros are allowed */

/* Perfetto's, where PERFETTO_PRODUCER_SOCK_NAME (a list with commas) and PERFETTO_CONSUMER_SOCK_NAME say, each unless
 * one was passed. Not in a unit of systemd: there, socket units say it, and what a user's environment says is for
 * clients. `is_shared`: all users may connect. A negative errno has been said. */
int listeners_open_environment(Listeners *listeners, bool is_shared);

/* From now on connections are accepted. */
int listeners_start(Listeners *listeners);

/* Serves what is waiting now, and accepts nothing more until listeners_start(): what comes is whoever's that listens
 * next. */
void listeners_stop(Listeners *listeners);
