/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/socket.h>
#include <time.h>

#include "producer-world.h"

Fixture f;
Ports *ports;
static sd_event *event;

/* The port tells the core the real time, so the world's begins with it. */
void world_init_observed(const PortsObserver *observer) {
        PortsOptions options = { .observer = observer };
        struct timespec now;

        fixture_init(&f);
        clock_gettime(CLOCK_BOOTTIME, &now);
        f.now = MAX(f.now, (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec) + S;
        fixture_advance(&f, SERVICE_SETTLE_NS);
        ck_assert_int_ge(sd_event_new(&event), 0);
        options.event = event;
        options.service = f.service;
        options.info = &f.info;
        ck_assert_int_eq(ports_new(&ports, &options), 0);
}

void world_init(void) {
        world_init_observed(NULL);
}

void world_deinit(void) {
        ports = ports_free(ports);
        event = sd_event_unref(event);
        fixture_deinit(&f);
}

void world_connect(ProducerClient *client) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        client_init(client, fds[1]);
        ck_assert_int_eq(ports_accept(ports, PORT_PRODUCER, fds[0]), 0);
}

void world_serve_ports(void) {
        while (sd_event_run(event, 0) > 0)
                ports_settle(ports);
        ports_settle(ports);
}

void world_serve(void) {
        world_serve_ports();
        fixture_settle(&f);
}

void world_run(ProducerClient *clients, size_t n_clients) {
        bool again = true;

        for (unsigned i = 0; again; i++) {
                ck_assert_uint_lt(i, 100);
                world_serve();
                again = false;
                for (size_t k = 0; k < n_clients; k++) {
                        uint64_t before = clients[k].n_requests + clients[k].n_replies;

                        client_pump(&clients[k], 0);
                        again |= clients[k].n_requests + clients[k].n_replies != before;
                }
        }
}

void world_connect_app(ProducerClient *client, const char *name, const char *source) {
        const ClientOptions options = { .name = name,
                                        .memory_bytes = 64 << 10,
                                        .page_bytes = 4096 };

        world_connect(client);
        client_bind(client);
        world_run_one(client);
        ck_assert(client->is_bound);
        client_initialize(client, &options);
        world_run_one(client);
        if (!source)
                return;
        client_register_source(client, source, 77);
        world_run_one(client);
}

const ClientReply *world_reply(ProducerClient *client, uint64_t request) {
        const ClientReply *reply;

        world_run_one(client);
        reply = client_reply(client, request);
        ck_assert_ptr_nonnull(reply);
        return reply;
}
