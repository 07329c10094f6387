/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus monitor: a connection that is shown all messages of a bus, and a thread that reads them
 *
 * The bus keeps every message that a monitor has not read, and a session bus hardly limits that memory. So the thread
 * does nothing but read: it waits for nobody, and drops messages that the ring has no room for. It notes when each
 * message came.
 *
 * Waking up costs more than reading a message. When messages would wake the thread more often than
 * MONITOR_WAKES_PER_S for long, it sleeps a little between two looks, which makes times less exact by as much. In a
 * storm, when each look brings several messages nevertheless, it sleeps longer, and in a flood longer still.
 *
 * Descriptors that messages carry are never received: the kernel lets go of them when their message is read.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "bridges/dbus/traffic-reader.h"

#define MONITOR_WAKES_PER_S       500
#define MONITOR_WAKES_BURST       100 /* wake-ups without a delay, after a quiet time */
#define MONITOR_STORM_MESSAGES    5   /* this many messages in one look are a storm */
#define MONITOR_STORM_WAKES_PER_S 200
#define MONITOR_FLOOD_MESSAGES    30 /* and this many are a flood */
#define MONITOR_FLOOD_WAKES_PER_S 100

typedef enum MonitorState {
        MONITOR_ASKS,   /* to become one */
        MONITOR_READS,  /* it is one */
        MONITOR_FAILED, /* it never became a monitor, see bus_monitor_error() */
        MONITOR_GONE,   /* the connection has ended */
} MonitorState;

typedef struct BusMonitor {
        TrafficRing ring;
        TrafficReader reader; /* the thread's */
        int fd;
        int wake_fd; /* an eventfd: the taker has something to look at */
        pthread_t thread;
        bool has_thread;
        _Atomic int state;       /* MonitorState */
        _Atomic bool wants_wake; /* the taker sleeps until the next message */
        char error[256];         /* before MONITOR_FAILED is stored */
} BusMonitor;

/* Connects to the bus at these addresses and starts the thread. Returns 0 or a negative errno. */
int bus_monitor_start(BusMonitor *monitor, const char *addresses);
/* Ends the connection and waits for the thread, which does not take long. What is in the ring stays there. */
void bus_monitor_stop(BusMonitor *monitor);
void bus_monitor_deinit(BusMonitor *monitor);
