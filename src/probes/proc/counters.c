/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The counters of /proc/meminfo and /proc/vmstat that a config selects. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/counters.h"
#include "probes/proc/line.h"
#include "sys_stats_counters.pb-c.h"

enum {
        COUNTER_KEY = 1,
        COUNTER_VALUE = 2,
};

static const struct {
        uint32_t field;
        const char *group; /* of tracks */
} counter_files[_COUNTER_FILE_N] = {
        [COUNTER_MEMINFO] = { 1, "meminfo" },
        [COUNTER_VMSTAT] = { 2, "vmstat" },
};

/* Keys of meminfo; those of vmstat are the enum's names in small letters. */
static const struct {
        const char *key;
        uint32_t number;
} meminfo_keys[] = {
        { "MemTotal", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MEM_TOTAL },
        { "MemFree", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MEM_FREE },
        { "MemAvailable", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MEM_AVAILABLE },
        { "Buffers", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_BUFFERS },
        { "Cached", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_CACHED },
        { "SwapCached", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SWAP_CACHED },
        { "Active", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_ACTIVE },
        { "Inactive", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_INACTIVE },
        { "Active(anon)", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_ACTIVE_ANON },
        { "Inactive(anon)", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_INACTIVE_ANON },
        { "Active(file)", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_ACTIVE_FILE },
        { "Inactive(file)", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_INACTIVE_FILE },
        { "Unevictable", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_UNEVICTABLE },
        { "Mlocked", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MLOCKED },
        { "SwapTotal", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SWAP_TOTAL },
        { "SwapFree", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SWAP_FREE },
        { "Dirty", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_DIRTY },
        { "Writeback", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_WRITEBACK },
        { "AnonPages", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_ANON_PAGES },
        { "Mapped", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MAPPED },
        { "Shmem", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SHMEM },
        { "Slab", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SLAB },
        { "SReclaimable", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SLAB_RECLAIMABLE },
        { "SUnreclaim", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_SLAB_UNRECLAIMABLE },
        { "KernelStack", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_KERNEL_STACK },
        { "PageTables", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_PAGE_TABLES },
        { "CommitLimit", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_COMMIT_LIMIT },
        { "Committed_AS", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_COMMITED_AS },
        { "VmallocTotal", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_VMALLOC_TOTAL },
        { "VmallocUsed", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_VMALLOC_USED },
        { "VmallocChunk", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_VMALLOC_CHUNK },
        { "CmaTotal", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_CMA_TOTAL },
        { "CmaFree", PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_CMA_FREE },
};

static bool is_wanted(uint32_t number, const uint32_t *wanted, size_t n_wanted) {
        for (size_t i = 0; i < n_wanted; i++)
                if (wanted[i] == number)
                        return true;
        return n_wanted == 0;
}

static int add_name(Counters *counters, const char *key, size_t n_key, uint32_t number) {
        CounterName *name = &counters->names[counters->n_names];

        name->key = strndup(key, n_key);
        if (!name->key)
                return -ENOMEM;
        name->number = number;
        counters->n_names++;
        return 0;
}

static int allocate_names(Counters *counters, size_t n_known) {
        counters->names = calloc(n_known + COUNTER_UNKNOWN_MAX, sizeof(*counters->names));
        return counters->names ? 0 : -ENOMEM;
}

static int add_meminfo(Counters *counters, const uint32_t *wanted, size_t n_wanted) {
        int r = allocate_names(counters, ARRAY_SIZE(meminfo_keys));

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(meminfo_keys); i++)
                if (is_wanted(meminfo_keys[i].number, wanted, n_wanted))
                        r = add_name(counters,
                                     meminfo_keys[i].key,
                                     strlen(meminfo_keys[i].key),
                                     meminfo_keys[i].number);
        return r;
}

/* VMSTAT_NR_FREE_PAGES is the line "nr_free_pages". */
static int add_vmstat(Counters *counters, const uint32_t *wanted, size_t n_wanted) {
        const ProtobufCEnumDescriptor *descriptor = &perfetto__protos__vmstat_counters__descriptor;
        int r = allocate_names(counters, descriptor->n_values);

        for (unsigned i = 0; r == 0 && i < descriptor->n_values; i++) {
                const ProtobufCEnumValue *value = &descriptor->values[i];
                const char *key = value->name + strlen("VMSTAT_");

                if (value->value == 0 || !is_wanted((uint32_t)value->value, wanted, n_wanted))
                        continue;
                r = add_name(counters, key, strlen(key), (uint32_t)value->value);
                if (r < 0)
                        break;
                for (char *c = counters->names[counters->n_names - 1].key; *c; c++)
                        *c = (char)tolower(*c);
        }
        return r;
}

int counters_init(Counters *counters, CounterFile file, const uint32_t *wanted, size_t n_wanted) {
        int r;

        *counters = (Counters){ .file = file, .keeps_unknown = n_wanted == 0 };
        r = file == COUNTER_MEMINFO ? add_meminfo(counters, wanted, n_wanted)
                                    : add_vmstat(counters, wanted, n_wanted);
        counters->n_known = counters->n_names;
        return r;
}

void counters_deinit(Counters *counters) {
        for (size_t i = 0; i < counters->n_names; i++)
                free(counters->names[i].key);
        free(counters->names);
        *counters = (Counters){};
}

static bool is_key(const CounterName *name, const char *key, size_t n_key) {
        return strncmp(name->key, key, n_key) == 0 && name->key[n_key] == '\0';
}

static bool is_printable(const char *key, size_t n_key) {
        for (size_t i = 0; i < n_key; i++)
                if (key[i] <= ' ' || key[i] > '~')
                        return false;
        return n_key > 0 && n_key <= COUNTER_KEY_MAX;
}

/* Whether to keep a key that was not there before. */
static bool add_unknown(Counters *counters, const char *key, size_t n_key) {
        return counters->keeps_unknown && is_printable(key, n_key) &&
               counters->n_names < counters->n_known + COUNTER_UNKNOWN_MAX &&
               add_name(counters, key, n_key, 0) == 0;
}

static const CounterName *
counters_find(Counters *counters, size_t line, const char *key, size_t n_key) {
        size_t i = counters->lines[line];

        if (i > 0 && is_key(&counters->names[i - 1], key, n_key))
                return &counters->names[i - 1];
        for (i = 0; i < counters->n_names; i++)
                if (is_key(&counters->names[i], key, n_key))
                        break;
        if (i == counters->n_names && !add_unknown(counters, key, n_key))
                return NULL;
        counters->lines[line] = (uint16_t)(i + 1);
        return &counters->names[i];
}

static void put_value(WireWriter *wire, uint32_t field, uint32_t number, uint64_t value) {
        size_t begin = wire_begin(wire, field);

        wire_put_uint(wire, COUNTER_KEY, number);
        wire_put_uint(wire, COUNTER_VALUE, value);
        wire_end(wire, begin);
}

/* "kB" behind a value, which only meminfo has. A value without it is a number of pages. */
static void write_track(CounterFile file,
                        const CounterName *name,
                        uint64_t value,
                        bool is_kb,
                        TrackWriter *tracks,
                        uint64_t now_ns) {
        uint64_t group = track_group(tracks, 0, counter_files[file].group);
        uint64_t track = track_counter(
                tracks, group, name->key, is_kb ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT);

        track_count(tracks, track, now_ns, (int64_t)(is_kb ? value * 1024 : value));
}

void counters_encode(Counters *counters,
                     const char *text,
                     WireWriter *wire,
                     TrackWriter *tracks,
                     uint64_t now_ns) {
        for (size_t line = 0; *text && line < COUNTER_LINES_MAX; line++, text = line_next(text)) {
                size_t n_key = strcspn(text, ": \n");
                const char *at = text + n_key + (text[n_key] == ':');
                const CounterName *name;
                uint64_t value;

                if (!line_number(&at, &value))
                        continue;
                name = counters_find(counters, line, text, n_key);
                if (name && name->number)
                        put_value(wire, counter_files[counters->file].field, name->number, value);
                else if (name)
                        write_track(counters->file,
                                    name,
                                    value,
                                    line_after(at, " kB") != NULL,
                                    tracks,
                                    now_ns);
        }
}
