/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Files of /proc and /sys: a byte for the place, two for the length, then what is in it. Whatever the machine says of
 * its processors, batteries and energy counters, the results are messages that readers understand.
 */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "probes/system/cpu-info.h"
#include "probes/system/cpu-topology.h"
#include "probes/system/power-supply.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

#define CPU    "sys/devices/system/cpu/"
#define SUPPLY "sys/class/power_supply/BAT0"
#define CAP    "sys/class/powercap"

static const char *const places[] = {
        "proc/cpuinfo",
        CPU "present",
        CPU "cpu0/cpufreq/scaling_available_frequencies",
        CPU "cpu0/cpufreq/cpuinfo_max_freq",
        CPU "cpu0/cpu_capacity",
        CPU "cpu0/topology/thread_siblings_list",
        CPU "cpu0/topology/core_id",
        CPU "cpu0/cache/index0/level",
        CPU "cpu0/cache/index0/shared_cpu_list",
        "sys/devices/cpu_core/cpus",
        "sys/kernel/irq/7/actions",
        SUPPLY "/type",
        SUPPLY "/status",
        SUPPLY "/capacity",
        SUPPLY "/energy_now",
        SUPPLY "/charge_now",
        SUPPLY "/current_now",
        SUPPLY "/power_now",
        SUPPLY "/voltage_now",
        CAP "/intel-rapl:0/name",
        CAP "/intel-rapl:0/energy_uj",
        CAP "/intel-rapl:0/max_energy_range_uj",
};

static uint8_t memory[4 << 20];

static void make_parents(int root, const char *path) {
        char parent[256];

        for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
                snprintf(parent, sizeof(parent), "%.*s", (int)(at - path), path);
                (void)mkdirat(root, parent, 0755);
        }
}

static void put_file(int root, const char *path, const uint8_t *data, size_t n) {
        int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        FUZZ_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
        close(fd);
}

static char root_path[] = "/tmp/desktrace-fuzz-XXXXXX";

static void remove_root(void) {
        char command[64];

        snprintf(command, sizeof(command), "rm -r %s", root_path);
        FUZZ_CHECK(system(command) == 0);
}

/* One for all inputs, as making it takes longer than reading it. */
static int fresh_root(void) {
        static int root = -1;

        if (root < 0) {
                FUZZ_CHECK(mkdtemp(root_path));
                root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                FUZZ_CHECK(root >= 0 && atexit(remove_root) == 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                make_parents(root, places[i]);
                (void)unlinkat(root, places[i], 0);
        }
        return root;
}

static void check_message(const WireWriter *wire) {
        WireReader reader;
        WireField field;
        int r;

        FUZZ_CHECK(!wire_writer_failed(wire));
        wire_reader_init(&reader, memory, wire_writer_size(wire));
        while ((r = wire_read(&reader, &field)) > 0)
                ;
        FUZZ_CHECK(r == 0);
}

static void check_processors(int root) {
        CpuTopology topology;
        WireWriter wire;

        wire_writer_init(&wire, memory, sizeof(memory));
        FUZZ_CHECK(cpu_info_encode(root, &wire) >= 1);
        check_message(&wire);
        wire_writer_init(&wire, memory, sizeof(memory));
        FUZZ_CHECK(interrupt_info_encode(root, &wire) <= 1);
        check_message(&wire);
        cpu_topology_read(&topology, root, 0);
        FUZZ_CHECK(topology.n <= CPU_TOPOLOGY_ARGUMENTS);
        for (size_t i = 0; i < topology.n; i++)
                FUZZ_CHECK(!topology.arguments[i].text ||
                           strlen(topology.arguments[i].text) < CPU_TOPOLOGY_TEXT);
}

static void check_power(int root) {
        int supply = openat(root, SUPPLY, O_PATH | O_DIRECTORY | O_CLOEXEC),
            powercap = openat(root, CAP, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int64_t power_uw;
        WireWriter wire;
        Rail rail;

        wire_writer_init(&wire, memory, sizeof(memory));
        (void)supply_kind(supply);
        (void)battery_encode(supply, "BAT0", &wire);
        check_message(&wire);
        if (battery_power_uw(&power_uw, supply))
                FUZZ_CHECK(power_uw >= -POWER_STORE_MAX && power_uw <= POWER_STORE_MAX);
        if (rail_init(&rail, powercap, "intel-rapl:0") == 0) {
                (void)rail_sample(&rail, powercap);
                (void)rail_sample(&rail, powercap);
        }
        close(supply);
        close(powercap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        int root = fresh_root();

        while (input.n_left > 0) {
                const char *path = places[fuzz_take(&input) % ARRAY_SIZE(places)];
                size_t n = fuzz_take_16(&input);
                const uint8_t *content;

                n = fuzz_take_bytes(&input, n, &content);
                put_file(root, path, content, n);
        }
        check_processors(root);
        check_power(root);
        return 0;
}
