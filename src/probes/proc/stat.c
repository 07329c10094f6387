/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encoding /proc/stat. */

#include <inttypes.h>
#include <stdio.h>

#include "probes/proc/line.h"
#include "probes/proc/stat.h"
#include "shared/macro.h"

enum {
        SYS_CPU_STAT = 3,
        SYS_NUM_FORKS = 4,
        SYS_NUM_IRQ_TOTAL = 5,
        SYS_NUM_IRQ = 6,
        SYS_NUM_SOFTIRQ_TOTAL = 7,
        SYS_NUM_SOFTIRQ = 8,
        CPU_ID = 1,
        CPU_FIRST_TIME =
                2, /* user, nice, system, idle, iowait, irq, softirq, steal: as in the file */
        CPU_N_TIMES = 8,
        IRQ_NUMBER = 1,
        IRQ_COUNT = 2,
};

/* The columns behind those of the packet. */
static const char *const guest_names[] = { "guest", "guest nice" };

/* The number in "cpu3 times…", and what follows it. The first line, "cpu  times…", is the sum of the others. */
static const char *cpu_line(const char *line, uint64_t *ret_cpu) {
        const char *at = line_after(line, "cpu");

        return at && *at != ' ' && line_number(&at, ret_cpu) ? at : NULL;
}

static void
encode_cpu(uint64_t cpu, const char *at, const StatSettings *settings, WireWriter *wire) {
        size_t begin = wire_begin(wire, SYS_CPU_STAT);
        uint64_t ticks;

        wire_put_uint(wire, CPU_ID, cpu);
        for (uint32_t i = 0; i < CPU_N_TIMES && line_number(&at, &ticks); i++)
                wire_put_uint(wire, CPU_FIRST_TIME + i, ticks * settings->ns_per_tick);
        wire_end(wire, begin);
}

/* "intr total count0 count1…", and the same for softirq. */
static void encode_counts(const char *at, uint32_t total_field, uint32_t field, WireWriter *wire) {
        uint64_t count;

        if (!line_number(&at, &count))
                return;
        wire_put_uint(wire, total_field, count);
        for (uint64_t number = 0; line_number(&at, &count); number++) {
                size_t begin;

                if (count == 0)
                        continue;
                begin = wire_begin(wire, field);
                wire_put_uint(wire, IRQ_NUMBER, number);
                wire_put_uint(wire, IRQ_COUNT, count);
                wire_end(wire, begin);
        }
}

static void encode_line(const char *line, const StatSettings *settings, WireWriter *wire) {
        unsigned wanted = settings->wanted;
        const char *at;
        uint64_t number;

        if ((at = cpu_line(line, &number))) {
                if (wanted & STAT_CPU_TIMES)
                        encode_cpu(number, at, settings, wire);
        } else if ((at = line_after(line, "intr "))) {
                if (wanted & STAT_IRQ_COUNTS)
                        encode_counts(at, SYS_NUM_IRQ_TOTAL, SYS_NUM_IRQ, wire);
        } else if ((at = line_after(line, "softirq "))) {
                if (wanted & STAT_SOFTIRQ_COUNTS)
                        encode_counts(at, SYS_NUM_SOFTIRQ_TOTAL, SYS_NUM_SOFTIRQ, wire);
        } else if ((at = line_after(line, "processes "))) {
                if (wanted & STAT_FORK_COUNT && line_number(&at, &number))
                        wire_put_uint(wire, SYS_NUM_FORKS, number);
        }
}

void stat_encode(const char *text, const StatSettings *settings, WireWriter *wire) {
        for (; *text; text = line_next(text))
                encode_line(text, settings, wire);
}

static void
write_guest(uint64_t cpu, size_t which, uint64_t time_ns, TrackWriter *tracks, uint64_t now_ns) {
        uint64_t group = track_group(tracks, 0, "Time in virtual machines");
        char name[64];

        snprintf(name, sizeof(name), "cpu%" PRIu64 " %s", cpu, guest_names[which]);
        track_count(tracks,
                    track_counter(tracks, group, name, TRACK_UNIT_TIME_NS),
                    now_ns,
                    (int64_t)time_ns);
}

void stat_write_tracks(const char *text,
                       const StatSettings *settings,
                       TrackWriter *tracks,
                       uint64_t now_ns) {
        if (!(settings->wanted & STAT_CPU_TIMES))
                return;
        for (; line_after(text, "cpu"); text = line_next(text)) {
                uint64_t cpu, ticks;
                const char *at = cpu_line(text, &cpu);

                for (size_t i = 0; at && i < CPU_N_TIMES + ARRAY_SIZE(guest_names); i++) {
                        if (!line_number(&at, &ticks))
                                break;
                        if (i >= CPU_N_TIMES && ticks > 0)
                                write_guest(cpu,
                                            i - CPU_N_TIMES,
                                            ticks * settings->ns_per_tick,
                                            tracks,
                                            now_ns);
                }
        }
}
