/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Power: batteries, adapters and energy counters, as fields of packets
 *
 * Every function takes the descriptor of one device's directory in /sys/class. Devices come and go, and each driver has
 * its own files, so missing ones are left out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-writer.h"

#define POWER_NAME_BYTES 64

/* Larger than any device has, and small enough for readers to multiply: 1 kA, 1 kV; 1 MAh, 1 MWh. */
#define POWER_FLOW_MAX  INT64_C(1000000000)
#define POWER_STORE_MAX INT64_C(1000000000000)

typedef enum SupplyKind {
        SUPPLY_OTHER,
        SUPPLY_BATTERY,
        SUPPLY_DEVICE_BATTERY, /* of a mouse or a headset, not of the machine */
        SUPPLY_ADAPTER,
} SupplyKind;

/* A bay without a battery is SUPPLY_OTHER, too. */
SupplyKind supply_kind(int supply);

/* Appends fields of perfetto.protos.BatteryCounters, without `name` if that is NULL. Current is negative while the
 * battery discharges, whatever its driver says. Returns whether there was any value. */
bool battery_encode(int supply, const char *name, WireWriter *wire);

/* The power that flows, with the sign of the current. Returns false if the driver reports neither power nor both
 * current and voltage. */
bool battery_power_uw(int64_t *ret, int supply);

/* One energy counter (RAPL). It starts again at 0 after some minutes or hours. */
typedef struct Rail {
        char zone[POWER_NAME_BYTES]; /* its directory: "intel-rapl:0:1" */
        char name[3 * POWER_NAME_BYTES], subsystem[POWER_NAME_BYTES];
        uint64_t range_uj, last_uj, total_uj;
        bool is_started;
} Rail;

/* Fills *ret from /sys/class/powercap/`zone`. Returns 0, -ENOENT if it is not an energy counter, or an errno that
 * says why it cannot be read. */
int rail_init(Rail *ret, int powercap, const char *zone);

/* Reads the counter. Returns false if that is not possible now. */
bool rail_sample(Rail *rail, int powercap);
