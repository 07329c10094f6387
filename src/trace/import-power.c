/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Batteries, and the energy that parts of the machine have used
 */

#include <math.h>
#include <string.h>

#include "trace/import.h"

/* perfetto.protos.BatteryCounters */
enum {
        BATTERY_CHARGE_UAH = 1,
        BATTERY_CAPACITY_PERCENT = 2,
        BATTERY_CURRENT_UA = 3,
        BATTERY_CURRENT_AVG_UA = 4,
        BATTERY_NAME = 5,
        BATTERY_ENERGY_UWH = 6,
        BATTERY_VOLTAGE_UV = 7,
        _BATTERY_FIELDS = 8,
};

typedef struct Battery {
        double values[_BATTERY_FIELDS];
        bool has[_BATTERY_FIELDS];
        WireField name;
} Battery;

static void battery_take(Battery *battery, const WireField *field) {
        uint32_t bits = (uint32_t)field->value;
        float real;

        if (field->number == BATTERY_NAME && field->type == WIRE_BYTES)
                battery->name = *field;
        if (field->number >= _BATTERY_FIELDS || field->type == WIRE_BYTES)
                return;
        battery->has[field->number] = true;
        battery->values[field->number] = (double)(int64_t)field->value;
        if (field->type == WIRE_FIXED32) {
                memcpy(&real, &bits, sizeof(real));
                battery->values[field->number] = (double)real;
        }
}

/* If there are several batteries, they have names, which become part of the names of their counters. */
static void battery_value(TraceImport *import,
                          uint64_t at_ns,
                          const Battery *battery,
                          const char *what,
                          double value) {
        TracePool *pool = &import->store->pool;
        uint32_t name = battery->name.n_bytes ? import_text(import, &battery->name) : 0;
        uint32_t which =
                name ? trace_pool_add_format(pool, "%s.%s", trace_pool_text(pool, name), what)
                     : trace_pool_add_text(pool, what);
        const ImportMachineCounter counter = {
                .type = "battery_counter",
                .dimension = "counter_name",
                .name = trace_pool_add_format(pool, "batt.%s", trace_pool_text(pool, which)),
                .value = which,
                .cpu = TRACE_NONE,
        };

        import_machine_value(import, at_ns, &counter, value);
}

/* What the kernel does not say about a battery, but what follows from what it says. */
static void battery_derive(TraceImport *import, uint64_t at_ns, const Battery *battery) {
        const double *values = battery->values;

        if (!battery->has[BATTERY_CHARGE_UAH] && battery->has[BATTERY_ENERGY_UWH] &&
            values[BATTERY_VOLTAGE_UV] > 0)
                battery_value(import,
                              at_ns,
                              battery,
                              "charge_uah",
                              trunc(values[BATTERY_ENERGY_UWH] * 1e6 / values[BATTERY_VOLTAGE_UV]));
        if (battery->has[BATTERY_CURRENT_UA] && battery->has[BATTERY_VOLTAGE_UV])
                battery_value(
                        import,
                        at_ns,
                        battery,
                        "power_mw",
                        fabs(trunc(values[BATTERY_CURRENT_UA] * values[BATTERY_VOLTAGE_UV] / 1e9)));
}

void apply_battery(TraceImport *import, uint64_t at_ns, const WireField *message) {
        static const struct {
                uint32_t number;
                const char *name;
        } counters[] = {
                { BATTERY_CHARGE_UAH, "charge_uah" }, { BATTERY_CAPACITY_PERCENT, "capacity_pct" },
                { BATTERY_CURRENT_UA, "current_ua" }, { BATTERY_CURRENT_AVG_UA, "current.avg_ua" },
                { BATTERY_VOLTAGE_UV, "voltage_uv" },
        };
        Battery battery = { 0 };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                battery_take(&battery, &field);
        for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
                if (battery.has[counters[i].number])
                        battery_value(import,
                                      at_ns,
                                      &battery,
                                      counters[i].name,
                                      battery.values[counters[i].number]);
        battery_derive(import, at_ns, &battery);
}

/*
 * perfetto.protos.PowerRails: a "rail" here may also be a processor.
 */

enum {
        RAILS_DESCRIPTOR = 1,
        RAILS_DATA = 2,
        RAILS_SESSION = 3,
        RAIL_INDEX = 1, /* of both messages */
        RAIL_NAME = 2,
        RAIL_ENERGY_UWS = 3,
};

/* The numbers of rails are valid within one session. */
static uint64_t rail_key(uint64_t session, uint64_t index) {
        return session << 32 | (index & UINT32_MAX);
}

static void rail_describe(TraceImport *import, uint64_t session, const WireField *descriptor) {
        WireField name = { 0 }, field;
        uint64_t numbers[2];
        WireReader reader;

        trace_read_numbers(descriptor, numbers, ARRAY_SIZE(numbers));
        wire_reader_init_field(&reader, descriptor);
        while (wire_read(&reader, &field) > 0)
                if (field.number == RAIL_NAME && field.type == WIRE_BYTES)
                        name = field;
        if (name.n_bytes && import->rails.n < IMPORT_RAILS_MAX &&
            trace_map_set(&import->rails,
                          rail_key(session, numbers[RAIL_INDEX]),
                          import_text(import, &name)))
                import->ran_out = true;
}

static void
rail_value(TraceImport *import, uint64_t at_ns, uint64_t session, const WireField *data) {
        TracePool *pool = &import->store->pool;
        uint64_t numbers[4], name;

        trace_read_numbers(data, numbers, ARRAY_SIZE(numbers));
        name = trace_map_find(&import->rails, rail_key(session, numbers[RAIL_INDEX]));
        if (name == TRACE_MAP_NONE) {
                trace_store_count(import->store, "power_rail_unknown_index", -1, 1);
                return;
        }
        import_machine_value(
                import,
                at_ns,
                &(ImportMachineCounter){
                        .type = "power_rails",
                        .dimension = "power_rail",
                        .name = trace_pool_add_format(
                                pool, "power.%s_uws", trace_pool_text(pool, (uint32_t)name)),
                        .value = (uint32_t)name,
                        .cpu = TRACE_NONE },
                (double)numbers[RAIL_ENERGY_UWS]);
}

void apply_power_rails(TraceImport *import, uint64_t at_ns, const WireField *message) {
        uint64_t numbers[4];
        WireReader reader;
        WireField field;

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        for (uint32_t number = RAILS_DESCRIPTOR; number <= RAILS_DATA; number++) {
                wire_reader_init_field(&reader, message);
                while (wire_read(&reader, &field) > 0) {
                        if (field.number != number || field.type != WIRE_BYTES)
                                continue;
                        if (number == RAILS_DESCRIPTOR)
                                rail_describe(import, numbers[RAILS_SESSION], &field);
                        else
                                rail_value(import, at_ns, numbers[RAILS_SESSION], &field);
                }
        }
}
