/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus monitor: a connection that is shown all messages of a bus, and a thread that reads them */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bridges/dbus/bus-address.h"
#include "bridges/dbus/bus-hello.h"
#include "bridges/dbus/bus-monitor.h"
#include "shared/fd.h"
#include "shared/thread.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t boottime_ns(void) {
        return clock_ns(CLOCK_BOOTTIME);
}

static void wake_taker(BusMonitor *monitor) {
        const uint64_t one = 1;
        ssize_t n;

        n = write(monitor->wake_fd, &one, sizeof(one)); /* full is awake */
        (void)n;
}

/* Each wake-up costs a token; tokens grow back with time. */
typedef struct Pace {
        uint64_t at_ns, tokens_ns;
} Pace;

#define WAKE_NS       (NS_PER_S / MONITOR_WAKES_PER_S)
#define STORM_WAKE_NS (NS_PER_S / MONITOR_STORM_WAKES_PER_S)
#define FLOOD_WAKE_NS (NS_PER_S / MONITOR_FLOOD_WAKES_PER_S)

static void pace_wait(Pace *pace, uint64_t cost_ns) {
        const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        struct timespec pause = {};

        pace->tokens_ns =
                MIN(pace->tokens_ns + (now_ns - pace->at_ns), WAKE_NS * MONITOR_WAKES_BURST);
        pace->at_ns = now_ns;
        if (pace->tokens_ns >= cost_ns) {
                pace->tokens_ns -= cost_ns;
                return;
        }
        pause.tv_nsec = (long)(cost_ns - pace->tokens_ns);
        pace->tokens_ns = 0;
        nanosleep(&pause, NULL);
        pace->at_ns = clock_ns(CLOCK_MONOTONIC);
}

static void tell_taker(BusMonitor *monitor) {
        if (monitor->reader.has_newcomer ||
            atomic_exchange_explicit(&monitor->wants_wake, false, memory_order_acq_rel))
                wake_taker(monitor);
        monitor->reader.has_newcomer = false;
}

/* Charges the last look, before which there were `n_before` messages. */
static void wait_between_looks(const BusMonitor *monitor, Pace *pace, uint64_t n_before) {
        const uint64_t n_messages = atomic_load(&monitor->reader.n_messages) - n_before;

        if (n_messages >= MONITOR_FLOOD_MESSAGES)
                pace_wait(pace, FLOOD_WAKE_NS);
        else
                pace_wait(pace, n_messages < MONITOR_STORM_MESSAGES ? WAKE_NS : STORM_WAKE_NS);
}

static void read_traffic(BusMonitor *monitor) {
        Pace pace = { clock_ns(CLOCK_MONOTONIC), WAKE_NS * MONITOR_WAKES_BURST };

        for (;;) {
                const uint64_t n_before = atomic_load(&monitor->reader.n_messages);
                size_t n_room;
                void *room = traffic_reader_room(&monitor->reader, &n_room);
                ssize_t n = recv(monitor->fd, room, n_room, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0 || traffic_reader_take(&monitor->reader, (size_t)n) < 0)
                        return;
                tell_taker(monitor);
                wait_between_looks(monitor, &pace, n_before);
        }
}

static void *monitor_run(void *userdata) {
        BusMonitor *monitor = userdata;
        MonitorState end = MONITOR_FAILED;

        pthread_setname_np(pthread_self(), "bus-monitor");
        if (bus_hello_become_monitor(monitor->fd, monitor->error, sizeof(monitor->error)) == 0) {
                atomic_store(&monitor->state, MONITOR_READS);
                read_traffic(monitor);
                end = MONITOR_GONE;
        }
        atomic_store(&monitor->state, end);
        /* Otherwise the bus keeps what the connection has not read. */
        shutdown(monitor->fd, SHUT_RDWR);
        wake_taker(monitor);
        return NULL;
}

/* A bus that accepts nobody for a while has a full queue, and connect() must not wait for it. */
static int monitor_connect(BusMonitor *monitor, const char *addresses) {
        struct sockaddr_un address;
        socklen_t n_address;
        int r;

        r = bus_address_parse(&address, &n_address, addresses);
        if (r < 0)
                return r;
        monitor->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (monitor->fd < 0 || connect(monitor->fd, (struct sockaddr *)&address, n_address) < 0 ||
            fcntl(monitor->fd, F_SETFL, 0) < 0)
                return -errno;
        return 0;
}

int bus_monitor_start(BusMonitor *monitor, const char *addresses) {
        int r;

        *monitor = (BusMonitor){ .fd = -1, .wants_wake = true };
        monitor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (monitor->wake_fd < 0)
                return -errno;
        r = traffic_ring_init(&monitor->ring);
        if (r >= 0)
                r = traffic_reader_init(&monitor->reader, &monitor->ring, boottime_ns);
        if (r >= 0)
                r = monitor_connect(monitor, addresses);
        if (r >= 0)
                r = thread_start(&monitor->thread, NULL, monitor_run, monitor);
        monitor->has_thread = r >= 0;
        return r;
}

void bus_monitor_stop(BusMonitor *monitor) {
        if (!monitor->has_thread)
                return;
        shutdown(monitor->fd, SHUT_RDWR);
        pthread_join(monitor->thread, NULL);
        monitor->has_thread = false;
}

void bus_monitor_deinit(BusMonitor *monitor) {
        bus_monitor_stop(monitor);
        fd_close(monitor->fd);
        fd_close(monitor->wake_fd);
        traffic_reader_deinit(&monitor->reader);
        traffic_ring_deinit(&monitor->ring);
        *monitor = (BusMonitor){ .fd = -1, .wake_fd = -1 };
}
