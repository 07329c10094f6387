/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Gate: stands between a D-Bus peer and sd-bus
 *
 * sd-bus trusts what it is connected to: it bounds neither a message that never ends nor replies that nobody reads, and
 * closes received descriptors wherever a message ends. So a peer's socket belongs to a gate, and sd-bus has one end of
 * a socket pair. The gate passes on whole messages. It looks at no more of them than where they end, how many
 * descriptors come with them and, on the message bus, who sends these; it replaces the descriptors (stand-in.h), counts
 * what waits in it against the peer's user, and stops reading from a peer that does not read.
 *
 * The peer is a client on a socket, or the message bus itself, which is trusted but passes on what others send. The
 * identity of a client comes from its socket; to sd-bus every connection looks like the service's own.
 *
 * Nothing here waits. Gates are one thread's at a time: the main loop's, but for the message bus's now and then
 * (gate-thread.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/dbus-frame.h"
#include "shared/macro.h"

/* A client that sends more is disconnected. Of what the message bus passes on the message is dropped. */
#define GATE_MESSAGE_BYTES_MAX (4u << 20) /* two configs, and then some */
#define GATE_FDS_MAX           16         /* in one message */

/* What clients have not read, and what of their messages is not complete. More and they are disconnected. */
#define GATE_QUEUE_BYTES_MAX    (8u << 20) /* of one of them, to be read */
#define GATE_BYTES_PER_USER_MAX (32u << 20)

#define GATE_MESSAGES_PER_TURN 4  /* from a client, before others have their turn */
#define GATE_EVENTS_PER_TURN   64 /* of all clients */

typedef struct Gates Gates;
typedef struct Gate Gate;

/* Whether a message that the message bus passes on is taken with its descriptors. */
typedef struct GateQuestion {
        int fd; /* the message bus's, where it waits */
        char sender[FRAME_NAME_BYTES];
        bool is_refused; /* in any case: all that is left to do is to drop them */
} GateQuestion;

typedef struct GateAnswer {
        bool is_wanted;
        uid_t user;       /* the login user of the sender, if it is wanted */
        size_t n_dropped; /* otherwise: so many bytes were read, and all descriptors with them */
} GateAnswer;

typedef struct GateOptions {
        int fd;           /* the peer's socket, taken over, always */
        uid_t uid;        /* of a client */
        uid_t user;       /* whose limits count for it: a login user */
        bool is_bus;      /* the message bus, of which we are a client */
        const char *guid; /* of this service, 32 digits; for clients */

        /* Messages were passed on, or there will be no more. Not called before there is userdata. */
        void (*passed)(void *userdata);
        /* For the message bus. false: gate_answer() comes later, and until then nothing more is read. */
        bool (*ask)(void *userdata, const GateQuestion *question, GateAnswer *ret);
        void *userdata;
} GateOptions;

int gates_new(Gates **ret);
Gates *gates_free(Gates *gates); /* there is no gate any more */
DEFINE_CLEANUP(Gates *, gates_free)

/* To be polled for input; and whether there is work that does not wait for input. */
int gates_fd(const Gates *gates);
bool gates_are_ready(const Gates *gates);

/* Does what there is to do, in turn. */
void gates_turn(Gates *gates);

/* Whenever something is written to this eventfd, gates_fd() gets input once. */
int gates_add_wake(Gates *gates, int fd);

/* Bytes that are held for this user. */
size_t gates_n_bytes(const Gates *gates, uid_t user);

/* *ret_fd is for sd-bus. */
int gate_new(Gate **ret, int *ret_fd, Gates *gates, const GateOptions *options);

void gate_set_userdata(Gate *gate, void *userdata);

/* Sends what was not sent yet as far as the socket takes it, and closes that. */
Gate *gate_free(Gate *gate);
DEFINE_CLEANUP(Gate *, gate_free)

/* To the question that was asked last. */
void gate_answer(Gate *gate, const GateAnswer *answer);

/* sd-bus has said something: it goes out now rather than at the next turn. */
void gate_pump(Gate *gate);

/* The service has closed its end, and everything it said is sent; or the peer is gone. */
bool gate_is_over(const Gate *gate);
bool gate_is_closed_by_service(const Gate *gate);
