/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Loop: the main loop and the life of the process
 *
 * One thread, one sd-event, one timer for every deadline there is. After each turn everything that was queued is
 * settled; then the process may find that it is idle and leave, or, when told to end, that all is stopped.
 */

#include <systemd/sd-event.h>

#include "activation.h"
#include "bus/link/bus-line.h"
#include "bus/link/bus.h"
#include "config.h"
#include "core/service.h"
#include "listeners.h"
#include "login-users.h"
#include "socket/ports.h"

/* After SIGTERM sessions get so long to flush, stop and write out. desktraced.service allows a little more. */
#define LOOP_STOP_TIMEOUT_NS (UINT64_C(15) * 1000000000)

/* A private instance leaves so soon after its last client, and gives the first one longer to come. */
#define LOOP_STANDALONE_IDLE_NS  (UINT64_C(2) * 1000000000)
#define LOOP_STANDALONE_FIRST_NS (UINT64_C(10) * 1000000000)

/* Told to systemd when a request came just as the service was about to leave, so that it is not killed. */
#define LOOP_EXTEND_NS (UINT64_C(10) * 1000000000)

typedef enum LoopMode {
        LOOP_SYSTEM,     /* system bus and sockets */
        LOOP_USER,       /* session bus and sockets */
        LOOP_STANDALONE, /* sockets only */
} LoopMode;

typedef struct Loop {
        LoopMode mode;
        const DaemonConfig *config;
        ServiceInfo info;
        sd_event *event;
        sd_event_source *timer;
        LoginUsers users;
        Listeners listeners;
        Service *service;
        BusLine *line; /* NULL in a standalone instance */
        Bus *bus;
        Ports *ports;
        Activator activator;
        Guard *guards; /* of config->producers */
        size_t n_guards;
        const char **guarded; /* info.guarded */

        uint64_t idle_since; /* UINT64_MAX: busy */
        uint64_t n_calls_seen;
        bool had_client;
        uint64_t stop_deadline;   /* UINT64_MAX: not stopping */
        uint64_t extend_deadline; /* UINT64_MAX: systemd does not think we are stopping */
        size_t n_sessions_told, n_producers_told; /* to systemd */
} Loop;

int loop_init(Loop *loop, LoopMode mode, const DaemonConfig *config);
void loop_deinit(Loop *loop);

/* Until idle, a signal, or the bus is gone. 0 or an errno. */
int loop_run(Loop *loop);
