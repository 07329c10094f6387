/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Counters of the machine, from SysStats
 */

#include <string.h>

#include "trace/import.h"
#include "trace/trace-names.h"
#include "trace/trace-sys-stats.h"

#define SECTORS_PER_MB     2048.0
#define PAGE_BYTES_DEFAULT 4096 /* if the recording does not say */
#define BUDDY_ORDERS_MAX   32   /* how many sizes of free blocks are read for a zone */

void import_value(TraceImport *import, uint32_t track, uint64_t at_ns, double value) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_COUNTER);
        uint32_t row;

        if (track == TRACE_NONE || (table->n == 0 && !trace_table_make(table, UINT32_MAX)))
                return;
        row = trace_table_add_raw(table);
        if (row == TRACE_NONE)
                return;
        ((int64_t *)table->columns[COUNTER_TS])[row] = (int64_t)at_ns;
        ((uint32_t *)table->columns[COUNTER_TRACK])[row] = track;
        ((double *)table->columns[COUNTER_VALUE])[row] = value;
}

void import_machine_value(TraceImport *import,
                          uint64_t at_ns,
                          const ImportMachineCounter *counter,
                          double value) {
        const TracePlainTrack track = {
                .type = counter->type,
                .name = counter->name,
                .unit = counter->unit ? trace_pool_add_text(&import->store->pool, counter->unit)
                                      : 0,
                .kind = TRACK_KIND_COUNTER,
                .utid = TRACE_NONE,
                .upid = TRACE_NONE,
                .cpu = counter->cpu,
                .dimension = counter->dimension,
                .value = counter->value,
        };

        import_value(import, trace_tracks_plain(&import->tracks, &track), at_ns, value);
}

/* Numbers whose key has a name. */
static void add_keyed(TraceImport *import,
                      uint64_t at_ns,
                      const WireField *field,
                      const char *(*key_name)(uint64_t number),
                      ImportMachineCounter counter,
                      const char *prefix,
                      uint64_t factor) {
        TracePool *pool = &import->store->pool;
        uint64_t numbers[_TRACE_SYS_KEYED];
        const char *name;

        trace_read_numbers(field, numbers, ARRAY_SIZE(numbers));
        name = key_name(numbers[TRACE_SYS_KEY]);
        if (!name)
                return;
        counter.cpu = TRACE_NONE;
        counter.value = trace_pool_add_text(pool, name);
        counter.name = *prefix ? trace_pool_add_format(pool, "%s%s", prefix, name) : counter.value;
        import_machine_value(import, at_ns, &counter, (double)(numbers[TRACE_SYS_VALUE] * factor));
}

static void take_meminfo(TraceImport *import, uint64_t at_ns, const WireField *field) {
        const ImportMachineCounter counter = { "meminfo", "bytes", "meminfo_key" };

        add_keyed(import, at_ns, field, trace_meminfo_name, counter, "", 1024);
}

static void take_vmstat(TraceImport *import, uint64_t at_ns, const WireField *field) {
        const ImportMachineCounter counter = { "vmstat", NULL, "vmstat_key" };

        add_keyed(import, at_ns, field, trace_vmstat_name, counter, "", 1);
}

static void take_pressure(TraceImport *import, uint64_t at_ns, const WireField *field) {
        const ImportMachineCounter counter = { "psi", NULL, "psi_resource" };

        add_keyed(import, at_ns, field, trace_pressure_name, counter, "psi.", 1);
}

/* Free blocks of each size, in one zone of a node. */
static void take_buddy(TraceImport *import, uint64_t at_ns, const WireField *message) {
        uint64_t block_kb = (import->page_bytes ? import->page_bytes : PAGE_BYTES_DEFAULT) / 1024;
        WireField node = { .data = (const uint8_t *)"" }, zone = node, field;
        TracePool *pool = &import->store->pool;
        WireReader reader;
        unsigned order = 0;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                ImportMachineCounter counter = {
                        "buddyinfo", NULL, "buddyinfo_block", .cpu = TRACE_NONE
                };

                if (field.number == 1 && field.type == WIRE_BYTES)
                        node = field;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        zone = field;
                if (field.number != 3 || field.type != WIRE_VARINT || order >= BUDDY_ORDERS_MAX)
                        continue;
                counter.name = trace_pool_add_format(pool,
                                                     "mem.buddyinfo[%.*s][%.*s][%llu kB]",
                                                     (int)MIN(node.n_bytes, (size_t)64),
                                                     (const char *)node.data,
                                                     (int)MIN(zone.n_bytes, (size_t)64),
                                                     (const char *)zone.data,
                                                     (unsigned long long)block_kb << order++);
                counter.value = counter.name;
                import_machine_value(import, at_ns, &counter, (double)(uint32_t)field.value);
        }
}

/* Kernel memory for one kind of object. */
static void take_slab(TraceImport *import, uint64_t at_ns, const WireField *message) {
        ImportMachineCounter counter = { "slabinfo", "bytes", "slab_name", .cpu = TRACE_NONE };
        uint64_t page_bytes = import->page_bytes ? import->page_bytes : PAGE_BYTES_DEFAULT;
        WireField name = { .data = (const uint8_t *)"" }, field;
        WireReader reader;
        uint64_t numbers[4];

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES)
                        name = field;
        counter.value = import_text(import, &name);
        counter.name = trace_pool_add_format(&import->store->pool,
                                             "mem.slab.%.*s",
                                             (int)MIN(name.n_bytes, (size_t)256),
                                             (const char *)name.data);
        import_machine_value(import,
                             at_ns,
                             &counter,
                             (double)(uint32_t)numbers[2] * (double)(uint32_t)numbers[3] *
                                     (double)page_bytes);
}

static void take_cpu_times(TraceImport *import, uint64_t at_ns, const WireField *field) {
        static const char *const keys[] = { "user_ns",    "user_nice_ns", "system_mode_ns",
                                            "idle_ns",    "io_wait_ns",   "irq_ns",
                                            "softirq_ns", "steal_ns" };
        TracePool *pool = &import->store->pool;
        uint64_t numbers[10];

        trace_read_numbers(field, numbers, ARRAY_SIZE(numbers));
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                ImportMachineCounter counter = { "cpustat", NULL, "cpustat_key" };

                counter.name = trace_pool_add_format(pool, "cpu.times.%s", keys[i]);
                counter.value = trace_pool_add_text(pool, keys[i]);
                counter.cpu = (uint32_t)numbers[1];
                import_machine_value(import, at_ns, &counter, (double)numbers[i + 2]);
        }
}

static void
take_interrupts(TraceImport *import, uint64_t at_ns, const WireField *field, const char *type) {
        ImportMachineCounter counter = { .type = type, .dimension = "irq", .cpu = TRACE_NONE };
        uint64_t numbers[3];

        trace_read_numbers(field, numbers, ARRAY_SIZE(numbers));
        counter.name = trace_pool_add_format(
                &import->store->pool, "%s (id: %u)", type, (unsigned)numbers[1]);
        counter.value = trace_pool_add_format(&import->store->pool, "%u", (unsigned)numbers[1]);
        import_machine_value(import, at_ns, &counter, (double)numbers[2]);
}

static void take_irq(TraceImport *import, uint64_t at_ns, const WireField *field) {
        take_interrupts(import, at_ns, field, "num_irq");
}

static void take_softirq(TraceImport *import, uint64_t at_ns, const WireField *field) {
        take_interrupts(import, at_ns, field, "num_softirq");
}

static void take_cpu_frequency(TraceImport *import, uint64_t at_ns, unsigned cpu, uint64_t khz) {
        ImportMachineCounter counter = { .type = "cpu_frequency", .cpu = cpu };

        counter.name = trace_pool_add_text(&import->store->pool, "cpufreq");
        import_machine_value(import, at_ns, &counter, (double)khz);
}

/*
 * Disks: the file has sums since the start, and each value of a counter is the difference from the sum before
 */

enum {
        DISK_READ = 2,
        DISK_READ_MS,
        DISK_WRITE,
        DISK_WRITE_MS,
        DISK_DISCARD,
        DISK_DISCARD_MS,
        DISK_FLUSH,
        DISK_FLUSH_MS,
        DISK_FIELDS
};

static void disk_value(TraceImport *import,
                       uint64_t at_ns,
                       const WireField *device,
                       const char *name,
                       const char *unit,
                       double value) {
        TracePool *pool = &import->store->pool;
        ImportMachineCounter counter = {
                .type = "diskstat", .unit = unit, .dimension = "counter_name", .cpu = TRACE_NONE
        };

        counter.value = trace_pool_add_text(pool, name);
        counter.name = trace_pool_add_format(pool,
                                             "diskstat.[%.*s].%s",
                                             (int)MIN(device->n_bytes, (size_t)256),
                                             (const char *)device->data,
                                             name);
        import_machine_value(import, at_ns, &counter, value);
}

static void disk_amount(TraceImport *import,
                        uint64_t at_ns,
                        const WireField *device,
                        const char *const names[2],
                        uint64_t sectors,
                        uint64_t ms) {
        double amount = (double)(int64_t)sectors / SECTORS_PER_MB;

        disk_value(import, at_ns, device, names[0], "MB", amount);
        disk_value(import,
                   at_ns,
                   device,
                   names[1],
                   "MB/s",
                   ms ? amount * 1000 / (double)(int64_t)ms : 0);
}

static void disk_difference(TraceImport *import,
                            uint64_t at_ns,
                            const WireField *device,
                            const uint64_t *before,
                            const uint64_t *now) {
        static const char *const names[][2] = { { "read_amount", "read_throughput" },
                                                { "write_amount", "write_throughput" },
                                                { "discard_amount", "discard_throughput" } };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                size_t at = DISK_READ + 2 * i;

                disk_amount(import,
                            at_ns,
                            device,
                            names[i],
                            now[at] - before[at],
                            now[at + 1] - before[at + 1]);
        }
        disk_value(import,
                   at_ns,
                   device,
                   "flush_amount",
                   "count",
                   (double)(int64_t)(now[DISK_FLUSH] - before[DISK_FLUSH]));
        disk_value(import,
                   at_ns,
                   device,
                   "flush_time",
                   "ms",
                   (double)(int64_t)(now[DISK_FLUSH_MS] - before[DISK_FLUSH_MS]));
}

static void take_disk(TraceImport *import, uint64_t at_ns, const WireField *message) {
        uint64_t numbers[DISK_FIELDS], before[DISK_FIELDS], place;
        WireField device = { .data = (const uint8_t *)"" }, field;
        uint32_t name;
        WireReader reader;
        size_t n;

        trace_read_numbers(message, numbers, DISK_FIELDS);
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES)
                        device = field;
        name = import_text(import, &device);
        place = trace_map_find(&import->disks, name);
        if (place != TRACE_MAP_NONE) {
                memcpy(before, trace_arena_at(&import->arena, place, &n), sizeof(before));
                disk_difference(import, at_ns, &device, before, numbers);
        }
        if (trace_arena_add(&import->arena, numbers, sizeof(numbers), &place) == 0)
                trace_map_set(&import->disks, name, place);
}

static void take_total(TraceImport *import, uint64_t at_ns, const WireField *field) {
        static const char *const names[] = { [TRACE_SYS_FORKS] = "num_forks",
                                             [TRACE_SYS_INTERRUPTS_SUM] = "num_irq_total",
                                             [TRACE_SYS_SOFTIRQS_SUM] = "num_softirq_total" };
        ImportMachineCounter counter = { .type = names[field->number], .cpu = TRACE_NONE };

        counter.name = trace_pool_add_text(&import->store->pool, counter.type);
        import_machine_value(import, at_ns, &counter, (double)field->value);
}

static void
take_varint(TraceImport *import, uint64_t at_ns, const WireField *field, unsigned *n_frequencies) {
        switch (field->number) {
        case TRACE_SYS_FORKS:
        case TRACE_SYS_INTERRUPTS_SUM:
        case TRACE_SYS_SOFTIRQS_SUM:
                take_total(import, at_ns, field);
                break;
        case TRACE_SYS_CPU_FREQUENCY:
                take_cpu_frequency(import, at_ns, (*n_frequencies)++, field->value);
                break;
        }
}

void apply_sys_stats(TraceImport *import, uint64_t at_ns, const WireField *stats) {
        static void (*const take[])(TraceImport *, uint64_t, const WireField *) = {
                [TRACE_SYS_MEMINFO] = take_meminfo,     [TRACE_SYS_VMSTAT] = take_vmstat,
                [TRACE_SYS_CPU_TIMES] = take_cpu_times, [TRACE_SYS_INTERRUPTS] = take_irq,
                [TRACE_SYS_SOFTIRQS] = take_softirq,    [TRACE_SYS_BUDDYINFO] = take_buddy,
                [TRACE_SYS_DISKS] = take_disk,          [TRACE_SYS_PRESSURE] = take_pressure,
                [TRACE_SYS_SLABINFO] = take_slab,
        };
        unsigned n_frequencies = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, stats);
        while (wire_read(&reader, &field) > 0) {
                if (field.type == WIRE_VARINT)
                        take_varint(import, at_ns, &field, &n_frequencies);
                else if (field.type == WIRE_BYTES && field.number < ARRAY_SIZE(take) &&
                         take[field.number])
                        take[field.number](import, at_ns, &field);
        }
}
