/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CPU stats: the kernel's counters of one CPU's ring, as perfetto.protos.FtraceCpuStats */

#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/cpu-stats.h"
#include "shared/macro.h"

enum {
        STATS_CPU_STATS = 2,
        CPU_STATS_CPU = 1,
};

typedef enum StatUnit {
        STAT_COUNT,
        STAT_SECONDS, /* "1234.567890" in the file, a double in the packet */
} StatUnit;

static const struct {
        const char *key;
        size_t offset;
        uint32_t field;
        StatUnit unit;
} stat_fields[] = {
        { "entries", offsetof(CpuStats, entries), 2, STAT_COUNT },
        { "overrun", offsetof(CpuStats, overrun), 3, STAT_COUNT },
        { "commit overrun", offsetof(CpuStats, commit_overrun), 4, STAT_COUNT },
        { "bytes", offsetof(CpuStats, n_bytes), 5, STAT_COUNT },
        { "oldest event ts", offsetof(CpuStats, oldest_event_us), 6, STAT_SECONDS },
        { "now ts", offsetof(CpuStats, now_us), 7, STAT_SECONDS },
        { "dropped events", offsetof(CpuStats, dropped_events), 8, STAT_COUNT },
        { "read events", offsetof(CpuStats, read_events), 9, STAT_COUNT },
};

static uint64_t *stat_value(const CpuStats *stats, size_t i) {
        return (uint64_t *)((char *)stats + stat_fields[i].offset);
}

static uint64_t parse_value(const char *text, StatUnit unit) {
        char *end;
        uint64_t value = strtoull(text, &end, 10);

        if (unit == STAT_COUNT)
                return value;
        return value * 1000000 + (*end == '.' ? strtoull(end + 1, NULL, 10) : 0);
}

static void parse_line(CpuStats *stats, const char *line) {
        size_t n_key = strcspn(line, ":\n");

        if (line[n_key] != ':')
                return;
        for (size_t i = 0; i < ARRAY_SIZE(stat_fields); i++)
                if (strlen(stat_fields[i].key) == n_key &&
                    memcmp(stat_fields[i].key, line, n_key) == 0)
                        *stat_value(stats, i) = parse_value(line + n_key + 1, stat_fields[i].unit);
}

void cpu_stats_parse(CpuStats *ret, uint32_t cpu, const char *text) {
        *ret = (CpuStats){ .cpu = cpu };
        while (*text) {
                parse_line(ret, text);
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
}

void cpu_stats_encode(const CpuStats *stats, WireWriter *wire) {
        size_t begin = wire_begin(wire, STATS_CPU_STATS);

        wire_put_uint(wire, CPU_STATS_CPU, stats->cpu);
        for (size_t i = 0; i < ARRAY_SIZE(stat_fields); i++) {
                uint64_t value = *stat_value(stats, i);

                if (stat_fields[i].unit == STAT_COUNT)
                        wire_put_uint(wire, stat_fields[i].field, value);
                else
                        wire_put_double(wire, stat_fields[i].field, (double)value / 1e6);
        }
        wire_end(wire, begin);
}
