/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Gate: stands between a D-Bus peer and sd-bus
 *
 * sd-bus trusts its peer: it limits neither a message that never ends nor replies that nobody reads, and it closes
 * received descriptors wherever a message happens to end. So the peer's socket belongs to a gate, and sd-bus has one
 * end of a socket pair. The gate passes on complete messages. Of a message it reads only where it ends, how many
 * descriptors come with it and, on the message bus, who sends these. It replaces the descriptors (stand-in.h), charges
 * the bytes it holds to the peer's user, and stops reading from a peer that does not read.
 *
 * The peer is a client on a socket, or the message bus itself, which is trusted but passes on what others send. A
 * client's identity comes from its socket; to sd-bus every connection looks like the service's own.
 *
 * Nothing here blocks. Gates belong to one thread at a time: the main loop's, except that the message bus's gate is
 * sometimes its thread's (gate-thread.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/dbus-frame.h"
#include "shared/macro.h"

/* A client that sends a longer message is disconnected. A longer message from the message bus is dropped. */
#define GATE_MESSAGE_BYTES_MAX (4u << 20) /* more than two configs */
#define GATE_FDS_MAX           16         /* in one message */

/* Bytes that clients have not read, and those of their incomplete messages. A client that exceeds this is
 * disconnected. */
#define GATE_QUEUE_BYTES_MAX    (8u << 20) /* how long one of them has to be read */
#define GATE_BYTES_PER_USER_MAX (32u << 20)

#define GATE_MESSAGES_PER_TURN 4  /* from a client, before other clients have their turn */
#define GATE_EVENTS_PER_TURN   64 /* of all clients */

typedef struct Gates Gates;
typedef struct Gate Gate;

/* Whether a message from the message bus is accepted with its descriptors. */
typedef struct GateQuestion {
        int fd; /* the gate of the message bus, where the message waits */
        char sender[FRAME_NAME_BYTES];
        bool is_refused; /* the descriptors of the message are dropped in any case */
} GateQuestion;

typedef struct GateAnswer {
        bool is_wanted;
        bool is_gone;     /* the sender: nobody can be charged for the descriptors */
        uid_t user;       /* the login user of the sender, if it is known, or -1 */
        size_t n_dropped; /* otherwise this many bytes were read, with all of the descriptors */
} GateAnswer;

/* Replies that are not passed on to the peer, which is sent an error instead. The texts stay valid. Without an error
 * the reply to one call is meant, and the peer is sent nothing yet (gate_has_taken()). */
typedef struct GateRefusal {
        size_t n_bytes; /* longer ones; 0: none */
        const char *error, *text;
        uint64_t reply_to; /* the call's serial number */
        const char *caller;
} GateRefusal;

typedef struct GateOptions {
        int fd;           /* the peer's socket; always taken over */
        uid_t uid;        /* of a client */
        uid_t user;       /* whose limits count for it: a login user */
        bool is_bus;      /* the peer is the message bus, of which we are a client */
        const char *guid; /* this service's id for clients, 32 digits */

        /* Messages were passed on, or no more will follow. Not called before `userdata` is set. */
        void (*passed)(void *userdata);
        /* For the message bus: whether to admit a message. Returns false if gate_answer() will be called later;
         * nothing more is read until then. */
        bool (*ask)(void *userdata, const GateQuestion *question, GateAnswer *ret);
        void *userdata;
} GateOptions;

int gates_new(Gates **ret);
Gates *gates_free(Gates *gates); /* no gate may be left */
DEFINE_CLEANUP(Gates *, gates_free)

/* A descriptor to poll for input, and whether there is work that needs no input. */
int gates_fd(const Gates *gates);
bool gates_are_ready(const Gates *gates);

/* Does the work of all ready gates, in turn. */
void gates_turn(Gates *gates);

/* Each write to this eventfd makes gates_fd() readable once. */
int gates_add_wake(Gates *gates, int fd);

/* How many bytes are held for this user. */
size_t gates_n_bytes(const Gates *gates, uid_t user);

/* *ret_fd is for sd-bus. */
int gate_new(Gate **ret, int *ret_fd, Gates *gates, const GateOptions *options);

void gate_set_userdata(Gate *gate, void *userdata);

/* Sends what the socket still takes, and closes it. */
Gate *gate_free(Gate *gate);
DEFINE_CLEANUP(Gate *, gate_free)

/* Answers the last question. */
void gate_answer(Gate *gate, const GateAnswer *answer);

/* Sets what is refused of the replies that sd-bus sends from now on. */
void gate_refuse_replies(Gate *gate, const GateRefusal *refusal);

/* Whether the reply to the one call was too long, since this was asked last. */
bool gate_has_taken(Gate *gate);

/* sd-bus has sent something: passes it on now rather than at the next turn. */
void gate_pump(Gate *gate);

/* How many bytes from the service the peer has not read, including those in its socket, where the kernel also
 * counts what it needs itself for each message. */
size_t gate_n_unread(const Gate *gate);

/* Whether the gate has ended: the service has closed its end and everything is sent, or the peer has gone. */
bool gate_is_over(const Gate *gate);
bool gate_is_closed_by_service(const Gate *gate);
