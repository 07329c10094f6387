/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "consumer-world.h"
#include "sink.h"

#define TURNS_MAX 4000 /* of 1 ms where something is awaited from another thread */

Fixture f;
Ports *ports;
FakeProducer *app;
ConsumerClient consumer;
static sd_event *event;

/* The port tells the core the real time, so the world's begins with it. */
void world_init_observed(const PortsObserver *observer) {
        PortsOptions options = { .output_ops = &sink_output_ops, .observer = observer };
        struct timespec now;

        fixture_init(&f);
        clock_gettime(CLOCK_BOOTTIME, &now);
        f.now = MAX(f.now, (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec) + S;
        fixture_advance(&f, SERVICE_SETTLE_NS);
        ck_assert_int_ge(sd_event_new(&event), 0);
        options.event = event;
        options.output_host = event;
        options.service = f.service;
        options.info = &f.info;
        ck_assert_int_eq(ports_new(&ports, &options), 0);
        app = fixture_connect_producer(&f, getuid(), "app", "com.example");
        world_connect(&consumer);
}

void world_init(void) {
        world_init_observed(NULL);
}

void world_deinit(void) {
        consumer_client_deinit(&consumer);
        ports = ports_free(ports);
        event = sd_event_unref(event);
        fixture_deinit(&f);
}

void world_serve_ports(void) {
        while (sd_event_run(event, 0) > 0)
                ports_settle(ports);
        ports_settle(ports);
}

void world_serve(void) {
        world_serve_ports();
        fixture_settle(&f);
        ports_settle(ports);
}

void world_run(ConsumerClient *client) {
        do
                world_serve();
        while (consumer_client_pump(client));
}

void world_connect(ConsumerClient *client) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        consumer_client_init(client, fds[1]);
        ck_assert_int_eq(ports_accept(ports, PORT_CONSUMER, fds[0]), 0);
        consumer_client_bind(client);
        world_run(client);
        ck_assert(client->is_bound);
}

const ConsumerReply *world_reply(ConsumerClient *client, uint64_t request) {
        for (unsigned i = 0; i < TURNS_MAX; i++) {
                world_run(client);
                if (consumer_reply(client, request, 0))
                        return consumer_reply(client, request, 0);
                usleep(1000);
        }
        ck_abort_msg("no reply to request %u", (unsigned)request);
}

const ConsumerReply *world_success(ConsumerClient *client, uint64_t request) {
        const ConsumerReply *reply = world_reply(client, request);

        ck_assert(reply->success && !reply->has_more);
        return reply;
}

uint64_t world_enable(ConsumerClient *client, const char *text, int fd) {
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError error;

        ck_assert_msg(config_new_from_text(&config, text, &error) == 0, "%s", error.message);
        wire_put_bytes(consumer_message(client), 1, config->bytes, config->n_bytes);
        return consumer_call_with_fd(client, CONSUMER_ENABLE, fd);
}

Bytes world_read(ConsumerClient *client) {
        const uint64_t request = consumer_call(client, CONSUMER_READ);
        Bytes trace = {};
        size_t n;

        world_run(client);
        n = consumer_n_replies(client, request);
        ck_assert_uint_gt(n, 0);
        for (size_t i = 0; i < n; i++) {
                ck_assert(consumer_reply(client, request, i)->success);
                ck_assert(consumer_reply(client, request, i)->has_more == (i + 1 < n));
        }
        consumer_read_trace(client, request, &trace);
        return trace;
}
