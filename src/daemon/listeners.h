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

#define LISTENERS_MAX 16

typedef enum ListenerKind {
        LISTENER_NATIVE,   /* D-Bus, point to point */
        LISTENER_PRODUCER, /* Perfetto's, for programs that record events */
        LISTENER_CONSUMER, /* likewise, for programs that ask for recordings */
} ListenerKind;

typedef struct Listeners Listeners;

typedef struct Listener {
        Listeners *listeners;
        ListenerKind kind;
        sd_event_source *source;
        char *path; /* to be removed at the end; NULL: not by us */
} Listener;

/* A connected socket; takes it over. */
typedef void (*ListenerAccepted)(void *userdata, ListenerKind kind, int fd);

struct Listeners {
        sd_event *event;
        ListenerAccepted accepted;
        void *userdata;
        Listener all[LISTENERS_MAX];
        size_t n;
        bool has_own; /* some that nobody would listen on if we went */
};

/* Those that were passed to this process. A negative errno has been said. */
int listeners_init(Listeners *listeners,
                   sd_event *event,
                   ListenerAccepted accepted,
                   void *userdata);
void listeners_deinit(Listeners *listeners); /* zeros are allowed */

/* Perfetto's, where PERFETTO_PRODUCER_SOCK_NAME (a list with commas) and PERFETTO_CONSUMER_SOCK_NAME say, each unless
 * one was passed. Not in a unit of systemd: there, socket units say it, and what a user's environment says is for
 * clients. `is_shared`: all users may connect. A negative errno has been said. */
int listeners_open_environment(Listeners *listeners, bool is_shared);

/* Accepts what is waiting now. */
void listeners_accept_all(Listeners *listeners);
