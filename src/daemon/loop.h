/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Loop: the main loop and the life of the process
 *
 * There is one thread, one sd-event, and one timer for all deadlines. After each turn all queued work is settled. Then
 * the process may find that it is idle and leave; or, if it was told to end, that everything has stopped.
 */

#include <systemd/sd-event.h>

#include "activation.h"
#include "bus/link/bus-line.h"
#include "bus/link/bus.h"
#include "config.h"
#include "core/service.h"
#include "keeper.h"
#include "listeners.h"
#include "login-users.h"
#include "socket/ports.h"

/* The time after SIGTERM in which sessions may flush, stop and write out. */
#define LOOP_STOP_TIMEOUT_NS (UINT64_C(15) * 1000000000)

/* How long the process stays for what is being written when others take its sessions over. */
#define LOOP_SINKS_MS 500

/* How often systemd is asked meanwhile to go on waiting. TimeoutStopSec= is short: when a thread hangs in a file system
 * that never answers, systemd waits for that time in each of its four steps before it starts the next process. */
#define LOOP_STOP_EXTEND_NS (UINT64_C(2) * 1000000000)

/* How soon a private instance leaves after its last client has gone; it waits longer for the first one. */
#define LOOP_STANDALONE_IDLE_NS  (UINT64_C(2) * 1000000000)
#define LOOP_STANDALONE_FIRST_NS (UINT64_C(10) * 1000000000)

/* How much longer it stays each time that it cannot end: see loop_can_end(). */
#define LOOP_HANG_NS (UINT64_C(1) * 1000000000)

/* The timeout that systemd is told when a request arrived just as the service was about to leave, so that the
 * service is not killed. */
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
        Keeper keeper;
        Service *service;
        BusLine *line; /* NULL in a standalone instance */
        Bus *bus;
        Ports *ports;
        Activator activator;
        Guard *guards; /* of config->producers */
        size_t n_guards;
        const char **guarded; /* info.guarded */

        uint64_t idle_since; /* UINT64_MAX: busy */
        bool hangs;          /* as it was last told: it would have ended otherwise */
        uint64_t n_calls_seen;
        bool had_client;
        uint64_t stop_deadline;   /* UINT64_MAX: not stopping */
        uint64_t extend_deadline; /* UINT64_MAX: systemd does not think we are stopping */
        size_t n_sessions_told, n_producers_told; /* to systemd */
} Loop;

int loop_init(Loop *loop, LoopMode mode, const DaemonConfig *config);
void loop_deinit(Loop *loop);

/* Runs until it is idle, gets a signal, or loses the bus. Returns 0 or an errno. */
int loop_run(Loop *loop);
