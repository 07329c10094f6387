/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * bus-storm: the programs beside which bench/bus-storm.py measures the bridge of the session bus
 *
 *   bench-bus-storm load SECONDS     calls of one connection to another, CALLS_PER_S, evenly; prints how many
 *   bench-bus-storm floor SECONDS    a monitor that receives as often as the bridge does, and looks at nothing; prints
 *                                    the share of a CPU that this takes
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "bridges/dbus/bus-monitor.h"

#define CALLS_PER_S 5000 /* each has an answer, so there are twice as many messages */
#define NS_PER_S    1000000000
#define ECHO_NAME   "org.example.Storm"
#define ECHO_PATH   "/org/example/Storm"

static _Noreturn void die(const char *what, int r) {
        fprintf(stderr, "bench-bus-storm: %s: %s\n", what, strerror(-r));
        exit(EXIT_FAILURE);
}

static sd_bus *open_bus(void) {
        sd_bus *bus;
        int r;

        r = sd_bus_open_user(&bus);
        if (r < 0)
                die("cannot connect to the session bus", r);
        return bus;
}

static uint64_t cpu_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t at_ns) {
        const struct timespec at = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/*
 * The load
 */

static int echo(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(message, NULL);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Echo", "", "", echo, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static _Noreturn void serve(int ready) {
        sd_bus *bus;
        int r;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bus = open_bus();
        r = sd_bus_add_object_vtable(bus, NULL, ECHO_PATH, ECHO_NAME, vtable, NULL);
        if (r >= 0)
                r = sd_bus_request_name(bus, ECHO_NAME, 0);
        if (r < 0 || write(ready, "", 1) != 1)
                die("cannot serve", r);
        for (;;) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
                if (r < 0)
                        exit(EXIT_FAILURE);
        }
}

static void run_load(uint64_t n_calls) {
        int ready[2], r = 0;
        uint64_t begin_ns;
        sd_bus *bus;
        char byte;

        if (pipe(ready) < 0)
                die("cannot make a pipe", -errno);
        if (fork() == 0)
                serve(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
                die("nobody serves", -ESRCH);
        bus = open_bus();
        begin_ns = bench_now_ns();
        for (uint64_t i = 0; i < n_calls && r >= 0; i++) {
                sleep_until(begin_ns + i * (NS_PER_S / CALLS_PER_S));
                r = sd_bus_call_method(
                        bus, ECHO_NAME, ECHO_PATH, ECHO_NAME, "Echo", NULL, NULL, "");
        }
        if (r < 0)
                die("a call failed", r);
        printf("%lu %.3f\n",
               (unsigned long)n_calls,
               (double)(bench_now_ns() - begin_ns) / NS_PER_S);
}

/*
 * The floor
 */

static int become_monitor(sd_bus *bus) {
        return sd_bus_call_method(bus,
                                  "org.freedesktop.DBus",
                                  "/org/freedesktop/DBus",
                                  "org.freedesktop.DBus.Monitoring",
                                  "BecomeMonitor",
                                  NULL,
                                  NULL,
                                  "asu",
                                  4,
                                  "type='method_call'",
                                  "type='method_return'",
                                  "type='error'",
                                  "type='signal'",
                                  0);
}

static void run_floor(uint64_t n_looks) {
        sd_bus *bus = open_bus();
        char *buffer = malloc(TRAFFIC_BUFFER_BYTES);
        uint64_t begin_ns, begin_cpu_ns, n_bytes = 0;
        const int r = become_monitor(bus);

        if (!buffer || r < 0)
                die("cannot become a monitor", buffer ? r : -ENOMEM);
        begin_ns = bench_now_ns();
        begin_cpu_ns = cpu_ns();
        for (uint64_t i = 1; i <= n_looks; i++) {
                ssize_t n;

                sleep_until(begin_ns + i * (NS_PER_S / MONITOR_FLOOD_WAKES_PER_S));
                n = recv(sd_bus_get_fd(bus), buffer, TRAFFIC_BUFFER_BYTES, MSG_DONTWAIT);
                n_bytes += n > 0 ? (uint64_t)n : 0;
        }
        printf("%lu %.3f\n",
               (unsigned long)n_bytes,
               100.0 * (double)(cpu_ns() - begin_cpu_ns) / (double)(bench_now_ns() - begin_ns));
        free(buffer);
}

int main(int argc, char **argv) {
        const uint64_t seconds = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

        if (seconds == 0) {
                fputs("usage: bench-bus-storm load|floor SECONDS\n", stderr);
                return 2;
        }
        if (strcmp(argv[1], "load") == 0)
                run_load(seconds * CALLS_PER_S);
        else
                run_floor(seconds * MONITOR_FLOOD_WAKES_PER_S);
        return 0;
}
