/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Exactly one message is read at a time, so that descriptors stay with the message that they came with: a read returns
 * the descriptors of all bytes that it returns. A message that has arrived completely is passed on without a copy.
 */

#include <sys/socket.h>

#include "gate/gate-private.h"

void flow_init(GateFlow *flow, Gate *gate, int from, int to, bool is_from_peer) {
        *flow = (GateFlow){
                .gate = gate,
                .from = from,
                .to = to,
                .is_from_peer = is_from_peer,
                .is_readable = true,
                .is_writable = true,
                .has_lines = true,
                .fds_user = gate->options.user,
        };
        list_init(&flow->queue);
}

static void flow_forget_held(GateFlow *flow) {
        gate_release(flow->gate, flow->held.n);
        bytes_deinit(&flow->held);
        flow->n_need = 0;
        flow->keeps_fds = false;
}

void flow_deinit(GateFlow *flow) {
        GateMessage *message;

        list_for_each (message, &flow->queue, link)
                flow_free_message(flow, message);
        flow_drop_fds(flow);
        flow_forget_held(flow);
}

static void flow_pass_on(GateFlow *flow, const uint8_t *data, size_t n) {
        if (flow_admit_fds(flow, data, n)) {
                const size_t n_fds = flow->n_fds;

                flow->n_fds = 0;
                flow_send_with(flow, data, n, flow->fds, n_fds);
        }
        flow_forget_held(flow);
}

/* Reads all of a short message, or a part of a long one. */
static bool flow_take_first(GateFlow *flow) {
        uint8_t *buffer = flow->gate->gates->buffer;
        const size_t n = flow_read(flow, buffer, (size_t)MIN(flow->n_need, GATE_BUFFER_BYTES));

        if (n == 0)
                return false;
        if (flow->is_alone && flow->n_fds == 0)
                flow_wait(flow);
        if (n == flow->n_need)
                flow_pass_on(flow, buffer, n);
        else if (!gate_hold(flow->gate, n))
                gate_break(flow->gate, "too much of its messages is missing");
        else if (bytes_append(&flow->held, buffer, n) < 0)
                gate_break(flow->gate, "there is no memory");
        return true;
}

static bool flow_take_more(GateFlow *flow) {
        const size_t n_wanted =
                (size_t)MIN(flow->n_need - flow->held.n, (uint64_t)GATE_BUFFER_BYTES);
        size_t n;

        if (bytes_reserve(&flow->held, n_wanted) < 0) {
                gate_break(flow->gate, "there is no memory");
                return false;
        }
        n = flow_read(flow, flow->held.data + flow->held.n, n_wanted);
        if (n == 0)
                return false;
        if (!gate_hold(flow->gate, n)) {
                gate_break(flow->gate, "too much of its messages is missing");
                return false;
        }
        flow->held.n += n;
        if (flow->held.n == flow->n_need)
                flow_pass_on(flow, flow->held.data, flow->held.n);
        return true;
}

static bool flow_take_skipped(GateFlow *flow) {
        const size_t n = flow_count(flow,
                                    recv(flow->from,
                                         flow->gate->gates->buffer,
                                         (size_t)MIN(flow->n_skip, (uint64_t)GATE_BUFFER_BYTES),
                                         MSG_DONTWAIT));

        flow->n_skip -= n;
        return n > 0;
}

static bool flow_take(GateFlow *flow) {
        if (flow->has_lines)
                return flow_take_line(flow);
        if (flow->n_skip == 0 && flow->n_need == 0)
                return flow_admit(flow);
        if (flow->n_skip > 0)
                return flow_take_skipped(flow);
        return flow->held.n == 0 ? flow_take_first(flow) : flow_take_more(flow);
}

/* Messages from sd-bus are read at any time, so that they do not pile up, uncounted, in the socket. */
static bool flow_must_wait(const GateFlow *flow) {
        return !list_is_empty(&flow->queue) && (flow->is_from_peer || flow->gate->options.is_bus);
}

bool flow_step(GateFlow *flow) {
        if (flow->gate->is_broken)
                return false;
        if (flow->is_writable && !list_is_empty(&flow->queue))
                flow_flush(flow);
        if (flow_must_wait(flow) || flow->n_asked > 0 || !flow->is_readable || flow->is_ended)
                return false;
        return flow_take(flow) && !flow->gate->is_broken;
}
