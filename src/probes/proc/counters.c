/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/counters.h"
#include "sys_stats_counters.pb-c.h"

enum {
        COUNTER_KEY = 1,
        COUNTER_VALUE = 2,
};

static const uint32_t counter_fields[_COUNTER_FILE_N] = {
        [COUNTER_MEMINFO] = 1,
        [COUNTER_VMSTAT] = 2,
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

static int add_name(Counters *counters, const char *key, uint32_t number) {
        CounterName *name = &counters->names[counters->n_names];

        name->key = strdup(key);
        if (!name->key)
                return -ENOMEM;
        name->number = number;
        counters->n_names++;
        return 0;
}

static int add_meminfo(Counters *counters, const uint32_t *wanted, size_t n_wanted) {
        int r = 0;

        counters->names = calloc(ARRAY_SIZE(meminfo_keys), sizeof(*counters->names));
        if (!counters->names)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(meminfo_keys); i++)
                if (is_wanted(meminfo_keys[i].number, wanted, n_wanted))
                        r = add_name(counters, meminfo_keys[i].key, meminfo_keys[i].number);
        return r;
}

/* VMSTAT_NR_FREE_PAGES is the line "nr_free_pages". */
static int add_vmstat(Counters *counters, const uint32_t *wanted, size_t n_wanted) {
        const ProtobufCEnumDescriptor *descriptor = &perfetto__protos__vmstat_counters__descriptor;
        int r = 0;

        counters->names = calloc(descriptor->n_values, sizeof(*counters->names));
        if (!counters->names)
                return -ENOMEM;
        for (unsigned i = 0; r == 0 && i < descriptor->n_values; i++) {
                const ProtobufCEnumValue *value = &descriptor->values[i];

                if (value->value == 0 || !is_wanted((uint32_t)value->value, wanted, n_wanted))
                        continue;
                r = add_name(counters, value->name + strlen("VMSTAT_"), (uint32_t)value->value);
                for (char *c = counters->names[counters->n_names - 1].key; r == 0 && *c; c++)
                        *c = (char)tolower(*c);
        }
        return r;
}

int counters_init(Counters *counters, CounterFile file, const uint32_t *wanted, size_t n_wanted) {
        *counters = (Counters){ .file = file };
        return file == COUNTER_MEMINFO ? add_meminfo(counters, wanted, n_wanted)
                                       : add_vmstat(counters, wanted, n_wanted);
}

void counters_deinit(Counters *counters) {
        for (size_t i = 0; i < counters->n_names; i++)
                free(counters->names[i].key);
        free(counters->names);
        *counters = (Counters){};
}

static bool is_key(const CounterName *name, const char *key, size_t n_key) {
        return name && strncmp(name->key, key, n_key) == 0 && name->key[n_key] == '\0';
}

static const CounterName *
counters_find(Counters *counters, size_t line, const char *key, size_t n_key) {
        if (line >= COUNTER_LINES_MAX)
                return NULL;
        if (is_key(counters->lines[line], key, n_key))
                return counters->lines[line];
        for (size_t i = 0; i < counters->n_names; i++)
                if (is_key(&counters->names[i], key, n_key))
                        return counters->lines[line] = &counters->names[i];
        return NULL;
}

static void put_value(WireWriter *wire, uint32_t field, uint32_t number, uint64_t value) {
        size_t begin = wire_begin(wire, field);

        wire_put_uint(wire, COUNTER_KEY, number);
        wire_put_uint(wire, COUNTER_VALUE, value);
        wire_end(wire, begin);
}

void counters_encode(Counters *counters, const char *text, WireWriter *wire) {
        for (size_t line = 0; *text; line++) {
                size_t n_key = strcspn(text, ": \n");
                const CounterName *name = counters_find(counters, line, text, n_key);

                if (name) {
                        const char *value = text + n_key + strspn(text + n_key, ": ");

                        put_value(wire,
                                  counter_fields[counters->file],
                                  name->number,
                                  strtoull(value, NULL, 10));
                }
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
}
