/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* org.freedesktop.systemd: what a manager starts and stops, what waits for what, and how the boot went */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "managers/systemd-probe.h"
#include "managers/systemd-reader.h"
#include "managers/systemd-snapshot.h"
#include "shared/log.h"

#define SOURCE_NAME        "org.freedesktop.systemd"
#define CLOCK_ID_MONOTONIC 3
#define WRITE_PERIOD_NS    (250 * PROBE_NS_PER_MS)
#define GROUP_BYTES        64

typedef Perfetto__Protos__SystemdConfig SystemdConfig;

typedef struct Systemd {
        ManagerBusKind kind;
        char group[GROUP_BYTES];
        bool since_boot, wants_jobs;
        char **patterns;
        size_t n_patterns;
        PacketWriter packets;
        TrackWriter tracks;
        UnitRecorder recorder;
        ManagerBus bus;
        SystemdReader reader;
        SystemdSnapshot *snapshot; /* NULL: only what happens during the recording */
        bool is_reading, is_stopped, is_finished;
} Systemd;

static void *systemd_free(void *userdata) {
        Systemd *systemd = userdata;

        if (!systemd)
                return NULL;
        manager_bus_close(&systemd->bus);
        systemd_snapshot_free(systemd->snapshot);
        unit_recorder_deinit(&systemd->recorder);
        track_writer_deinit(&systemd->tracks);
        packet_writer_deinit(&systemd->packets);
        for (size_t i = 0; i < systemd->n_patterns; i++)
                free(systemd->patterns[i]);
        free(systemd->patterns);
        free(systemd);
        return NULL;
}

static void systemd_freep(Systemd **systemd) {
        systemd_free(*systemd);
}

static int system_check(char **ret_error) {
        if (access("/run/systemd/system", F_OK) < 0)
                return probe_refuse(ret_error, "this machine was not booted with systemd");
        return manager_bus_check(MANAGER_BUS_SYSTEM, ret_error);
}

static int user_check(char **ret_error) {
        return manager_bus_check(MANAGER_BUS_USER, ret_error);
}

static int set_patterns(Systemd *systemd, const SystemdConfig *config, char **ret_error) {
        if (config->n_units > UNIT_PATTERNS_MAX)
                return probe_refuse(ret_error,
                                    "\"units\" has %zu patterns; give at most %d",
                                    config->n_units,
                                    UNIT_PATTERNS_MAX);
        systemd->patterns = calloc(MAX(config->n_units, (size_t)1), sizeof(char *));
        if (!systemd->patterns)
                return -ENOMEM;
        for (; systemd->n_patterns < config->n_units; systemd->n_patterns++) {
                const char *pattern = config->units[systemd->n_patterns];

                if (pattern[0] == '\0' || strlen(pattern) > UNIT_NAME_BYTES_MAX)
                        return probe_refuse(ret_error,
                                            "a pattern in \"units\" has %zu bytes; give 1 to %d",
                                            strlen(pattern),
                                            UNIT_NAME_BYTES_MAX);
                systemd->patterns[systemd->n_patterns] = strdup(pattern);
                if (!systemd->patterns[systemd->n_patterns])
                        return -ENOMEM;
        }
        return 0;
}

static int read_config(Systemd *systemd, const ProbeSetup *setup, char **ret_error) {
        static const SystemdConfig defaults = PERFETTO__PROTOS__SYSTEMD_CONFIG__INIT;
        const SystemdConfig *config = setup->config->systemd_config ?: &defaults;

        systemd->since_boot = config->since_boot;
        systemd->wants_jobs = !config->has_jobs || config->jobs;
        return set_patterns(systemd, config, ret_error);
}

static int
systemd_setup(void **ret, ManagerBusKind kind, const ProbeSetup *setup, char **ret_error) {
        _cleanup_(systemd_freep) Systemd *systemd = calloc(1, sizeof(*systemd));
        char root[GROUP_BYTES];
        int r;

        if (!systemd)
                return -ENOMEM;
        systemd->kind = kind;
        snprintf(systemd->group, GROUP_BYTES, "systemd");
        snprintf(root, sizeof(root), "%s", SOURCE_NAME);
        if (kind == MANAGER_BUS_USER) {
                snprintf(systemd->group, GROUP_BYTES, "systemd of user %u", getuid());
                snprintf(root, sizeof(root), "%s of %u", SOURCE_NAME, getuid());
        }
        packet_writer_init(&systemd->packets, setup->sink);
        track_writer_init(&systemd->tracks, &systemd->packets, root);
        systemd->tracks.clock_id = CLOCK_ID_MONOTONIC;
        unit_recorder_init(&systemd->recorder, &systemd->tracks, systemd->group);
        r = read_config(systemd, setup, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(systemd);
        return 0;
}

static int system_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        return systemd_setup(ret, MANAGER_BUS_SYSTEM, setup, ret_error);
}

static int user_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        return systemd_setup(ret, MANAGER_BUS_USER, setup, ret_error);
}

/* Signals come first: what happens while units are read is then seen in both. */
static int begin_reading(Systemd *systemd) {
        int r;

        r = systemd_reader_begin(
                &systemd->reader, &systemd->bus, &systemd->recorder, systemd->wants_jobs);
        if (r >= 0 && systemd->since_boot)
                r = systemd_snapshot_new(&systemd->snapshot, &systemd->bus, &systemd->recorder);
        return r;
}

static int systemd_start(void *userdata, char **ret_error) {
        Systemd *systemd = userdata;
        int r;

        systemd->recorder.start_us = systemd->since_boot ? 0 : monotonic_now_us();
        systemd->recorder.patterns = systemd->patterns;
        systemd->recorder.n_patterns = systemd->n_patterns;
        r = manager_bus_open(&systemd->bus, systemd->kind, "desktrace-systemd", ret_error);
        if (r == 0)
                r = MIN(begin_reading(systemd), 0);
        systemd->is_reading = r == 0;
        return r;
}

static int systemd_fd(void *userdata) {
        return manager_bus_fd(&((Systemd *)userdata)->bus);
}

static bool is_complete(const Systemd *systemd) {
        return !systemd->snapshot || systemd_snapshot_is_done(systemd->snapshot) ||
               !manager_bus_is_open(&systemd->bus);
}

static void finish(Systemd *systemd) {
        size_t n_missing = systemd->snapshot ? systemd_snapshot_n_missing(systemd->snapshot) : 0;

        unit_recorder_finish(&systemd->recorder);
        if (n_missing > 0)
                log_notice("%s: %zu units were not read: systemd did not answer in time",
                           SOURCE_NAME,
                           n_missing);
        systemd->is_finished = true;
        systemd->is_reading = false;
}

static uint64_t systemd_poll(void *userdata, uint64_t now_ns) {
        Systemd *systemd = userdata;
        bool more;

        if (!systemd->is_reading)
                return PROBE_NEVER;
        more = manager_bus_poll(&systemd->bus);
        if (systemd->is_stopped && is_complete(systemd)) {
                finish(systemd);
                return PROBE_NEVER;
        }
        if (more)
                return now_ns;
        /* What a manager remembers is old, but events that belong to it may still arrive. */
        if (is_complete(systemd))
                unit_recorder_write(&systemd->recorder, monotonic_now_us());
        return systemd->recorder.n_events > 0 ? now_ns + WRITE_PERIOD_NS : PROBE_NEVER;
}

static void systemd_flush(void *userdata, uint64_t now_ns) {
        Systemd *systemd = userdata;

        if (systemd->is_reading)
                (void)manager_bus_poll(&systemd->bus);
        if (systemd->is_reading && is_complete(systemd))
                unit_recorder_write_all(&systemd->recorder);
}

static void systemd_stop(void *userdata, uint64_t now_ns) {
        Systemd *systemd = userdata;

        systemd->is_stopped = true;
        (void)systemd_poll(systemd, now_ns);
}

static bool systemd_is_stopping(void *userdata) {
        const Systemd *systemd = userdata;

        return systemd->is_stopped && !systemd->is_finished;
}

static void systemd_clear(void *userdata) {
        track_writer_clear(&((Systemd *)userdata)->tracks);
}

#define SYSTEMD_OPS(kind)                                                                       \
        .packet_fields = (const uint32_t[]){ PACKET_TRACK_EVENT, PACKET_TRACK_DESCRIPTOR, 0 },  \
        .records = "units that start and stop, their jobs, what they waited for, and with "     \
                   "since_boot the boot",                                                       \
        .check = kind##_check, .setup = kind##_setup, .start = systemd_start, .fd = systemd_fd, \
        .poll = systemd_poll, .flush = systemd_flush, .stop = systemd_stop,                     \
        .is_stopping = systemd_is_stopping, .clear_incremental_state = systemd_clear,           \
        .free = systemd_free

const ProbeOps systemd_system_probe_ops = {
        .name = "org.freedesktop.systemd",
        SYSTEMD_OPS(system),
        .reads = "org.freedesktop.systemd1 on the system bus",
        .refuses = "systemd is not the machine's manager: there is nothing to record; there is no "
                   "system bus: start dbus.service",
};

const ProbeOps systemd_user_probe_ops = {
        .name = "org.freedesktop.systemd",
        SYSTEMD_OPS(user),
        .reads = "org.freedesktop.systemd1 on the session bus",
        .refuses = "there is no session bus: log in to a session that has one",
};
