/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the files of a control group. */

#include <string.h>

#include "probes/system/cgroup-files.h"
#include "probes/system/keyed-text.h"
#include "shared/macro.h"

/* Time and pressure need no controller. */
const CgroupFileInfo cgroup_files[_CGROUP_FILE_N] = {
        [CGROUP_CPU_STAT] = { "cpu.stat", CGROUP_KIND_CPU, NULL },
        [CGROUP_MEMORY_CURRENT] = { "memory.current", CGROUP_KIND_MEMORY, "memory" },
        [CGROUP_SWAP_CURRENT] = { "memory.swap.current", CGROUP_KIND_MEMORY, "memory" },
        [CGROUP_MEMORY_STAT] = { "memory.stat", CGROUP_KIND_MEMORY, "memory" },
        [CGROUP_MEMORY_EVENTS] = { "memory.events", CGROUP_KIND_EVENTS, "memory" },
        [CGROUP_PIDS_CURRENT] = { "pids.current", CGROUP_KIND_PIDS, "pids" },
        [CGROUP_CPU_PRESSURE] = { "cpu.pressure", CGROUP_KIND_PRESSURE, NULL },
        [CGROUP_MEMORY_PRESSURE] = { "memory.pressure", CGROUP_KIND_PRESSURE, NULL },
        [CGROUP_IO_PRESSURE] = { "io.pressure", CGROUP_KIND_PRESSURE, NULL },
        [CGROUP_IRQ_PRESSURE] = { "irq.pressure", CGROUP_KIND_PRESSURE, NULL },
        [CGROUP_IO_STAT] = { "io.stat", CGROUP_KIND_IO, "io" },
};

#define NS    TRACK_UNIT_TIME_NS
#define COUNT TRACK_UNIT_COUNT
#define BYTES TRACK_UNIT_BYTES

const CgroupCounter cgroup_counters[CGROUP_N_COUNTERS] = {
        { CGROUP_CPU_STAT, "usage_usec", "CPU time", NS, 1000, true },
        { CGROUP_CPU_STAT, "user_usec", "CPU time: user", NS, 1000, true },
        { CGROUP_CPU_STAT, "system_usec", "CPU time: system", NS, 1000, true },
        { CGROUP_CPU_STAT, "nr_throttled", "CPU throttled: periods", COUNT, 1, true },
        { CGROUP_CPU_STAT, "throttled_usec", "CPU throttled: time", NS, 1000, true },
        { CGROUP_MEMORY_CURRENT, NULL, "memory", BYTES, 1, false },
        { CGROUP_SWAP_CURRENT, NULL, "swap", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "anon", "memory: anonymous", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "file", "memory: files", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "kernel", "memory: kernel", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "shmem", "memory: shared", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "file_dirty", "memory: dirty", BYTES, 1, false },
        { CGROUP_MEMORY_STAT, "pgmajfault", "major page faults", COUNT, 1, true },
        { CGROUP_MEMORY_EVENTS, "high", "memory events: above high", COUNT, 1, true },
        { CGROUP_MEMORY_EVENTS, "max", "memory events: at max", COUNT, 1, true },
        { CGROUP_MEMORY_EVENTS, "oom", "memory events: out of memory", COUNT, 1, true },
        { CGROUP_MEMORY_EVENTS, "oom_kill", "memory events: killed", COUNT, 1, true },
        { CGROUP_PIDS_CURRENT, NULL, "tasks", COUNT, 1, false },
        { CGROUP_CPU_PRESSURE, "some", "CPU pressure: some", NS, 1000, true },
        { CGROUP_CPU_PRESSURE, "full", "CPU pressure: full", NS, 1000, true },
        { CGROUP_MEMORY_PRESSURE, "some", "memory pressure: some", NS, 1000, true },
        { CGROUP_MEMORY_PRESSURE, "full", "memory pressure: full", NS, 1000, true },
        { CGROUP_IO_PRESSURE, "some", "IO pressure: some", NS, 1000, true },
        { CGROUP_IO_PRESSURE, "full", "IO pressure: full", NS, 1000, true },
        { CGROUP_IRQ_PRESSURE, "some", "IRQ pressure: some", NS, 1000, true },
        { CGROUP_IRQ_PRESSURE, "full", "IRQ pressure: full", NS, 1000, true },
};

const CgroupCounter cgroup_io_counters[CGROUP_N_IO_COUNTERS] = {
        { CGROUP_IO_STAT, "rbytes", "IO read", BYTES, 1, true },
        { CGROUP_IO_STAT, "wbytes", "IO written", BYTES, 1, true },
        { CGROUP_IO_STAT, "rios", "IO reads", COUNT, 1, true },
        { CGROUP_IO_STAT, "wios", "IO writes", COUNT, 1, true },
};

_Static_assert(CGROUP_N_COUNTERS <= 32, "CgroupReading.found has a bit for each");

/* The value in the counter's unit. If it does not fit, what was found before stays. */
static bool scale(Span word, uint32_t by, int64_t *ret) {
        uint64_t value;
        int64_t scaled;

        if (!span_uint(word, &value) || __builtin_mul_overflow(value, by, &scaled))
                return false;
        *ret = scaled;
        return true;
}

static void add_value(CgroupReading *reading, size_t i, Span word) {
        if (scale(word, cgroup_counters[i].scale, &reading->values[i]))
                reading->found |= 1u << i;
}

/* The part of a line that is the value: all of it, what follows the key, or the total of its pairs. */
static bool line_value(CgroupFile file, Span *line, Span *ret) {
        Span word, key;

        if (cgroup_files[file].kind != CGROUP_KIND_PRESSURE)
                return span_word(line, ret);
        while (span_word(line, &word))
                if (span_pair(word, &key, ret) && span_is(key, "total"))
                        return true;
        return false;
}

static void add_line(CgroupReading *reading, CgroupFile file, size_t first, Span line) {
        Span rest = line, key, value;

        if (!span_word(&rest, &key))
                return;
        for (size_t i = first; i < CGROUP_N_COUNTERS && cgroup_counters[i].file == file; i++)
                if (!cgroup_counters[i].key)
                        add_value(reading, i, key);
                else if (span_is(key, cgroup_counters[i].key) && line_value(file, &rest, &value))
                        add_value(reading, i, value);
}

/* "259:0". */
static bool parse_device(Span word, CgroupIo *ret) {
        const char *colon = memchr(word.at, ':', (size_t)(word.end - word.at));
        uint64_t major, minor;

        if (!colon || !span_uint((Span){ word.at, colon }, &major) ||
            !span_uint((Span){ colon + 1, word.end }, &minor) || major > UINT32_MAX ||
            minor > UINT32_MAX)
                return false;
        *ret = (CgroupIo){ .major = (uint32_t)major, .minor = (uint32_t)minor };
        return true;
}

static void add_io_pair(CgroupIo *io, Span word) {
        Span key, value;

        if (!span_pair(word, &key, &value))
                return;
        for (size_t i = 0; i < CGROUP_N_IO_COUNTERS; i++)
                if (span_is(key, cgroup_io_counters[i].key) &&
                    scale(value, cgroup_io_counters[i].scale, &io->values[i]))
                        io->found |= 1u << i;
}

/* The place of the next device. The place of a device without any value is free again. Returns NULL if there is no
 * room. */
static CgroupIo *next_io(CgroupReading *reading) {
        if (reading->n_ios > 0 && reading->ios[reading->n_ios - 1].found == 0)
                reading->n_ios--;
        return reading->n_ios < CGROUP_DEVICES_MAX ? &reading->ios[reading->n_ios++] : NULL;
}

/* For a device without IO, some kernels write the number, and then neither a value nor the end of the line, so the
 * next device is on the same line. */
static void add_io_line(CgroupReading *reading, Span line) {
        CgroupIo *io = NULL, device;
        Span word;

        while (span_word(&line, &word))
                if (parse_device(word, &device)) {
                        io = next_io(reading);
                        if (!io)
                                return;
                        *io = device;
                } else if (io) {
                        add_io_pair(io, word);
                }
}

void cgroup_reading_add(CgroupReading *reading, CgroupFile file, const char *text, size_t n_bytes) {
        Span rest = span_of(text, n_bytes), line;
        size_t first = 0;

        reading->files |= 1u << file;
        while (first < CGROUP_N_COUNTERS && cgroup_counters[first].file != file)
                first++;
        while (span_line(&rest, &line))
                if (file == CGROUP_IO_STAT)
                        add_io_line(reading, line);
                else
                        add_line(reading, file, first, line);
}
