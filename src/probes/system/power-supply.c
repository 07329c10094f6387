/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds and reads the batteries and chargers of /sys/class/power_supply. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "probes/system/power-supply.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/macro.h"

enum {
        BATTERY_CHARGE_UAH = 1,
        BATTERY_CAPACITY_PERCENT = 2,
        BATTERY_CURRENT_UA = 3,
        BATTERY_CURRENT_AVG_UA = 4,
        BATTERY_NAME = 5,
        BATTERY_ENERGY_UWH = 6,
        BATTERY_VOLTAGE_UV = 7,
};

SupplyKind supply_kind(int supply) {
        static const char *const adapters[] = { "Mains", "USB", "UPS", "Wireless" };
        uint64_t is_present;
        char text[32];

        if (sysfs_read(text, sizeof(text), supply, "type") < 0)
                return SUPPLY_OTHER;
        for (size_t i = 0; i < ARRAY_SIZE(adapters); i++)
                if (strcmp(text, adapters[i]) == 0)
                        return SUPPLY_ADAPTER;
        if (strcmp(text, "Battery") != 0)
                return SUPPLY_OTHER;
        if (sysfs_read_uint(&is_present, supply, "present") && is_present == 0)
                return SUPPLY_OTHER;
        if (sysfs_read(text, sizeof(text), supply, "scope") == 0 && strcmp(text, "Device") == 0)
                return SUPPLY_DEVICE_BATTERY;
        return SUPPLY_BATTERY;
}

static bool read_value(int64_t *ret, int supply, const char *file, int64_t max) {
        return sysfs_read_int(ret, supply, file) && *ret >= -max && *ret <= max;
}

/* Current into the battery is positive. Drivers disagree about the sign, but all of them know the direction. */
static int64_t give_sign(int64_t current, const char *status) {
        int64_t amount = current < 0 ? -current : current;

        if (strcmp(status, "Discharging") == 0)
                return -amount;
        return strcmp(status, "Charging") == 0 ? amount : current;
}

/* ACPI batteries that count energy report power instead of current. */
static bool read_current(int64_t *ret, int supply) {
        int64_t power_uw, voltage_uv;

        if (read_value(ret, supply, "current_now", POWER_FLOW_MAX))
                return true;
        if (!read_value(&power_uw, supply, "power_now", POWER_STORE_MAX) ||
            !read_value(&voltage_uv, supply, "voltage_now", POWER_FLOW_MAX) || voltage_uv <= 0)
                return false;
        *ret = power_uw * 1000000 / voltage_uv;
        return *ret >= -POWER_FLOW_MAX && *ret <= POWER_FLOW_MAX;
}

static void put_float(WireWriter *wire, uint32_t field, float value) {
        uint8_t bytes[1 + sizeof(value)] = { (uint8_t)(field << 3 | WIRE_FIXED32) };
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        for (size_t i = 0; i < sizeof(bits); i++)
                bytes[1 + i] = (uint8_t)(bits >> 8 * i);
        wire_put_raw(wire, bytes, sizeof(bytes));
}

static void encode_store(int supply, WireWriter *wire) {
        int64_t value;

        if (read_value(&value, supply, "charge_now", POWER_STORE_MAX))
                wire_put_int(wire, BATTERY_CHARGE_UAH, value);
        if (read_value(&value, supply, "energy_now", POWER_STORE_MAX))
                wire_put_int(wire, BATTERY_ENERGY_UWH, value);
        if (read_value(&value, supply, "capacity", 1000))
                put_float(wire, BATTERY_CAPACITY_PERCENT, (float)value);
        if (read_value(&value, supply, "voltage_now", POWER_FLOW_MAX))
                wire_put_int(wire, BATTERY_VOLTAGE_UV, value);
}

bool battery_power_uw(int64_t *ret, int supply) {
        int64_t current_ua, voltage_uv;
        char status[32];

        (void)sysfs_read(status, sizeof(status), supply, "status");
        if (!read_value(ret, supply, "power_now", POWER_STORE_MAX)) {
                if (!read_value(&current_ua, supply, "current_now", POWER_FLOW_MAX) ||
                    !read_value(&voltage_uv, supply, "voltage_now", POWER_FLOW_MAX))
                        return false;
                *ret = current_ua * voltage_uv / 1000000;
        }
        *ret = give_sign(*ret, status);
        return true;
}

bool battery_encode(int supply, const char *name, WireWriter *wire) {
        size_t n_before = wire_writer_size(wire);
        int64_t value;
        char status[32];

        encode_store(supply, wire);
        (void)sysfs_read(status, sizeof(status), supply, "status");
        if (read_current(&value, supply))
                wire_put_int(wire, BATTERY_CURRENT_UA, give_sign(value, status));
        if (read_value(&value, supply, "current_avg", POWER_FLOW_MAX))
                wire_put_int(wire, BATTERY_CURRENT_AVG_UA, give_sign(value, status));
        if (wire_writer_size(wire) == n_before)
                return false;
        if (name)
                wire_put_string(wire, BATTERY_NAME, name);
        return true;
}

static void
zone_read(char ret[static POWER_NAME_BYTES], int powercap, const char *zone, size_t n_zone) {
        char path[2 * POWER_NAME_BYTES];

        snprintf(path, sizeof(path), "%.*s/name", (int)n_zone, zone);
        (void)sysfs_read(ret, POWER_NAME_BYTES, powercap, path);
}

/* "package-0", "package-0/core". The kind of counter is added if it is not the usual one, as both may count the
 * same. */
static void rail_name(Rail *rail, int powercap) {
        char own[POWER_NAME_BYTES], parent[POWER_NAME_BYTES] = "";
        const char *first = strchr(rail->zone, ':'), *last = strrchr(rail->zone, ':');
        bool is_usual;

        zone_read(own, powercap, rail->zone, strlen(rail->zone));
        if (last > first)
                zone_read(parent, powercap, rail->zone, (size_t)(last - rail->zone));
        snprintf(rail->subsystem,
                 sizeof(rail->subsystem),
                 "%.*s",
                 (int)(first - rail->zone),
                 rail->zone);
        is_usual = strcmp(rail->subsystem, "intel-rapl") == 0;
        snprintf(rail->name,
                 sizeof(rail->name),
                 "%s%s%s%s%s",
                 is_usual ? "" : rail->subsystem,
                 is_usual ? "" : " ",
                 parent,
                 parent[0] ? "/" : "",
                 own[0] ? own : rail->zone);
}

static int zone_open_file(int powercap, const char *zone, const char *file) {
        char path[2 * POWER_NAME_BYTES];

        snprintf(path, sizeof(path), "%s/%s", zone, file);
        return openat(powercap, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int rail_init(Rail *ret, int powercap, const char *zone) {
        _cleanup_(fd_closep) int fd = -1;
        char path[2 * POWER_NAME_BYTES];

        if (strlen(zone) >= POWER_NAME_BYTES || !strchr(zone, ':'))
                return -ENOENT;
        fd = zone_open_file(powercap, zone, "energy_uj");
        if (fd < 0)
                return -errno;
        *ret = (Rail){};
        strcpy(ret->zone, zone);
        rail_name(ret, powercap);
        snprintf(path, sizeof(path), "%s/max_energy_range_uj", zone);
        (void)sysfs_read_uint(&ret->range_uj, powercap, path);
        return 0;
}

bool rail_sample(Rail *rail, int powercap) {
        char path[2 * POWER_NAME_BYTES];
        uint64_t now_uj;

        snprintf(path, sizeof(path), "%s/energy_uj", rail->zone);
        if (!sysfs_read_uint(&now_uj, powercap, path))
                return false;
        if (!rail->is_started)
                rail->total_uj = now_uj;
        else if (now_uj >= rail->last_uj)
                rail->total_uj += now_uj - rail->last_uj;
        else if (rail->range_uj >= rail->last_uj)
                rail->total_uj += rail->range_uj - rail->last_uj + now_uj;
        else
                rail->total_uj += now_uj;
        rail->last_uj = now_uj;
        rail->is_started = true;
        return true;
}
