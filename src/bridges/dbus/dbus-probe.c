/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* D-Bus probe: data source org.freedesktop.dbus */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridges/dbus/bus-monitor.h"
#include "bridges/dbus/bus-questions.h"
#include "bridges/dbus/dbus-probe.h"
#include "shared/log.h"

#define SOURCE_NAME "org.freedesktop.dbus"
#define PERIOD_NS   (100 * PROBE_NS_PER_MS)
#define DELAY_NS    (250 * PROBE_NS_PER_MS) /* for the bus to say who its new peers are */

typedef struct Dbus {
        PacketWriter packets;
        TrackWriter tracks;
        BusRecorder recorder;
        BusQuestions questions;
        BusMonitor monitor;
        sd_event_source *wake;
        uint64_t n_lost; /* messages that were written as lost */
        bool is_told;    /* it has reported that it cannot record */
} Dbus;

static void *dbus_free(void *userdata) {
        Dbus *dbus = userdata;

        if (!dbus)
                return NULL;
        bus_monitor_deinit(&dbus->monitor);
        sd_event_source_disable_unref(dbus->wake);
        bus_questions_end(&dbus->questions);
        bus_recorder_deinit(&dbus->recorder);
        track_writer_deinit(&dbus->tracks);
        packet_writer_deinit(&dbus->packets);
        free(dbus);
        return NULL;
}

static int dbus_check(char **ret_error) {
        return manager_bus_check(MANAGER_BUS_USER, ret_error);
}

static int dbus_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        Dbus *dbus = calloc(1, sizeof(*dbus));

        if (!dbus)
                return -ENOMEM;
        dbus->monitor.fd = dbus->monitor.wake_fd = -1;
        packet_writer_init(&dbus->packets, setup->sink);
        track_writer_init(&dbus->tracks, &dbus->packets, SOURCE_NAME);
        bus_recorder_init(&dbus->recorder, &dbus->tracks);
        *ret = dbus;
        return 0;
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        uint64_t n;
        ssize_t r;

        r = read(fd, &n, sizeof(n)); /* the next poll reads the ring */
        (void)r;
        return 0;
}

/* The monitor comes first, so that peers which arrive while names are listed are not missed. */
static int dbus_start(void *userdata, char **ret_error) {
        const char *address;
        Dbus *dbus = userdata;
        int r;

        r = bus_questions_begin(&dbus->questions, &dbus->recorder, ret_error);
        if (r != 0)
                return r;
        r = sd_bus_get_address(dbus->questions.bus.bus, &address);
        if (r >= 0)
                r = bus_monitor_start(&dbus->monitor, address);
        if (r < 0)
                return probe_refuse(
                        ret_error, "cannot connect to the session bus: %s", strerror(-r));
        r = sd_event_add_io(dbus->questions.bus.event,
                            &dbus->wake,
                            dbus->monitor.wake_fd,
                            EPOLLIN,
                            on_wake,
                            dbus);
        return MIN(r, 0);
}

static int dbus_fd(void *userdata) {
        return manager_bus_fd(&((Dbus *)userdata)->questions.bus);
}

/* Reported once, as nothing else will come. */
static void tell_failure(Dbus *dbus, uint64_t now_ns) {
        const TrackArgument argument = { "because", dbus->monitor.error, 0 };

        if (dbus->is_told || atomic_load(&dbus->monitor.state) != MONITOR_FAILED)
                return;
        dbus->is_told = true;
        log_notice("the session bus does not let itself be monitored: %s", dbus->monitor.error);
        track_instant(&dbus->tracks,
                      track_group(&dbus->tracks, 0, "D-Bus"),
                      now_ns,
                      "not recorded",
                      &argument,
                      1);
}

static void tell_losses(Dbus *dbus, uint64_t now_ns) {
        const uint64_t n = atomic_load(&dbus->monitor.ring.n_dropped);

        if (n != dbus->n_lost)
                bus_recorder_lost(&dbus->recorder, now_ns, n - dbus->n_lost);
        dbus->n_lost = n;
}

/* Writes the messages that were read before `until_ns`. */
static void write_traffic(Dbus *dbus, uint64_t until_ns) {
        Traffic traffic;

        while (traffic_ring_first(&dbus->monitor.ring, &traffic) && traffic.at_ns < until_ns) {
                bus_recorder_write(&dbus->recorder, &traffic);
                traffic_ring_release(&dbus->monitor.ring);
        }
}

static bool look(Dbus *dbus) {
        Traffic traffic;

        while (traffic_ring_look(&dbus->monitor.ring, &traffic))
                bus_recorder_meet(&dbus->recorder, &traffic);
        return bus_questions_poll(&dbus->questions);
}

static uint64_t dbus_poll(void *userdata, uint64_t now_ns) {
        Dbus *dbus = userdata;
        bool has_more;

        has_more = look(dbus);
        write_traffic(dbus, now_ns - DELAY_NS);
        tell_losses(dbus, now_ns);
        tell_failure(dbus, now_ns);
        if (has_more)
                return now_ns;
        if (!traffic_ring_is_empty(&dbus->monitor.ring))
                return probe_next_on_grid(now_ns, PERIOD_NS);
        atomic_store(&dbus->monitor.wants_wake, true);
        /* A message that came before `wants_wake` was stored has woken nobody. */
        return traffic_ring_is_empty(&dbus->monitor.ring) ? PROBE_NEVER : now_ns + PERIOD_NS;
}

static void dbus_flush(void *userdata, uint64_t now_ns) {
        Dbus *dbus = userdata;

        (void)look(dbus);
        write_traffic(dbus, UINT64_MAX);
        tell_losses(dbus, now_ns);
}

static void dbus_stop(void *userdata, uint64_t now_ns) {
        Dbus *dbus = userdata;

        bus_monitor_stop(&dbus->monitor);
        dbus_flush(dbus, now_ns);
        tell_failure(dbus, now_ns);
}

static void dbus_clear(void *userdata) {
        track_writer_clear(&((Dbus *)userdata)->tracks);
}

const ProbeOps dbus_probe_ops = {
        .name = SOURCE_NAME,
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },
        .records = "calls, answers and signals on the session bus, without what is in them",
        .reads = "headers of the messages on the session bus, as a monitor",
        .refuses = "there is no session bus: log in to a session that has one",
        .check = dbus_check,
        .setup = dbus_setup,
        .start = dbus_start,
        .fd = dbus_fd,
        .poll = dbus_poll,
        .flush = dbus_flush,
        .stop = dbus_stop,
        .clear_incremental_state = dbus_clear,
        .free = dbus_free,
};
