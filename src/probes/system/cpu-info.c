/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Names and identifiers come from /proc/cpuinfo, which each architecture writes in its own words, and which leaves out
 * CPUs that are off. The number of CPUs, and what they can do, come from sysfs.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/system/cpu-info.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/macro.h"

enum {
        CPU_INFO_CPUS = 1,
        CPU_PROCESSOR = 1,
        CPU_FREQUENCIES = 2,
        CPU_CAPACITY = 3,
        CPU_ARM_IDENTIFIER = 4,
        CPU_FEATURES = 5,
        ARM_N_FIELDS = 5, /* 1 implementer, 2 architecture, 3 variant, 4 part, 5 revision */
        INTERRUPT_MAPPING = 1,
        INTERRUPT_ID = 1,
        INTERRUPT_NAME = 2,
};

typedef struct Cpu {
        const char *name; /* in the text of /proc/cpuinfo */
        size_t n_name;
        uint32_t arm[ARM_N_FIELDS];
        bool is_arm;
        uint64_t features;
} Cpu;

typedef struct CpuTable {
        Cpu *cpus;
        size_t n_cpus;
} CpuTable;

typedef enum KeyKind {
        KEY_NAME,
        KEY_FEATURES,
        KEY_ARM, /* further fields: KEY_ARM + n */
} KeyKind;

static const struct {
        const char *key;
        unsigned kind;
} cpuinfo_keys[] = {
        { "model name", KEY_NAME }, /* x86, arm */
        { "Model Name", KEY_NAME }, /* loongarch */
        { "cpu model", KEY_NAME },  /* mips */
        { "uarch", KEY_NAME },      /* riscv */
        { "cpu", KEY_NAME },        /* powerpc */
        { "Features", KEY_FEATURES },
        { "CPU implementer", KEY_ARM },
        { "CPU architecture", KEY_ARM + 1 },
        { "CPU variant", KEY_ARM + 2 },
        { "CPU part", KEY_ARM + 3 },
        { "CPU revision", KEY_ARM + 4 },
};

/* By bit. Readers count any other as an error, so the ones that x86 calls flags are left out. */
static const char *const feature_names[] = { "mte", "mte3" };

/* 12 for "cpu12"; -1 for any other name ("cpufreq"). */
static int cpu_number(const char *name) {
        unsigned long number;
        char *end;

        if (strncmp(name, "cpu", 3) != 0 || name[3] < '0' || name[3] > '9')
                return -1;
        number = strtoul(name + 3, &end, 10);
        return *end == '\0' && number < CPU_INFO_CPUS_MAX ? (int)number : -1;
}

static bool count_cpu(const char *name, void *userdata) {
        CpuTable *table = userdata;
        int number = cpu_number(name);

        if (number >= 0)
                table->n_cpus = MAX(table->n_cpus, (size_t)number + 1);
        return true;
}

/* The words of a line, as bits. */
static uint64_t parse_features(const char *text, size_t n) {
        const char *end = text + n;
        uint64_t features = 0;

        while (text < end) {
                size_t n_word = MIN(strcspn(text, " \n"), (size_t)(end - text));

                for (size_t i = 0; i < ARRAY_SIZE(feature_names); i++)
                        if (strlen(feature_names[i]) == n_word &&
                            memcmp(feature_names[i], text, n_word) == 0)
                                features |= UINT64_C(1) << i;
                text += n_word + 1;
        }
        return features;
}

static void cpu_set(Cpu *cpu, unsigned kind, const char *value, size_t n_value) {
        switch (kind) {
        case KEY_NAME:
                cpu->name = value;
                cpu->n_name = MIN(n_value, (size_t)CPU_INFO_NAME_BYTES);
                break;
        case KEY_FEATURES:
                cpu->features = parse_features(value, n_value);
                break;
        default:
                cpu->is_arm = true;
                cpu->arm[kind - KEY_ARM] = (uint32_t)strtoul(value, NULL, 0);
        }
}

static bool key_is(const char *line, size_t n_key, const char *key) {
        while (n_key > 0 && (line[n_key - 1] == ' ' || line[n_key - 1] == '\t'))
                n_key--;
        return strlen(key) == n_key && memcmp(line, key, n_key) == 0;
}

/* One line of cpuinfo; "processor" begins the lines of a CPU. */
static void cpuinfo_line(CpuTable *table, Cpu **cpu, const char *line, size_t n_line) {
        const char *colon = memchr(line, ':', n_line), *value;
        size_t n_value;

        if (!colon)
                return;
        value = colon + 1 + strspn(colon + 1, " \t");
        n_value = value < line + n_line ? (size_t)(line + n_line - value) : 0;
        if (n_value == 0)
                return;
        if (key_is(line, (size_t)(colon - line), "processor")) {
                unsigned long number = strtoul(value, NULL, 10);

                *cpu = number < table->n_cpus ? &table->cpus[number] : NULL;
        }
        for (size_t i = 0; *cpu && i < ARRAY_SIZE(cpuinfo_keys); i++)
                if (key_is(line, (size_t)(colon - line), cpuinfo_keys[i].key))
                        cpu_set(*cpu, cpuinfo_keys[i].kind, value, n_value);
}

static void cpuinfo_parse(CpuTable *table, const char *text) {
        Cpu *cpu = NULL;

        while (*text) {
                size_t n_line = strcspn(text, "\n");

                cpuinfo_line(table, &cpu, text, n_line);
                text += n_line + (text[n_line] == '\n');
        }
}

/* The numbers in a file. Together with those already present there are no more than `n_max`. */
static size_t
read_frequencies(uint64_t *frequencies, size_t n, size_t n_max, int dir, const char *path) {
        char text[SYSFS_TEXT_BYTES], *at = text, *end;

        if (sysfs_read(text, sizeof(text), dir, path) < 0)
                return n;
        while (n < n_max) {
                uint64_t value = strtoull(at, &end, 10);
                bool is_known = false;

                if (end == at)
                        break;
                at = end;
                for (size_t i = 0; i < n; i++)
                        is_known |= frequencies[i] == value;
                if (value > 0 && value <= UINT32_MAX && !is_known)
                        frequencies[n++] = value;
        }
        return n;
}

static void encode_frequencies(int dir, WireWriter *wire) {
        /* Drivers without steps (intel_pstate, amd_pstate) only know the bounds, but even these tell the kinds of
         * cores apart. */
        static const char *const steps[] = { "cpufreq/scaling_available_frequencies",
                                             "cpufreq/scaling_boost_frequencies" };
        static const char *const bounds[] = { "cpufreq/cpuinfo_min_freq",
                                              "cpufreq/base_frequency",
                                              "cpufreq/cpuinfo_max_freq" };
        uint64_t values[CPU_INFO_FREQUENCIES_MAX];
        bool has_steps;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
                n = read_frequencies(values, n, ARRAY_SIZE(values), dir, steps[i]);
        has_steps = n > 0;
        for (size_t i = 0; !has_steps && i < ARRAY_SIZE(bounds); i++)
                n = read_frequencies(values, n, ARRAY_SIZE(values), dir, bounds[i]);
        for (size_t i = 0; i < n; i++)
                wire_put_uint(wire, CPU_FREQUENCIES, values[i]);
}

static void encode_sysfs(int cpus_dir, size_t number, WireWriter *wire) {
        _cleanup_(fd_closep) int dir = -1;
        uint64_t capacity;
        char name[32];

        snprintf(name, sizeof(name), "cpu%zu", number);
        dir = openat(cpus_dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return;
        encode_frequencies(dir, wire);
        if (sysfs_read_uint(&capacity, dir, "cpu_capacity") && capacity <= UINT32_MAX)
                wire_put_uint(wire, CPU_CAPACITY, capacity);
}

static void encode_cpu(const Cpu *cpu, int cpus_dir, size_t number, WireWriter *wire) {
        size_t begin = wire_begin(wire, CPU_INFO_CPUS);

        if (cpu->name)
                wire_put_bytes(wire, CPU_PROCESSOR, cpu->name, cpu->n_name);
        encode_sysfs(cpus_dir, number, wire);
        if (cpu->is_arm) {
                size_t arm = wire_begin(wire, CPU_ARM_IDENTIFIER);

                for (uint32_t i = 0; i < ARM_N_FIELDS; i++)
                        wire_put_uint(wire, i + 1, cpu->arm[i]);
                wire_end(wire, arm);
        }
        if (cpu->features)
                wire_put_uint(wire, CPU_FEATURES, cpu->features);
        wire_end(wire, begin);
}

int cpu_info_encode(int root, WireWriter *wire) {
        _cleanup_(freep) char *cpuinfo = NULL;
        _cleanup_(fd_closep) int dir = -1;
        CpuTable table = {};
        int r;

        dir = openat(root, "sys/devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        r = sysfs_list(dir, ".", count_cpu, &table);
        if (r < 0)
                return r;
        table.cpus = calloc(table.n_cpus ?: 1, sizeof(*table.cpus));
        if (!table.cpus)
                return -ENOMEM;
        /* Without it, CPUs have no names, but they still have their frequencies. */
        if (fd_read_file(&cpuinfo, NULL, root, "proc/cpuinfo", CPU_INFO_CPUINFO_BYTES) == 0)
                cpuinfo_parse(&table, cpuinfo);
        for (size_t i = 0; i < table.n_cpus; i++)
                encode_cpu(&table.cpus[i], dir, i, wire);
        free(table.cpus);
        return (int)table.n_cpus;
}

typedef struct InterruptList {
        int dir;
        WireWriter *wire;
        int n;
} InterruptList;

/* Does not use /proc/interrupts, which has a column for each CPU of the machine and mixes the names with the
 * hardware's. */
static bool encode_interrupt(const char *name, void *userdata) {
        char path[64], actions[CPU_INFO_NAME_BYTES], *end;
        InterruptList *list = userdata;
        unsigned long number = strtoul(name, &end, 10);
        size_t begin;

        if (*end != '\0' || number > UINT32_MAX || strlen(name) > 10)
                return true;
        snprintf(path, sizeof(path), "%s/actions", name);
        if (sysfs_read(actions, sizeof(actions), list->dir, path) < 0 || !actions[0])
                return true;
        begin = wire_begin(list->wire, INTERRUPT_MAPPING);
        wire_put_uint(list->wire, INTERRUPT_ID, number);
        wire_put_string(list->wire, INTERRUPT_NAME, actions);
        wire_end(list->wire, begin);
        return ++list->n < CPU_INFO_INTERRUPTS_MAX;
}

int interrupt_info_encode(int root, WireWriter *wire) {
        _cleanup_(fd_closep) int dir = -1;
        InterruptList list = { .wire = wire };
        int r;

        dir = openat(root, "sys/kernel/irq", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        list.dir = dir;
        r = sysfs_list(dir, ".", encode_interrupt, &list);
        return r < 0 ? r : list.n;
}
