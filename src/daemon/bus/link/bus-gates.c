/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gates in the main loop: a gate's event source dispatches both what it passes on and what it may still send. */

#include <sys/epoll.h>

#include "bus/link/bus-gates.h"

/* Messages are dispatched at once: otherwise each call would wait for another turn of the loop. */
static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Bus *bus = userdata;

        gates_turn(bus->gates);
        hub_settle(&bus->hub);
        return 0;
}

int bus_gates_init(Bus *bus) {
        int r;

        r = gates_new(&bus->gates);
        return r < 0 ? r
                     : sd_event_add_io(bus->event,
                                       &bus->gates_source,
                                       gates_fd(bus->gates),
                                       EPOLLIN,
                                       on_ready,
                                       bus);
}

void bus_gates_deinit(Bus *bus) {
        bus->gates_source = sd_event_source_disable_unref(bus->gates_source);
        bus->gates = gates_free(bus->gates);
}

static void on_passed(void *userdata) {
        Client *client = userdata;

        client->hub_link.is_ready = true;
        hub_touch(&client->hub_link);
}

int bus_gate_new(Gate **ret, int *ret_fd, Bus *bus, int fd, uid_t uid, uid_t user, sd_id128_t id) {
        char guid[SD_ID128_STRING_MAX];
        const GateOptions options = {
                .fd = fd,
                .uid = uid,
                .user = user,
                .guid = sd_id128_to_string(id, guid),
                .passed = on_passed,
        };

        return gate_new(ret, ret_fd, bus->gates, &options);
}

void bus_gate_belongs_to(Client *client) {
        gate_set_userdata(client->gate, client);
}
