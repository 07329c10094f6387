/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* The next number of a line; false at its end. */
static bool next_number(const char **at, uint64_t *ret) {
        char *end;

        while (**at == ' ')
                (*at)++;
        if (!isdigit((unsigned char)**at))
                return false;
        *ret = strtoull(*at, &end, 10);
        *at = end;
        return true;
}

/* "cpu3 times…"; the first line, "cpu  times…", is the sum of the others. */
static void encode_cpu(const char *at, uint64_t ticks_per_second, WireWriter *wire) {
        uint64_t cpu, ticks;
        size_t begin;

        if (!isdigit((unsigned char)*at) || !next_number(&at, &cpu))
                return;
        begin = wire_begin(wire, SYS_CPU_STAT);
        wire_put_uint(wire, CPU_ID, cpu);
        for (uint32_t i = 0; i < CPU_N_TIMES && next_number(&at, &ticks); i++)
                wire_put_uint(wire, CPU_FIRST_TIME + i, ticks * (1000000000u / ticks_per_second));
        wire_end(wire, begin);
}

/* "intr total count0 count1…" and the same of softirq. */
static void encode_counts(const char *at, uint32_t total_field, uint32_t field, WireWriter *wire) {
        uint64_t count;

        if (!next_number(&at, &count))
                return;
        wire_put_uint(wire, total_field, count);
        for (uint64_t number = 0; next_number(&at, &count); number++) {
                size_t begin;

                if (count == 0)
                        continue;
                begin = wire_begin(wire, field);
                wire_put_uint(wire, IRQ_NUMBER, number);
                wire_put_uint(wire, IRQ_COUNT, count);
                wire_end(wire, begin);
        }
}

static const char *after(const char *line, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(line, prefix, n) == 0 ? line + n : NULL;
}

static void
encode_line(const char *line, unsigned wanted, uint64_t ticks_per_second, WireWriter *wire) {
        const char *at;
        uint64_t count;

        if ((at = after(line, "cpu"))) {
                if (wanted & STAT_CPU_TIMES)
                        encode_cpu(at, ticks_per_second, wire);
        } else if ((at = after(line, "intr "))) {
                if (wanted & STAT_IRQ_COUNTS)
                        encode_counts(at, SYS_NUM_IRQ_TOTAL, SYS_NUM_IRQ, wire);
        } else if ((at = after(line, "softirq "))) {
                if (wanted & STAT_SOFTIRQ_COUNTS)
                        encode_counts(at, SYS_NUM_SOFTIRQ_TOTAL, SYS_NUM_SOFTIRQ, wire);
        } else if ((at = after(line, "processes "))) {
                if (wanted & STAT_FORK_COUNT && next_number(&at, &count))
                        wire_put_uint(wire, SYS_NUM_FORKS, count);
        }
}

void stat_encode(const char *text, unsigned wanted, uint64_t ticks_per_second, WireWriter *wire) {
        while (*text) {
                encode_line(text, wanted, ticks_per_second, wire);
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
}
