/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A client's lines are answered here, while sd-bus gets the shortest possible handshake, as if from the service itself:
 * after that both sides know where messages begin. On the message bus sd-bus is the client, and its lines and the
 * answers are passed on.
 */

#include <stdio.h>
#include <unistd.h>

#include "closer/closer.h"
#include "gate/gate-private.h"

#define PROTOCOL_WHY "it does not speak D-Bus"

static bool line_begins(const char *line, size_t n, const char *word) {
        return n >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* The first byte is a NUL, with which some systems pass credentials. */
static void skip_nul(const char **line, size_t *n, unsigned n_lines) {
        if (n_lines == 0 && *n > 0 && **line == '\0') {
                (*line)++;
                (*n)--;
        }
}

static void begin_inside(Gate *gate) {
        char text[128], uid[16];
        size_t n = 1;

        snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
        text[0] = '\0';
        n += (size_t)snprintf(text + n, sizeof(text) - n, "AUTH EXTERNAL ");
        for (const char *at = uid; *at; at++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", (unsigned char)*at);
        n += (size_t)snprintf(text + n,
                              sizeof(text) - n,
                              "\r\n%sBEGIN\r\n",
                              gate->handshake.takes_fds ? "NEGOTIATE_UNIX_FD\r\n" : "");
        flow_send(&gate->in, text, n);
        gate->in.has_lines = false;
}

static void take_from_client(Gate *gate, const char *line, size_t n) {
        char reply[HANDSHAKE_REPLY_BYTES_MAX];

        if (gate->in.n_lines == 0 && line[0] != '\0') {
                gate_break(gate, PROTOCOL_WHY);
                return;
        }
        skip_nul(&line, &n, gate->in.n_lines);
        if (handshake_take(&gate->handshake, line, n - 2, reply) < 0) {
                gate_break(gate, PROTOCOL_WHY);
                return;
        }
        if (reply[0])
                flow_send(&gate->out, reply, strlen(reply));
        if (!gate->is_broken && gate->handshake.state == HANDSHAKE_DONE)
                begin_inside(gate);
}

/* What sd-bus answers to these lines. */
static void take_from_inside(Gate *gate) {
        gate->out.has_lines = gate->out.n_lines + 1 < (gate->handshake.takes_fds ? 2 : 1);
}

static void take_from_bus(Gate *gate, const char *line, size_t n) {
        flow_send(&gate->in, line, n);
        gate->in.has_lines =
                !line_begins(line, n, "AGREE_UNIX_FD") && !line_begins(line, n, "ERROR");
}

static void take_for_bus(Gate *gate, const char *line, size_t n) {
        flow_send(&gate->out, line, n);
        gate->out.has_lines = !line_begins(line, n, "BEGIN");
}

static void take_line(GateFlow *flow, const char *line, size_t n) {
        Gate *gate = flow->gate;

        if (gate->options.is_bus && flow->is_from_peer)
                take_from_bus(gate, line, n);
        else if (gate->options.is_bus)
                take_for_bus(gate, line, n);
        else if (flow->is_from_peer)
                take_from_client(gate, line, n);
        else
                take_from_inside(gate);
}

bool flow_take_line(GateFlow *flow) {
        char line[HANDSHAKE_LINE_BYTES_MAX];
        const char *end;
        size_t n;

        n = flow_peek(flow, line, sizeof(line));
        if (n == 0)
                return false;
        if (flow->is_from_peer && !flow->gate->options.is_bus &&
            closer_is_full(flow->gate->options.user)) {
                gate_break(flow->gate, "files that its user has sent cannot be closed");
                return false;
        }
        end = memmem(line, n, "\r\n", 2);
        if (!end && n == sizeof(line)) {
                gate_break(flow->gate, PROTOCOL_WHY);
                return false;
        }
        if (!end) {
                flow_wait(flow);
                return false;
        }
        n = (size_t)(end - line) + 2;
        flow_skip(flow, n);
        take_line(flow, line, n);
        flow->n_lines++;
        return true;
}
