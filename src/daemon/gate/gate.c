/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A gate has its turn when one of its descriptors is ready, and stays in the list of ready gates until neither
 * direction makes progress. A broken gate does nothing; sd-bus sees the end of the connection, and the owner frees the
 * gate.
 */

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "closer/closer.h"
#include "gate/gate-private.h"
#include "gate/stand-in.h"
#include "shared/fd.h"

/* An event of no gate: the eventfd that wakes the loop, whose reason is found elsewhere. */
#define EVENT_IS_WAKE UINT64_C(2)

/*
 * Gates
 */

static int gate_init(Gate *gate, int *ret_fd) {
        int fds[2], r;

        r = gate_join_user(gate);
        if (r < 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        gate->inner = fds[0];
        *ret_fd = fds[1];
        flow_init(&gate->in, gate, gate->outer, gate->inner, true);
        flow_init(&gate->out, gate, gate->inner, gate->outer, false);
        return gate_watch(gate);
}

int gate_new(Gate **ret, int *ret_fd, Gates *gates, const GateOptions *options) {
        _cleanup_(gate_freep) Gate *gate = calloc(1, sizeof(*gate));
        _cleanup_(fd_closep) int fd = -1;
        int r;

        if (!gate) {
                closer_close_socket(options->user, options->fd);
                return -ENOMEM;
        }
        *gate = (Gate){ .gates = gates, .options = *options, .outer = options->fd, .inner = -1 };
        gate->handshake.uid = options->uid;
        if (options->guid)
                memcpy(gate->handshake.guid, options->guid, HANDSHAKE_GUID_DIGITS);
        list_init(&gate->ready_link);
        flow_init(&gate->in, gate, -1, -1, true);
        flow_init(&gate->out, gate, -1, -1, false);
        r = gate_init(gate, &fd);
        if (r < 0)
                return r;
        gate_is_ready(gate);
        *ret_fd = TAKE_FD(fd);
        *ret = TAKE(gate);
        return 0;
}

void gate_set_userdata(Gate *gate, void *userdata) {
        gate->options.userdata = userdata;
        gate_is_ready(gate);
}

Gate *gate_free(Gate *gate) {
        if (!gate)
                return NULL;
        gate_pump(gate);
        list_unlink(&gate->ready_link);
        flow_deinit(&gate->in);
        flow_deinit(&gate->out);
        fd_close(gate->inner);
        gate_unwatch(gate);
        closer_close_socket(gate->options.user, gate->outer);
        gate_leave_user(gate);
        free(gate);
        return NULL;
}

static void gate_send(Gate *gate) {
        while (flow_step(&gate->out))
                ;
}

/* sd-bus has just written, which epoll has not reported yet. */
void gate_pump(Gate *gate) {
        gate->out.is_readable = true;
        gate_send(gate);
}

void gate_refuse_replies(Gate *gate, const GateRefusal *refusal) {
        if (gate->refusal.n_bytes == 0 && refusal->n_bytes == 0)
                return;
        gate_pump(gate);
        gate->refusal = *refusal;
}

bool gate_has_taken(Gate *gate) {
        const bool has_taken = gate->has_taken;

        gate->has_taken = false;
        return has_taken;
}

void gate_answer(Gate *gate, const GateAnswer *answer) {
        flow_take_answer(&gate->in, answer);
        gate_is_ready(gate);
}

/* A client's next calls wait until it has read the answers to its last ones. */
static bool gate_may_take(const Gate *gate) {
        return gate->options.is_bus || list_is_empty(&gate->out.queue);
}

/* Whether there is more to do without waiting for an event. */
static bool gate_turn(Gate *gate) {
        unsigned n = 0;

        gate_send(gate);
        while (n < GATE_MESSAGES_PER_TURN && gate_may_take(gate) && flow_step(&gate->in))
                n++;
        gate_send(gate);
        if (gate->in.is_ended && list_is_empty(&gate->in.queue) && !gate->has_ended) {
                shutdown(gate->inner, SHUT_WR);
                gate->has_passed = gate->has_ended = true;
        }
        if (gate->has_passed && gate->options.passed && gate->options.userdata)
                gate->options.passed(gate->options.userdata);
        gate->has_passed = false;
        return n == GATE_MESSAGES_PER_TURN && !gate->is_broken;
}

bool gate_is_over(const Gate *gate) {
        return gate->is_broken || (gate->out.is_ended && list_is_empty(&gate->out.queue));
}

size_t gate_n_unread(const Gate *gate) {
        int n = 0;

        if (ioctl(gate->outer, SIOCOUTQ, &n) < 0)
                n = 0;
        return gate->out.n_queued + (size_t)n;
}

bool gate_is_closed_by_service(const Gate *gate) {
        return gate->out.is_ended;
}

/*
 * All gates of a thread
 */

int gates_new(Gates **ret) {
        Gates *gates = calloc(1, sizeof(*gates));

        if (!gates)
                return -ENOMEM;
        list_init(&gates->ready);
        list_init(&gates->users);
        gates->fd = epoll_create1(EPOLL_CLOEXEC);
        if (gates->fd < 0) {
                free(gates);
                return -errno;
        }
        *ret = gates;
        return 0;
}

Gates *gates_free(Gates *gates) {
        if (!gates)
                return NULL;
        assert(list_is_empty(&gates->ready) && list_is_empty(&gates->users));
        fd_close(gates->fd);
        free(gates);
        return NULL;
}

int gates_fd(const Gates *gates) {
        return gates->fd;
}

bool gates_are_ready(const Gates *gates) {
        return !list_is_empty(&gates->ready);
}

static void gate_take_event(Gate *gate, bool is_inner, uint32_t events) {
        GateFlow *from = is_inner ? &gate->out : &gate->in, *to = is_inner ? &gate->in : &gate->out;

        if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                from->is_hung_up = true;
        if (events & ~(uint32_t)EPOLLOUT)
                from->is_readable = true;
        if (events & ~(uint32_t)(EPOLLIN | EPOLLRDHUP))
                to->is_writable = true;
        gate_is_ready(gate);
}

int gates_add_wake(Gates *gates, int fd) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = EVENT_IS_WAKE };

        return epoll_ctl(gates->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void gates_take_events(Gates *gates) {
        struct epoll_event events[GATE_EVENTS_PER_TURN];
        const int n = epoll_wait(gates->fd, events, ARRAY_SIZE(events), 0);

        for (int i = 0; i < n; i++) {
                const uint64_t data = events[i].data.u64;

                if (stand_in_is_id(data))
                        stand_in_gone(data);
                else if (data != EVENT_IS_WAKE)
                        gate_take_event((Gate *)(uintptr_t)(data & ~EVENT_IS_INNER),
                                        data & EVENT_IS_INNER,
                                        events[i].events);
        }
}

void gates_turn(Gates *gates) {
        Gate *last;

        gates_take_events(gates);
        last = list_is_empty(&gates->ready) ? NULL
                                            : list_entry(gates->ready.previous, Gate, ready_link);
        /* Gates that become ready meanwhile are queued behind this one, and wait for the next time. */
        while (last) {
                Gate *gate = list_first(&gates->ready, Gate, ready_link);

                list_unlink(&gate->ready_link);
                if (gate_turn(gate))
                        gate_is_ready(gate);
                if (gate == last)
                        break;
        }
}
