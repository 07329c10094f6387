/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Listeners: the sockets that clients connect to
 *
 * Passed by systemd, or by whoever started us as systemd would: LISTEN_FDNAMES says which protocol is spoken on each.
 */

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
} Listener;

/* A connected socket; takes it over. */
typedef void (*ListenerAccepted)(void *userdata, ListenerKind kind, int fd);

struct Listeners {
        sd_event *event;
        ListenerAccepted accepted;
        void *userdata;
        Listener all[LISTENERS_MAX];
        size_t n;
};

/* Those that were passed to this process. A negative errno has been said. */
int listeners_init(Listeners *listeners,
                   sd_event *event,
                   ListenerAccepted accepted,
                   void *userdata);
void listeners_deinit(Listeners *listeners); /* zeros are allowed */

/* Accepts what is waiting now. */
void listeners_accept_all(Listeners *listeners);
