/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data source linux.sysfs_power. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host/denial.h"
#include "host/track-writer.h"
#include "probes/system/power-supply.h"
#include "probes/system/sysfs-power-probe.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/utf8.h"

enum {
        RAILS_DESCRIPTOR = 1,
        RAILS_DATA = 2,
        RAILS_SESSION = 3,
        RAIL_INDEX = 1, /* of both messages */
        RAIL_NAME = 2,
        RAIL_SUBSYSTEM = 3,
        RAIL_TIMESTAMP_MS = 2,
        RAIL_ENERGY_UWS = 3,
};

typedef struct Power {
        PacketWriter packets;
        TrackWriter tracks;     /* of adapters */
        int supplies, powercap; /* directories; -1: the kernel does not have it */
        Rail rails[SYSFS_POWER_RAILS_MAX];
        size_t n_rails;
        int rails_error;      /* why a rail was left out */
        bool describes_rails; /* the next sample describes the rails */
        bool names_batteries; /* there is more than one */
        uint64_t session;     /* of the rails */

        /* For one walk over the supplies: */
        uint64_t now_ns;
        size_t n_supplies, n_batteries;
} Power;

static void *sysfs_power_free(void *userdata) {
        Power *power = userdata;

        if (!power)
                return NULL;
        fd_close(power->supplies);
        fd_close(power->powercap);
        track_writer_deinit(&power->tracks);
        packet_writer_deinit(&power->packets);
        free(power);
        return NULL;
}

static void sysfs_power_freep(Power **power) {
        sysfs_power_free(*power);
}

static bool add_rail(const char *zone, void *userdata) {
        Power *power = userdata;
        int r;

        if (power->n_rails == SYSFS_POWER_RAILS_MAX)
                return false;
        r = rail_init(&power->rails[power->n_rails], power->powercap, zone);
        if (r == 0)
                power->n_rails++;
        else if (r != -ENOENT && r != -ENOTDIR)
                power->rails_error = r;
        return true;
}

static int open_supply(const Power *power, const char *name) {
        return openat(power->supplies, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool count_supply(const char *name, void *userdata) {
        _cleanup_(fd_closep) int supply = -1;
        Power *power = userdata;
        SupplyKind kind;

        supply = open_supply(power, name);
        if (supply < 0)
                return true;
        kind = supply_kind(supply);
        power->n_supplies += kind != SUPPLY_OTHER;
        power->n_batteries += kind == SUPPLY_BATTERY;
        return power->n_supplies < SYSFS_POWER_SUPPLIES_MAX;
}

static int refuse(const Power *power, int root, char **ret_error) {
        char why[DENIAL_BYTES];

        if (power->rails_error) {
                denial_explain(why, root, -power->rails_error, CAP_DAC_READ_SEARCH);
                return probe_refuse(ret_error,
                                    "cannot read the energy counters in /sys/class/powercap, and "
                                    "there is no battery: %s%s",
                                    strerror(-power->rails_error),
                                    why);
        }
        return probe_refuse(ret_error,
                            "no battery or energy counter on this machine: "
                            "nothing in /sys/class/power_supply or /sys/class/powercap; virtual "
                            "machines have none, so record it on real hardware");
}

int sysfs_power_new(void **ret, int root_fd, PacketSink *sink, char **ret_error) {
        _cleanup_(sysfs_power_freep) Power *power = NULL;
        _cleanup_(fd_closep) int root = root_fd;

        power = calloc(1, sizeof(*power));
        if (!power)
                return -ENOMEM;
        packet_writer_init(&power->packets, sink);
        track_writer_init(&power->tracks, &power->packets, "linux.sysfs_power");
        power->supplies =
                openat(root, "sys/class/power_supply", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        power->powercap = openat(root, "sys/class/powercap", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (power->powercap >= 0)
                (void)sysfs_list(power->powercap, ".", add_rail, power);
        if (power->supplies >= 0)
                (void)sysfs_list(power->supplies, ".", count_supply, power);
        if (power->n_rails == 0 && power->n_supplies == 0)
                return refuse(power, root, ret_error);
        power->names_batteries = power->n_batteries > 1;
        power->describes_rails = true;
        /* Unique among the recordings of one trace, as that is all it is for. */
        power->session = (probe_now_ns() ^ (uint64_t)(uintptr_t)power) & UINT32_MAX;
        *ret = TAKE(power);
        return 0;
}

static int sysfs_power_check(char **ret_error) {
        _cleanup_(sysfs_power_freep) Power *power = NULL;
        int root = denial_open_root();

        return root < 0 ? root : sysfs_power_new((void **)&power, root, NULL, ret_error);
}

static void note_missing_rails(const Power *power, int root, ProbeNotes *notes) {
        char why[DENIAL_BYTES];

        if (!power->rails_error)
                return;
        denial_explain(why, root, -power->rails_error, CAP_DAC_READ_SEARCH);
        probe_note(notes,
                   "some energy counters in /sys/class/powercap are not recorded: %s%s",
                   strerror(-power->rails_error),
                   why);
}

static int sysfs_power_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root(), own = -1;
        int r;

        own = root < 0 ? root : fcntl(root, F_DUPFD_CLOEXEC, 3);
        if (own < 0)
                return root < 0 ? root : -errno;
        r = sysfs_power_new(ret, TAKE_FD(own), setup->sink, ret_error);
        if (r == 0)
                note_missing_rails(*ret, root, setup->notes);
        return r;
}

static void write_battery(Power *power, int supply, const char *name) {
        WireWriter *wire = packet_begin(&power->packets);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, power->now_ns);
        begin = wire_begin(wire, PACKET_BATTERY);
        if (!battery_encode(supply, name, wire))
                return;
        wire_end(wire, begin);
        (void)packet_end(&power->packets); /* the sink counts what it drops */
}

/* There is no message for adapters, so each of them is a track. */
static void write_adapter(Power *power, int supply, const char *name) {
        char text[POWER_NAME_BYTES + 32];
        uint64_t is_online;

        if (!sysfs_read_uint(&is_online, supply, "online"))
                return;
        snprintf(text, sizeof(text), "%.*s online", POWER_NAME_BYTES, name);
        track_count(&power->tracks,
                    track_counter(&power->tracks, 0, text, TRACK_UNIT_NONE),
                    power->now_ns,
                    (int64_t)is_online);
}

/* The values for which the packet has no fields. */
static void write_battery_tracks(Power *power, int supply, const char *name) {
        char label[POWER_NAME_BYTES + 32], status[32];
        int64_t power_uw;

        if (battery_power_uw(&power_uw, supply)) {
                snprintf(label, sizeof(label), "%.*s power (µW)", POWER_NAME_BYTES, name);
                track_count(&power->tracks,
                            track_counter(&power->tracks, 0, label, TRACK_UNIT_NONE),
                            power->now_ns,
                            power_uw);
        }
        if (sysfs_read(status, sizeof(status), supply, "status") == 0 && status[0]) {
                utf8_clean(status);
                snprintf(label, sizeof(label), "%.*s status", POWER_NAME_BYTES, name);
                track_state(&power->tracks,
                            track_group(&power->tracks, 0, label),
                            power->now_ns,
                            status);
        }
}

static bool write_supply(const char *name, void *userdata) {
        _cleanup_(fd_closep) int supply = -1;
        Power *power = userdata;
        SupplyKind kind;

        supply = open_supply(power, name);
        if (supply < 0)
                return true;
        kind = supply_kind(supply);
        if (kind == SUPPLY_ADAPTER)
                write_adapter(power, supply, name);
        else if (kind == SUPPLY_DEVICE_BATTERY)
                write_battery(power, supply, name);
        else if (kind == SUPPLY_BATTERY)
                write_battery(power, supply, power->names_batteries ? name : NULL);
        if (kind == SUPPLY_BATTERY)
                write_battery_tracks(power, supply, name);
        power->n_supplies += kind != SUPPLY_OTHER;
        return power->n_supplies < SYSFS_POWER_SUPPLIES_MAX;
}

static void encode_rail_descriptor(const Rail *rail, size_t index, WireWriter *wire) {
        size_t begin = wire_begin(wire, RAILS_DESCRIPTOR);

        wire_put_uint(wire, RAIL_INDEX, index);
        wire_put_string(wire, RAIL_NAME, rail->name);
        wire_put_string(wire, RAIL_SUBSYSTEM, rail->subsystem);
        wire_end(wire, begin);
}

static void encode_rail(const Power *power, const Rail *rail, size_t index, WireWriter *wire) {
        size_t begin = wire_begin(wire, RAILS_DATA);

        wire_put_uint(wire, RAIL_INDEX, index);
        wire_put_uint(wire, RAIL_TIMESTAMP_MS, power->now_ns / PROBE_NS_PER_MS);
        wire_put_uint(wire, RAIL_ENERGY_UWS, rail->total_uj);
        wire_end(wire, begin);
}

static void write_rails(Power *power) {
        WireWriter *wire = packet_begin(&power->packets);
        size_t begin, n = 0;

        wire_put_uint(wire, PACKET_TIMESTAMP, power->now_ns);
        begin = wire_begin(wire, PACKET_POWER_RAILS);
        for (size_t i = 0; power->describes_rails && i < power->n_rails; i++)
                encode_rail_descriptor(&power->rails[i], i, wire);
        for (size_t i = 0; i < power->n_rails; i++)
                if (rail_sample(&power->rails[i], power->powercap)) {
                        encode_rail(power, &power->rails[i], i, wire);
                        n++;
                }
        wire_put_uint(wire, RAILS_SESSION, power->session);
        wire_end(wire, begin);
        if (n > 0 && packet_end(&power->packets) == 0)
                power->describes_rails = false;
}

static uint64_t sysfs_power_poll(void *userdata, uint64_t now_ns) {
        Power *power = userdata;

        power->now_ns = now_ns;
        power->n_supplies = 0;
        if (power->supplies >= 0)
                (void)sysfs_list(power->supplies, ".", write_supply, power);
        if (power->n_rails > 0)
                write_rails(power);
        return probe_next_on_grid(now_ns, SYSFS_POWER_PERIOD_NS);
}

/* Takes a last sample, so that the energy of the whole recording is known. */
static void sysfs_power_stop(void *userdata, uint64_t now_ns) {
        (void)sysfs_power_poll(userdata, now_ns);
}

static void sysfs_power_clear(void *userdata) {
        Power *power = userdata;

        power->describes_rails = true;
        track_writer_clear(&power->tracks);
}

const ProbeOps sysfs_power_probe_ops = {
        .name = "linux.sysfs_power",
        .packet_fields = (const uint32_t[]){ PACKET_BATTERY,
                                             PACKET_POWER_RAILS,
                                             PACKET_TRACK_EVENT,
                                             PACKET_TRACK_DESCRIPTOR,
                                             0 },
        .records = "batteries, adapters, energy counters (RAPL)",
        .reads = "/sys/class/power_supply, /sys/class/powercap",
        .needs = "CAP_DAC_OVERRIDE for the energy counters",
        .refuses = "the machine has none of them, as virtual machines: record on real hardware",
        .check = sysfs_power_check,
        .setup = sysfs_power_setup,
        .poll = sysfs_power_poll,
        .stop = sysfs_power_stop,
        .clear_incremental_state = sysfs_power_clear,
        .free = sysfs_power_free,
};
