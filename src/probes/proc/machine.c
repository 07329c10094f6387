/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/machine.h"
#include "shared/macro.h"

enum {
        SYS_CPUFREQ = 11,
        SYS_DISK_STAT = 13,
        SYS_PSI = 14,
        SYS_THERMAL_ZONE = 15,
        PSI_RESOURCE = 1,
        PSI_TOTAL_NS = 2,
        DISK_NAME = 1,
        ZONE_NAME = 1,
        ZONE_TEMPERATURE = 2,
        ZONE_TYPE = 3,
};

static void put_psi(const char *text, const char *line, PsiResource resource, WireWriter *wire) {
        const char *at = strstr(text, line);
        const char *total = at ? strstr(at, "total=") : NULL;
        size_t begin;

        if (!total)
                return;
        begin = wire_begin(wire, SYS_PSI);
        wire_put_uint(wire, PSI_RESOURCE, resource);
        wire_put_uint(wire, PSI_TOTAL_NS, strtoull(total + strlen("total="), NULL, 10) * 1000);
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
        for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
                uint64_t values[DISK_N_COLUMNS] = {};
                char name[64];
                int n_read;

                if (sscanf(text, "%*u %*u %63s%n", name, &n_read) != 1)
                        continue;
                for (size_t i = 0; i < DISK_N_COLUMNS; i++) {
                        int n;

                        if (sscanf(text + n_read, "%*[ ]%" SCNu64 "%n", &values[i], &n) != 1)
                                break;
                        n_read += n;
                }
                if (values[0] > 0 || values[4] > 0) /* reads or writes: not a loop device at rest */
                        encode_disk(name, values, wire);
        }
}

void cpufreq_encode(const char *text, WireWriter *wire) {
        wire_put_uint(wire, SYS_CPUFREQ, strtoull(text, NULL, 10));
}

void thermal_encode(const char *text, const char *name, const char *type, WireWriter *wire) {
        long millidegrees = strtol(text, NULL, 10);
        size_t begin = wire_begin(wire, SYS_THERMAL_ZONE);

        wire_put_string(wire, ZONE_NAME, name);
        /* The field is unsigned whole degrees: below zero is shown as zero. */
        wire_put_uint(wire,
                      ZONE_TEMPERATURE,
                      millidegrees > 0 ? (uint64_t)(millidegrees + 500) / 1000 : 0);
        wire_put_string(wire, ZONE_TYPE, type);
        wire_end(wire, begin);
}
