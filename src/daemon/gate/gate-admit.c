/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The message bus passes on whatever anybody sends to us, and must not be disconnected for that. So three kinds of
 * messages are dropped: those that are too long, and those with descriptors of a sender that has gone, or whose earlier
 * descriptors still wait to be closed. A dropped message is read without room for descriptors; the kernel then drops
 * these without asking their file systems. The caller gets an error in its place.
 */

#include <assert.h>

#include "closer/closer.h"
#include "gate/gate-private.h"
#include "gate/stand-in.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define BUS_ITSELF "org.freedesktop.DBus"

#define LOOK_BYTES 4096 /* most messages are shorter: one look shows several */

#define TEXT_OF_(_n) #_n
#define TEXT_OF(_n)  TEXT_OF_(_n)

#define WHY_LONG "the message is longer than 4 MiB (GATE_MESSAGE_BYTES_MAX)"
#define WHY_MANY "the message has more than " TEXT_OF(GATE_FDS_MAX) " descriptors (GATE_FDS_MAX)"
#define WHY_UNCLOSED                                                      \
        "descriptors that its user has passed before are not closed yet " \
        "(CLOSER_PENDING_MAX); try again later"
#define WHY_GONE   "it has descriptors, and its sender has left the bus"
#define WHY_IN_USE "too many descriptors of its user are in use; end some sessions first"
#define WHY_FALSE  "the message has another number of descriptors than it says"

static_assert((GATE_MESSAGE_BYTES_MAX) == 4u << 20, "the text says so");

/* The message bus is not responsible for what others send. */
static void flow_refuse(GateFlow *flow, const GateCall *call, const char *why) {
        if (!flow->gate->options.is_bus) {
                gate_break(flow->gate, why);
                return;
        }
        gate_log(flow->gate, flow->fds_user, "a message from the bus is dropped", why);
        gate_refuse_call(flow->gate, call, why);
}

static bool admit_from_client(GateFlow *flow, const Frame *frame) {
        if (frame->n_bytes > GATE_MESSAGE_BYTES_MAX) {
                gate_break(flow->gate, "its message is too long");
                return false;
        }
        if (closer_is_full(flow->gate->options.user)) {
                gate_break(flow->gate, "files that its user has sent cannot be closed");
                return false;
        }
        flow->fds_user = flow->gate->options.user;
        flow->n_need = frame->n_bytes;
        return true;
}

void flow_take_answer(GateFlow *flow, const GateAnswer *answer) {
        const uint64_t n = flow->n_asked;

        flow->n_asked = 0;
        flow->fds_user = answer->user;
        if (answer->is_wanted) {
                flow->n_need = n;
                return;
        }
        flow_refuse(flow, &flow->asked, answer->is_gone ? WHY_GONE : flow->why);
        flow->n_skip = n - answer->n_dropped;
}

/* Descriptors of a sender that is not known yet are neither taken nor dropped. */
static bool ask(GateFlow *flow, const Frame *frame, const FrameFields *fields) {
        const GateOptions *options = &flow->gate->options;
        GateQuestion question = { .fd = flow->from, .is_refused = true };
        GateAnswer answer;

        flow->asked = fields ? gate_call_of(fields) : (GateCall){};
        flow->why = WHY_LONG;
        if (fields && frame->n_bytes <= GATE_MESSAGE_BYTES_MAX) {
                question.is_refused = fields->n_fds > GATE_FDS_MAX;
                flow->why = question.is_refused ? WHY_MANY : WHY_UNCLOSED;
                strcpy(question.sender, fields->sender); /* shorter than FRAME_NAME_BYTES */
        }
        flow->n_asked = frame->n_bytes;
        if (!options->ask(options->userdata, &question, &answer))
                return false;
        flow_take_answer(flow, &answer);
        return true;
}

/* A complete message without descriptors. */
static bool is_plain(Frame *ret, const uint8_t *data, size_t n) {
        FrameFields fields;

        return n >= FRAME_HEAD_BYTES && frame_read(ret, data) == 0 && ret->n_bytes <= n &&
               frame_read_fields(&fields, data, n) == 0 && fields.n_fds == 0;
}

/* The bytes of the first message of a look, and of the following messages that need no look of their own: with
 * many messages in a socket, a look costs more than reading them. */
static size_t count_plain(const uint8_t *data, size_t n, size_t n_first) {
        size_t n_plain = n_first;
        Frame frame;

        while (n_plain < n && is_plain(&frame, data + n_plain, n - n_plain))
                n_plain += (size_t)frame.n_bytes;
        return n_plain;
}

/* `n` bytes of the message were seen so far. */
static bool admit_from_bus(GateFlow *flow, const Frame *frame, size_t n) {
        uint8_t *buffer = flow->gate->gates->buffer;
        const bool is_readable = frame->n_header_bytes <= GATE_BUFFER_BYTES;
        FrameFields fields;

        if (is_readable && n < frame->n_header_bytes)
                n = flow_peek(flow, buffer, (size_t)frame->n_header_bytes);
        if (is_readable && n < frame->n_header_bytes) {
                flow_wait(flow);
                return false;
        }
        if (!is_readable || frame_read_fields(&fields, buffer, n) < 0)
                return ask(flow, frame, NULL);
        flow->keeps_fds = streq(fields.sender, BUS_ITSELF);
        if (frame->n_bytes > GATE_MESSAGE_BYTES_MAX || (fields.n_fds > 0 && !flow->keeps_fds))
                return ask(flow, frame, &fields);
        flow->n_need = frame->n_bytes;
        if (fields.n_fds == 0 && frame->n_bytes < n)
                flow->n_need = count_plain(buffer, n, (size_t)frame->n_bytes);
        return true;
}

bool flow_admit(GateFlow *flow) {
        uint8_t *buffer = flow->gate->gates->buffer;
        Frame frame;
        size_t n;

        n = flow_peek(flow, buffer, LOOK_BYTES);
        if (n == 0)
                return false;
        if (n < FRAME_HEAD_BYTES) {
                flow_wait(flow);
                return false;
        }
        if (frame_read(&frame, buffer) < 0) {
                gate_break(flow->gate, "it does not speak D-Bus");
                return false;
        }
        /* A look ends with the first bytes that carry descriptors. Epoll reports bytes that arrive later. */
        flow->is_alone = n == frame.n_bytes && n < LOOK_BYTES;
        if (flow->is_from_peer)
                return flow->gate->options.is_bus ? admit_from_bus(flow, &frame, n)
                                                  : admit_from_client(flow, &frame);
        if (!flow_refuse_reply(flow, &frame, buffer, n))
                flow->n_need = frame.n_bytes;
        return true;
}

/* Stand-ins are passed on; the real descriptors are never closed here. sd-bus has to get one for each. */
static bool exchange_fds(GateFlow *flow, const GateCall *call) {
        const size_t n = flow->n_fds;
        int stand_ins[GATE_FDS_MAX], r = 0;
        size_t n_new = 0;

        while (r == 0 && n_new < n) {
                r = stand_in_new(&stand_ins[n_new],
                                 flow->gate->gates->fd,
                                 flow->fds_user,
                                 TAKE_FD(flow->fds[n_new]));
                n_new += r == 0;
        }
        if (r == 0) {
                memcpy(flow->fds, stand_ins, n * sizeof(*stand_ins));
                return true;
        }
        flow_drop_fds(flow);
        while (n_new > 0)
                fd_close(stand_ins[--n_new]);
        flow_refuse(flow, call, WHY_IN_USE);
        return false;
}

bool flow_admit_fds(GateFlow *flow, const uint8_t *data, size_t n) {
        FrameFields fields = {};
        GateCall call = {};

        if (flow->n_fds == 0 || !flow->is_from_peer || flow->keeps_fds)
                return true;
        if (frame_read_fields(&fields, data, n) == 0)
                call = gate_call_of(&fields);
        if (fields.n_fds != flow->n_fds) {
                flow_drop_fds(flow);
                flow_refuse(flow, &call, WHY_FALSE);
                return false;
        }
        return exchange_fds(flow, &call);
}
