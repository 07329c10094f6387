/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The core, the producer port before it, and producers of Perfetto's protocol at the other end of socket pairs.
 * Consumers are those of the core's fixture.
 */

#include "core/fixture.h"
#include "producer-client.h"
#include "socket/ports.h"

extern Fixture f;
extern Ports *ports;

void world_init(void);
void world_init_observed(const PortsObserver *observer);
void world_deinit(void);

/* A connected client, not bound. */
void world_connect(ProducerClient *client);
/* One that is ready, with one source. */
void world_connect_app(ProducerClient *client, const char *name, const char *source);
/* Lets the service and these clients do what there is to do. */
void world_run(ProducerClient *clients, size_t n_clients);

static inline void world_run_one(ProducerClient *client) {
        world_run(client, 1);
}

/* The one reply to the request. */
const ClientReply *world_reply(ProducerClient *client, uint64_t request);

/* Serves what is there, and nothing else; the latter without answers of the fixture's producers. */
void world_serve(void);
void world_serve_ports(void);

/* A test with the world, in which `app` has the source "track_event". */
#define PORT_WORLD_TEST(name)          \
        static void name##_body(void); \
        START_TEST(name) {             \
                world_init();          \
                name##_body();         \
                world_deinit();        \
        }                              \
        END_TEST                       \
        static void name##_body(void)
