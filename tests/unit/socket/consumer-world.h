/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The core with fake producers, the consumer port before it, and consumers of Perfetto's protocol at the other end of
 * socket pairs. What is written into descriptors goes through the real outputs.
 */

#include "consumer-client.h"
#include "core/fixture.h"
#include "socket/ports.h"

extern Fixture f;
extern Ports *ports;

void world_init(void);
void world_init_observed(const PortsObserver *observer);
void world_deinit(void);

/* Connected and bound. */
void world_connect(ConsumerClient *client);
/* Lets the service, the producers and the client do what there is to do. */
void world_run(ConsumerClient *client);
/* The service and the producers alone. */
void world_serve(void);
/* The service alone, so far as that needs no answer of a producer. */
void world_serve_ports(void);
/* The same, until the call has its first reply. */
const ConsumerReply *world_reply(ConsumerClient *client, uint64_t request);
/* That one, which is a success without more. */
const ConsumerReply *world_success(ConsumerClient *client, uint64_t request);

/* EnableTracing, of a config as text. */
uint64_t world_enable(ConsumerClient *client, const char *config, int fd);
/* All that ReadBuffers gives now. */
Bytes world_read(ConsumerClient *client);

/* A test with the world, in which `app` has the source "com.example" and `consumer` is connected. */
#define CONSUMER_WORLD_TEST(name)      \
        static void name##_body(void); \
        START_TEST(name) {             \
                world_init();          \
                name##_body();         \
                world_deinit();        \
        }                              \
        END_TEST                       \
        static void name##_body(void)

extern FakeProducer *app;
extern ConsumerClient consumer;
