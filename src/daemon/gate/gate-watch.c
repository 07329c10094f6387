/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What epoll reports: to a gate that it is ready, and to a flow that waits for room that there is some. */

#include <errno.h>
#include <sys/epoll.h>

#include "gate/gate-private.h"

/* There is nearly always room, and each message that is read makes some. So this event is requested only while a
 * flow waits for it. */
static int watch(Gate *gate, int operation, int fd, bool for_room) {
        struct epoll_event event = {
                .events = EPOLLIN | EPOLLRDHUP | EPOLLET | (for_room ? EPOLLOUT : 0),
                .data.u64 = (uint64_t)(uintptr_t)gate | (fd == gate->inner ? EVENT_IS_INNER : 0),
        };

        return epoll_ctl(gate->gates->fd, operation, fd, &event) < 0 ? -errno : 0;
}

int gate_watch(Gate *gate) {
        int r;

        r = watch(gate, EPOLL_CTL_ADD, gate->outer, false);
        return r < 0 ? r : watch(gate, EPOLL_CTL_ADD, gate->inner, false);
}

void gate_unwatch(Gate *gate) {
        epoll_ctl(gate->gates->fd, EPOLL_CTL_DEL, gate->outer, NULL);
}

void gate_await_room(GateFlow *flow, bool is_wanted) {
        if (flow->awaits_room == is_wanted)
                return;
        flow->awaits_room = is_wanted;
        if (watch(flow->gate, EPOLL_CTL_MOD, flow->to, is_wanted) < 0)
                gate_break(flow->gate, "it cannot be waited for");
}
