/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encodes what the whole machine reports: pressure, disks, free pages, slabs. */

#include <string.h>

#include "probes/proc/line.h"
#include "probes/proc/machine.h"
#include "shared/macro.h"

enum {
        SYS_DEVFREQ = 10,
        SYS_CPUFREQ = 11,
        SYS_BUDDY_INFO = 12,
        SYS_DISK_STAT = 13,
        SYS_PSI = 14,
        SYS_THERMAL_ZONE = 15,
        SYS_CPUIDLE_STATE = 16,
        SYS_SLAB_INFO = 18,
        DEVFREQ_KEY = 1,
        DEVFREQ_VALUE = 2,
        BUDDY_NODE = 1,
        BUDDY_ZONE = 2,
        BUDDY_ORDER_PAGES = 3,
        DISK_NAME = 1,
        PSI_RESOURCE = 1,
        PSI_TOTAL_NS = 2,
        ZONE_NAME = 1,
        ZONE_TEMPERATURE = 2,
        ZONE_TYPE = 3,
        CPUIDLE_CPU = 1,
        CPUIDLE_ENTRY = 2,
        CPUIDLE_ENTRY_STATE = 1,
        CPUIDLE_ENTRY_DURATION_US = 2,
        SLAB_NAME = 1,
        SLAB_PAGES_PER_SLAB = 2,
        SLAB_NUM_SLABS = 3,
};

bool psi_total(const char *text, const char *line, uint64_t *ret_ns) {
        for (; *text; text = line_next(text)) {
                const char *end = text + strcspn(text, "\n"), *total;

                if (!line_after(text, line))
                        continue;
                total = memmem(text, (size_t)(end - text), "total=", strlen("total="));
                if (!total)
                        return false;
                total += strlen("total=");
                if (!line_number(&total, ret_ns))
                        return false;
                *ret_ns *= 1000;
                return true;
        }
        return false;
}

static void put_psi(const char *text, const char *line, PsiResource resource, WireWriter *wire) {
        uint64_t total_ns;
        size_t begin;

        if (!psi_total(text, line, &total_ns))
                return;
        begin = wire_begin(wire, SYS_PSI);
        wire_put_uint(wire, PSI_RESOURCE, resource);
        wire_put_uint(wire, PSI_TOTAL_NS, total_ns);
        wire_end(wire, begin);
}

void psi_encode(const char *text, PsiResource some, PsiResource full, WireWriter *wire) {
        put_psi(text, "some ", some, wire);
        put_psi(text, "full ", full, wire);
}

/* Columns of diskstats behind the name (Documentation/admin-guide/iostats.rst), by DiskStat field. */
static const struct {
        uint32_t column, field;
} disk_columns[] = {
        { 2, 2 },  /* sectors read */
        { 3, 3 },  /* ms reading */
        { 6, 4 },  /* sectors written */
        { 7, 5 },  /* ms writing */
        { 13, 6 }, /* sectors discarded */
        { 14, 7 }, /* ms discarding */
        { 15, 8 }, /* flushes */
        { 16, 9 }, /* ms flushing */
};

#define DISK_N_COLUMNS 17

static void
encode_disk(const char *name, const uint64_t values[static DISK_N_COLUMNS], WireWriter *wire) {
        size_t begin = wire_begin(wire, SYS_DISK_STAT);

        wire_put_string(wire, DISK_NAME, name);
        for (size_t i = 0; i < ARRAY_SIZE(disk_columns); i++)
                wire_put_uint(wire, disk_columns[i].field, values[disk_columns[i].column]);
        wire_end(wire, begin);
}

void diskstats_encode(const char *text, WireWriter *wire) {
        for (; *text; text = line_next(text)) {
                uint64_t values[DISK_N_COLUMNS] = {}, device;
                char name[LINE_WORD_BYTES];
                const char *at = text;

                if (!line_number(&at, &device) || !line_number(&at, &device) ||
                    !line_word(&at, name, sizeof(name)))
                        continue;
                /* Kernels before 5.5 have fewer columns. */
                for (size_t i = 0; i < DISK_N_COLUMNS && line_number(&at, &values[i]); i++)
                        ;
                if (values[0] > 0 ||
                    values[4] > 0) /* it has read or written, so it is no idle loop device */
                        encode_disk(name, values, wire);
        }
}

/* "Node 0, zone   Normal      1      0 …" */
static void encode_buddies(const char *at, WireWriter *wire) {
        char node[LINE_WORD_BYTES], zone[LINE_WORD_BYTES], word[LINE_WORD_BYTES];
        uint64_t n_blocks;
        size_t begin;

        if (!line_word(&at, word, sizeof(word)) || !line_word(&at, node, sizeof(node)) ||
            !line_word(&at, word, sizeof(word)) || !line_word(&at, zone, sizeof(zone)))
                return;
        node[strcspn(node, ",")] = '\0';
        begin = wire_begin(wire, SYS_BUDDY_INFO);
        wire_put_string(wire, BUDDY_NODE, node);
        wire_put_string(wire, BUDDY_ZONE, zone);
        for (size_t i = 0; i < BUDDY_ORDERS_MAX && line_number(&at, &n_blocks); i++)
                wire_put_uint(wire, BUDDY_ORDER_PAGES, MIN(n_blocks, (uint64_t)UINT32_MAX));
        wire_end(wire, begin);
}

void buddyinfo_encode(const char *text, WireWriter *wire) {
        for (; *text; text = line_next(text))
                if (line_after(text, "Node "))
                        encode_buddies(text, wire);
}

/* "name active objects object_size per_slab pages_per_slab : … : slabdata active_slabs slabs shared" */
static void encode_slab(const char *at, WireWriter *wire) {
        uint64_t values[5], active, n_slabs;
        char name[LINE_WORD_BYTES];
        const char *end = at + strcspn(at, "\n"), *data;
        size_t begin;

        if (!line_word(&at, name, sizeof(name)))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                if (!line_number(&at, &values[i]))
                        return;
        data = memmem(at, (size_t)(end - at), ": slabdata ", strlen(": slabdata "));
        data = data ? data + strlen(": slabdata ") : "";
        if (!line_number(&data, &active) || !line_number(&data, &n_slabs))
                return;
        begin = wire_begin(wire, SYS_SLAB_INFO);
        wire_put_string(wire, SLAB_NAME, name);
        wire_put_uint(wire, SLAB_PAGES_PER_SLAB, MIN(values[4], (uint64_t)UINT32_MAX));
        wire_put_uint(wire, SLAB_NUM_SLABS, MIN(n_slabs, (uint64_t)UINT32_MAX));
        wire_end(wire, begin);
}

void slabinfo_encode(const char *text, WireWriter *wire) {
        for (; *text; text = line_next(text))
                if (*text != '#')
                        encode_slab(text, wire);
}

void cpufreq_encode(uint64_t khz, WireWriter *wire) {
        wire_put_uint(wire, SYS_CPUFREQ, MIN(khz, (uint64_t)UINT32_MAX));
}

void devfreq_encode(const char *device, uint64_t frequency, WireWriter *wire) {
        size_t begin = wire_begin(wire, SYS_DEVFREQ);

        wire_put_string(wire, DEVFREQ_KEY, device);
        wire_put_uint(wire, DEVFREQ_VALUE, frequency);
        wire_end(wire, begin);
}

void thermal_encode(int64_t millidegrees, const char *name, const char *type, WireWriter *wire) {
        size_t begin = wire_begin(wire, SYS_THERMAL_ZONE);

        wire_put_string(wire, ZONE_NAME, name);
        wire_put_uint(wire,
                      ZONE_TEMPERATURE,
                      millidegrees > 0 ? ((uint64_t)millidegrees + 500) / 1000 : 0);
        wire_put_string(wire, ZONE_TYPE, type);
        wire_end(wire, begin);
}

void cpuidle_encode(uint32_t cpu, const char *state, uint64_t time_us, WireWriter *wire) {
        size_t begin = wire_begin(wire, SYS_CPUIDLE_STATE), entry;

        wire_put_uint(wire, CPUIDLE_CPU, cpu);
        entry = wire_begin(wire, CPUIDLE_ENTRY);
        wire_put_string(wire, CPUIDLE_ENTRY_STATE, state);
        wire_put_uint(wire, CPUIDLE_ENTRY_DURATION_US, time_us);
        wire_end(wire, entry);
        wire_end(wire, begin);
}
