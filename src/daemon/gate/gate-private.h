/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Gate, inside: what the parts of a gate share
 *
 *      gate.c          gates are made, have their turns and end
 *      gate-flow.c     one direction: messages are read whole, and passed on
 *      gate-lines.c    the handshake before the first message
 *      gate-admit.c    which messages, and which descriptors, are let through
 *      gate-refuse.c   replies that are too long
 *      gate-write.c    writes bytes and descriptors
 *      gate-read.c     reads bytes and descriptors
 *      gate-watch.c    what epoll reports
 *      gate-break.c    the end of a gate
 *      gate-user.c     users, and the bytes held for them
 *
 * Calls go down in this list only.
 */

#include "gate/gate.h"
#include "gate/handshake.h"
#include "shared/bytes.h"
#include "shared/dbus-frame.h"
#include "shared/list.h"

#define GATE_BUFFER_BYTES \
        (64u << 10) /* messages up to this length are not copied; headers are shorter */

/* One login user with at least one gate. */
typedef struct GateUser {
        uid_t user;
        size_t n_gates;
        size_t n_bytes; /* bytes held for all of the user's gates */
        size_t n_peak;  /* the most that were held since there were none */
        List link;      /* gates->users */
} GateUser;

struct Gates {
        int fd;                            /* epoll of sockets and stand-ins */
        List ready;                        /* Gate */
        List users;                        /* GateUser */
        uint8_t buffer[GATE_BUFFER_BYTES]; /* descriptors of whichever flow reads */
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
        bool is_readable, is_writable; /* the length of that, as far as it is known */
        bool is_hung_up;               /* nothing more arrives */
        bool is_ended;                 /* and everything before that was read */
        bool awaits_room;              /* epoll tells when `to` has room */

        bool has_lines;
        unsigned n_lines; /* so far */

        uint64_t n_need;  /* length of the message that is being read; 0: no message */
        bool is_alone;    /* nothing followed it, unless it has descriptors */
        uint64_t n_asked; /* length of the message that waits for gate_answer() */
        GateCall asked;   /* likewise */
        const char *why;  /* why it is refused, or NULL */
        uint64_t n_skip;  /* remaining bytes of a message that is dropped */
        Bytes held;       /* bytes of the message that is being read */
        size_t n_fds;     /* likewise */
        int fds[GATE_FDS_MAX];
        uid_t fds_user;
        bool keeps_fds; /* the message bus passes descriptors */

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
        bool has_passed; /* something was passed on in this turn */
        bool has_ended;  /* sd-bus was told that nothing more follows */
        List ready_link;
};

/* The gate is one of its user's. -ENOMEM. */
int gate_join_user(Gate *gate);
void gate_leave_user(Gate *gate);

/* Counts bytes as held for the user. Returns false if that would be too many. */
bool gate_hold(Gate *gate, size_t n);
void gate_release(Gate *gate, size_t n);

/* Gives the gate a turn soon. */
void gate_is_ready(Gate *gate);

/* Breaks the gate, so that the peer is disconnected. */
void gate_break(Gate *gate, const char *why);

/* From now on the gate becomes ready when one of its descriptors does. */
int gate_watch(Gate *gate);
/* Ends that; the peer's socket may stay open for a while. */
void gate_unwatch(Gate *gate);
/* Whether epoll is to tell the flow when there is room to write. */
void gate_await_room(GateFlow *flow, bool is_wanted);

/* Logs a line, unless there were too many about this user. */
void gate_log(Gate *gate, uid_t user, const char *what, const char *why);

void flow_init(GateFlow *flow, Gate *gate, int from, int to, bool is_from_peer);
void flow_deinit(GateFlow *flow);

/* Returns whether anything was done; if so, there may be more to do. Breaks the gate if it must. */
bool flow_step(GateFlow *flow);

/* Sends or queues bytes. The descriptors are taken over, or closed. */
void flow_send(GateFlow *flow, const void *data, size_t n);
void flow_send_with(GateFlow *flow, const uint8_t *data, size_t n, int *fds, size_t n_fds);
/* Sends queued bytes. Returns false if there is no room for more. */
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
/* Takes a message of the service whose first `n` bytes are here. If it is a reply that is too long, sends an
 * error in its place. */
bool flow_refuse_reply(GateFlow *flow, const Frame *frame, const uint8_t *data, size_t n);
/* Answers a call from the message bus that has been dropped. */
GateCall gate_call_of(const FrameFields *fields);
void gate_refuse_call(Gate *gate, const GateCall *call, const char *text);
/* Takes the answer to the gate's last question. */
void flow_take_answer(GateFlow *flow, const GateAnswer *answer);
/* The message has arrived: checks that it has as many descriptors as it claims, and replaces them. */
bool flow_admit_fds(GateFlow *flow, const uint8_t *data, size_t n);
void flow_drop_fd(GateFlow *flow, int fd);
void flow_drop_fds(GateFlow *flow);
