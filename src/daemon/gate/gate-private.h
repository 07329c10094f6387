/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the parts of a gate know of each other.
 *
 *      gate.c          gates come, have their turn and go
 *      gate-flow.c     one direction: messages are read whole, and passed on
 *      gate-lines.c    what is said before the first message
 *      gate-admit.c    which messages, and which descriptors, are let through
 *      gate-refuse.c   replies that are too long
 *      gate-write.c    bytes and descriptors out
 *      gate-read.c     bytes and descriptors in
 *      gate-watch.c    what epoll tells
 *      gate-break.c    the end of a gate
 *      gate-user.c     users and what is held for them
 *
 * Calls go down in this list only.
 */

#include "gate/gate.h"
#include "gate/handshake.h"
#include "shared/bytes.h"
#include "shared/dbus-frame.h"
#include "shared/list.h"

#define GATE_BUFFER_BYTES \
        (64u << 10) /* messages up to here are not copied; headers are no longer */

/* One login user with at least one gate. */
typedef struct GateUser {
        uid_t user;
        size_t n_gates;
        size_t n_bytes; /* held for all of them */
        size_t n_peak;  /* since there were none */
        List link;      /* gates->users */
} GateUser;

struct Gates {
        int fd;                            /* epoll of sockets and stand-ins */
        List ready;                        /* Gate */
        List users;                        /* GateUser */
        uint8_t buffer[GATE_BUFFER_BYTES]; /* of whichever flow reads */
};

/* The data of an event: a gate, and in the lowest bit which of its two descriptors. */
#define EVENT_IS_INNER UINT64_C(1)

/* Bytes that wait to be sent, and the descriptors that go with the first of them. */
typedef struct GateMessage {
        List link;
        size_t n, n_sent;
        size_t n_fds;
        int fds[GATE_FDS_MAX];
        uint8_t data[];
} GateMessage;

/* A call that may have to be refused. */
typedef struct GateCall {
        uint32_t serial; /* 0: nobody expects a reply */
        char sender[FRAME_NAME_BYTES];
} GateCall;

/* One direction. It begins with lines, and messages follow. */
typedef struct GateFlow {
        Gate *gate;
        int from, to; /* the gate's */
        bool is_from_peer;
        bool is_readable, is_writable; /* as far as is known */
        bool is_hung_up;               /* nothing more arrives */
        bool is_ended;                 /* and that was read */
        bool awaits_room;              /* epoll tells when `to` has room */

        bool has_lines;
        unsigned n_lines; /* so far */

        uint64_t n_need;  /* of the message that is being read; 0: no message */
        bool is_alone;    /* nothing followed it, unless it has descriptors */
        uint64_t n_asked; /* of the message that waits for gate_answer() */
        GateCall asked;   /* likewise */
        const char *why;  /* it is refused, if it is */
        uint64_t n_skip;  /* of one that is dropped */
        Bytes held;       /* of the message that is being read */
        size_t n_fds;     /* likewise */
        int fds[GATE_FDS_MAX];
        uid_t fds_user;
        bool keeps_fds; /* the message bus passes them */

        List queue; /* GateMessage */
        size_t n_queued;
} GateFlow;

struct Gate {
        Gates *gates;
        GateOptions options;
        GateUser *user;
        Handshake handshake;
        int outer,
                inner; /* the peer's socket, and our end of the pair whose other end is sd-bus's */
        GateFlow in, out; /* to sd-bus, and to the peer */
        GateRefusal refusal;
        bool has_taken; /* a reply, of which the peer was told nothing */
        bool is_broken;
        bool has_passed; /* something, in this turn */
        bool has_ended;  /* sd-bus was told that nothing more follows */
        List ready_link;
};

/* The gate is one of its user's. -ENOMEM. */
int gate_join_user(Gate *gate);
void gate_leave_user(Gate *gate);

/* Counts bytes as held for the user. false: that would be too many. */
bool gate_hold(Gate *gate, size_t n);
void gate_release(Gate *gate, size_t n);

/* It has its turn soon. */
void gate_is_ready(Gate *gate);

/* The peer must go. */
void gate_break(Gate *gate, const char *why);

/* From now on the gate becomes ready when one of its descriptors does. */
int gate_watch(Gate *gate);
/* Ends that, as the peer's socket may stay open for a while. */
void gate_unwatch(Gate *gate);
/* Whether epoll is to tell the flow when there is room to write. */
void gate_await_room(GateFlow *flow, bool is_wanted);

/* Logs a line, unless there were too many about this user. */
void gate_log(Gate *gate, uid_t user, const char *what, const char *why);

void flow_init(GateFlow *flow, Gate *gate, int from, int to, bool is_from_peer);
void flow_deinit(GateFlow *flow);

/* Returns whether it has done anything; then there may be more to do. Breaks the gate if it must. */
bool flow_step(GateFlow *flow);

/* Sends or queues bytes. The descriptors are taken over, or closed. */
void flow_send(GateFlow *flow, const void *data, size_t n);
void flow_send_with(GateFlow *flow, const uint8_t *data, size_t n, int *fds, size_t n_fds);
/* Sends queued bytes. false: there is no room for more. */
bool flow_flush(GateFlow *flow);
void flow_free_message(GateFlow *flow, GateMessage *message);

/* Reads, and keeps the descriptors that come with the bytes. 0: nothing now. */
size_t flow_read(GateFlow *flow, void *data, size_t n);
/* Turns the result of a call to read, and errno, into the number of bytes. */
size_t flow_count(GateFlow *flow, ssize_t n);

/* Looks at the next bytes without taking them, and returns how many there are. 0: none now. */
size_t flow_peek(GateFlow *flow, void *data, size_t n);
/* Takes the bytes that were looked at. Descriptors among them break the gate. */
void flow_skip(GateFlow *flow, size_t n);
/* Waits for more bytes. */
void flow_wait(GateFlow *flow);

/* Reads and carries out one line. Returns false if no complete line has arrived. */
bool flow_take_line(GateFlow *flow);

/* Looks at the next message, and sets how much of it is needed or skipped. false: its header has not arrived
 * completely. */
bool flow_admit(GateFlow *flow);
/* Of a message of the service, whose first `n` bytes are here: sends an error instead if it is a reply that is too
 * long. */
bool flow_refuse_reply(GateFlow *flow, const Frame *frame, const uint8_t *data, size_t n);
/* Answers a call from the message bus that is dropped. */
GateCall gate_call_of(const FrameFields *fields);
void gate_refuse_call(Gate *gate, const GateCall *call, const char *text);
/* The answer to the question that it has asked. */
void flow_take_answer(GateFlow *flow, const GateAnswer *answer);
/* The message has arrived: checks that it has as many descriptors as it claims, and replaces them. */
bool flow_admit_fds(GateFlow *flow, const uint8_t *data, size_t n);
void flow_drop_fd(GateFlow *flow, int fd);
void flow_drop_fds(GateFlow *flow);
