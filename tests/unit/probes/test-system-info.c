/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <unistd.h>

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "probes/system/cpu-info.h"
#include "probes/system/cpu-topology.h"
#include "probes/system/system-info-probe.h"
#include "tree.h"

#define CPU "sys/devices/system/cpu/"

static uint8_t memory[1 << 20];

/* What `encoder` says of a tree; how many it counted. */
static int encode(const Tree *tree, int (*encoder)(int, WireWriter *), WireReader *ret) {
        WireWriter wire;
        int n;

        wire_writer_init(&wire, memory, sizeof(memory));
        n = encoder(tree->fd, &wire);
        ck_assert(!wire_writer_failed(&wire));
        wire_reader_init(ret, memory, wire_writer_size(&wire));
        return n;
}

static WireReader cpu_of(WireReader info, size_t i) {
        WireReader cpu = {};

        ck_assert(message_submessage(info, 1, i, &cpu));
        return cpu;
}

START_TEST(test_a_laptops_cores_have_names_and_the_bounds_of_their_frequencies) {
        Tree tree = tree_new();
        WireReader info, cpu;
        WireField field;

        tree_put(
                &tree,
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: A Laptop CPU\ncpu MHz\t\t: 800.1\nflags\t\t: fpu\n\n"
                "processor\t: 1\nmodel name\t: A Laptop CPU\nmodel\t\t: 7\n\n");
        tree_put(&tree, CPU "cpu0/cpufreq/cpuinfo_min_freq", "400000\n");
        tree_put(&tree, CPU "cpu0/cpufreq/base_frequency", "2100000\n");
        tree_put(&tree, CPU "cpu0/cpufreq/cpuinfo_max_freq", "4700000\n");
        tree_put(&tree, CPU "cpu1/cpufreq/cpuinfo_min_freq", "400000\n");
        tree_put(&tree, CPU "cpu1/cpufreq/cpuinfo_max_freq", "400000\n");
        tree_put(&tree, CPU "cpufreq/policy0/scaling_governor", "powersave\n");
        tree_put(&tree, CPU "cpuidle/current_driver", "intel_idle\n");

        ck_assert_int_eq(encode(&tree, cpu_info_encode, &info), 2);
        ck_assert_uint_eq(message_count(info, 1), 2);
        cpu = cpu_of(info, 0);
        ck_assert(message_has_text(cpu, 1, "A Laptop CPU"));
        ck_assert_uint_eq(message_count(cpu, 2), 3);
        ck_assert(message_field(cpu, 2, 2, &field) && field.value == 4700000);
        ck_assert_uint_eq(message_count(cpu, 3) + message_count(cpu, 4) + message_count(cpu, 5), 0);
        ck_assert_uint_eq(message_count(cpu_of(info, 1), 2), 1);
        tree_free(&tree);
}
END_TEST

START_TEST(test_big_and_little_cores_have_steps_capacities_and_identifiers) {
        Tree tree = tree_new();
        WireReader info, arm;
        WireField field;

        tree_put(&tree,
                 "proc/cpuinfo",
                 "processor\t: 0\nFeatures\t: fp asimd mte mte3\nCPU implementer\t: 0x41\n"
                 "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd46\nCPU revision\t: 2\n");
        tree_put(&tree, CPU "cpu0/cpu_capacity", "1024\n");
        tree_put(&tree, CPU "cpu0/cpufreq/scaling_available_frequencies", "300000 600000 \n");
        tree_put(&tree, CPU "cpu0/cpufreq/scaling_boost_frequencies", "900000\n");
        tree_put(&tree, CPU "cpu0/cpufreq/cpuinfo_min_freq", "100\n");

        ck_assert_int_eq(encode(&tree, cpu_info_encode, &info), 1);
        ck_assert_uint_eq(message_count(cpu_of(info, 0), 2), 3);
        ck_assert(message_field(cpu_of(info, 0), 2, 2, &field) && field.value == 900000);
        ck_assert_uint_eq(message_uint(cpu_of(info, 0), 3), 1024);
        ck_assert_uint_eq(message_uint(cpu_of(info, 0), 5), 3);
        ck_assert(message_submessage(cpu_of(info, 0), 4, 0, &arm));
        ck_assert_uint_eq(message_uint(arm, 1), 0x41);
        ck_assert_uint_eq(message_uint(arm, 2), 8);
        ck_assert_uint_eq(message_uint(arm, 4), 0xd46);
        ck_assert_uint_eq(message_uint(arm, 5), 2);
        tree_free(&tree);
}
END_TEST

/* Readers number CPUs by their place in the packet. */
START_TEST(test_a_cpu_that_is_off_keeps_its_place) {
        Tree tree = tree_new();
        WireReader info;

        tree_put(&tree,
                 "proc/cpuinfo",
                 "processor : 0\nmodel name : X\n\nprocessor : 2\nmodel name : Y\n");
        tree_put(&tree, CPU "cpu0/online", "1\n");
        tree_put(&tree, CPU "cpu2/online", "1\n");
        ck_assert_int_eq(encode(&tree, cpu_info_encode, &info), 3);
        ck_assert_uint_eq(message_count(info, 1), 3);
        ck_assert(message_has_text(cpu_of(info, 0), 1, "X"));
        ck_assert_uint_eq(message_count(cpu_of(info, 1), 1), 0);
        ck_assert(message_has_text(cpu_of(info, 2), 1, "Y"));
        tree_free(&tree);
}
END_TEST

START_TEST(test_files_that_lie_are_left_out_or_cut) {
        char *huge = malloc(200000);
        Tree tree = tree_new();
        WireReader info, cpu;
        WireField field;

        memset(huge, 'n', 200000);
        memcpy(huge, "processor: 0\nmodel name: ", 25);
        tree_put_bytes(&tree, "proc/cpuinfo", huge, 200000); /* no end of line, one endless name */
        memset(huge, ' ', 200000);
        for (size_t i = 0; i + 8 < 200000; i += 8)
                snprintf(huge + i, 9, "%7zu ", i + 1);
        tree_put_bytes(&tree, CPU "cpu0/cpufreq/scaling_available_frequencies", huge, 199990);
        tree_put(&tree, CPU "cpu0/cpu_capacity", "-1\n");
        tree_put_unreadable(&tree, CPU "cpu1/cpu_capacity");
        tree_put(&tree, CPU "cpu1/cpufreq/cpuinfo_max_freq", "99999999999999999999999\n");
        tree_put(&tree, CPU "cpu99999999999/online", "1\n");
        tree_put(&tree, CPU "cpu8192/online", "1\n");

        ck_assert_int_eq(encode(&tree, cpu_info_encode, &info), 2);
        cpu = cpu_of(info, 0);
        ck_assert(message_field(cpu, 1, 0, &field));
        ck_assert_uint_eq(field.n_bytes, CPU_INFO_NAME_BYTES);
        ck_assert_uint_eq(message_count(cpu, 2), CPU_INFO_FREQUENCIES_MAX);
        ck_assert_uint_eq(message_count(cpu, 3), 0);
        ck_assert_uint_eq(message_count(cpu_of(info, 1), 2) + message_count(cpu_of(info, 1), 3), 0);
        free(huge);
        tree_free(&tree);
}
END_TEST

START_TEST(test_without_cpuinfo_there_are_frequencies_and_without_sysfs_there_is_nothing) {
        Tree tree = tree_new(), empty = tree_new();
        WireReader info;

        tree_put(&tree, CPU "cpu0/cpufreq/cpuinfo_max_freq", "3000000\n");
        ck_assert_int_eq(encode(&tree, cpu_info_encode, &info), 1);
        ck_assert_uint_eq(message_uint(cpu_of(info, 0), 2), 3000000);
        ck_assert_int_eq(encode(&empty, cpu_info_encode, &info), -ENOENT);
        ck_assert_int_eq(encode(&empty, interrupt_info_encode, &info), -ENOENT);
        tree_free(&tree);
        tree_free(&empty);
}
END_TEST

START_TEST(test_interrupts_are_named_by_who_handles_them) {
        WireReader info, irq;
        Tree tree = tree_new();
        bool seen = false;

        tree_put(&tree, "sys/kernel/irq/9/actions", "acpi\n");
        tree_put(&tree, "sys/kernel/irq/127/actions", "idma64.0,i801_smbus\n");
        tree_put(&tree, "sys/kernel/irq/14/actions", "\n"); /* nobody */
        tree_put(&tree, "sys/kernel/irq/15x/actions", "not a number\n");
        tree_put(&tree, "sys/kernel/irq/99999999999/actions", "too large\n");
        tree_put_unreadable(&tree, "sys/kernel/irq/16/actions");
        ck_assert_int_eq(encode(&tree, interrupt_info_encode, &info), 2);
        for (size_t i = 0; message_submessage(info, 1, i, &irq); i++)
                if (message_uint(irq, 1) == 127)
                        seen = message_has_text(irq, 2, "idma64.0,i801_smbus");
        ck_assert(seen);
        tree_free(&tree);
}
END_TEST

/* The packets of a recording on this machine. */
/* A chroot that packages are built in may be without. */
static bool has_sysfs(void) {
        if (access("/sys/devices/system/cpu", F_OK) == 0)
                return true;
        test_skip("/sys is not mounted");
        return false;
}

static PacketList record_this_machine(bool with_interrupts) {
        Perfetto__Protos__SystemInfoConfig info = PERFETTO__PROTOS__SYSTEM_INFO_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .config = &config, .sink = &list.sink };
        void *probe;

        info.irq_names = with_interrupts;
        config.system_info_config = &info;
        ck_assert_int_eq(system_info_probe_ops.setup(&probe, &setup, NULL), 0);
        ck_assert_uint_eq(system_info_probe_ops.poll(probe, 77), PROBE_NEVER);
        system_info_probe_ops.free(probe);
        return list;
}

static const char *text_of(const CpuTopology *topology, const char *name) {
        for (size_t i = 0; i < topology->n; i++)
                if (streq(topology->arguments[i].name, name))
                        return topology->arguments[i].text;
        return NULL;
}

static int64_t number_of(const CpuTopology *topology, const char *name) {
        for (size_t i = 0; i < topology->n; i++)
                if (streq(topology->arguments[i].name, name))
                        return topology->arguments[i].number;
        return -1;
}

START_TEST(test_where_a_processor_is_and_what_drives_it_is_read_as_far_as_it_is_there) {
        Tree tree = tree_new();
        CpuTopology topology;

        cpu_topology_read(&topology, tree.fd, 1);
        ck_assert_uint_eq(topology.n, 0);
        tree_put(&tree, CPU "cpu1/topology/physical_package_id", "0\n");
        tree_put(&tree, CPU "cpu1/topology/die_id", "-1\n");
        tree_put(&tree, CPU "cpu1/topology/core_id", "4\n");
        tree_put(&tree, CPU "cpu1/topology/thread_siblings_list", "0-1\n");
        tree_put(&tree, CPU "cpu1/cpufreq/scaling_governor", "powersave\n");
        tree_put(&tree, CPU "cpu1/cpufreq/scaling_driver", "intel_pstate\n");
        tree_put(&tree, CPU "cpu1/cpufreq/cpuinfo_max_freq", "4700000\n");
        tree_put(&tree, CPU "cpu1/microcode/version", "0x432\n");
        tree_put(&tree, CPU "cpu1/cache/index0/level", "1\n");
        tree_put(&tree, CPU "cpu1/cache/index0/type", "Data\n");
        tree_put(&tree, CPU "cpu1/cache/index0/size", "48K\n");
        tree_put(&tree, CPU "cpu1/cache/index0/shared_cpu_list", "0-1\n");
        tree_put(&tree, CPU "cpu1/cache/index1/level", "2\n");
        tree_put(&tree, CPU "cpu1/cache/index1/type", "Unified\n");
        tree_put(&tree, CPU "cpu1/cache/index1/size", "1280K\n");
        tree_put(&tree, CPU "cpu1/cache/index1/shared_cpu_list", "0-1\n");
        tree_put(&tree, "sys/devices/cpu_core/cpus", "0-7\n");
        tree_put(&tree, "sys/devices/cpu_atom/cpus", "8-15\n");
        cpu_topology_read(&topology, tree.fd, 1);
        ck_assert_int_eq(number_of(&topology, "package"), 0);
        ck_assert_int_eq(number_of(&topology, "die"), -1);
        ck_assert_int_eq(number_of(&topology, "core"), 4);
        ck_assert_int_eq(number_of(&topology, "highest kHz"), 4700000);
        ck_assert_str_eq(text_of(&topology, "siblings (SMT)"), "0-1");
        ck_assert_str_eq(text_of(&topology, "governor"), "powersave");
        ck_assert_str_eq(text_of(&topology, "driver"), "intel_pstate");
        ck_assert_str_eq(text_of(&topology, "microcode"), "0x432");
        ck_assert_str_eq(text_of(&topology, "kind"), "performance");
        ck_assert_str_eq(text_of(&topology, "caches"),
                         "L1 Data 48K of 0-1; L2 Unified 1280K of 0-1");
        tree_free(&tree);
}
END_TEST

START_TEST(test_lists_of_processors_are_understood) {
        ck_assert(cpu_list_has("0-3,8", 0));
        ck_assert(cpu_list_has("0-3,8", 3));
        ck_assert(cpu_list_has("0-3,8", 8));
        ck_assert(!cpu_list_has("0-3,8", 4));
        ck_assert(!cpu_list_has("0-3,8", 9));
        ck_assert(!cpu_list_has("", 0));
        ck_assert(!cpu_list_has("x", 0));
        ck_assert(!cpu_list_has("3-1", 2));
        ck_assert(!cpu_list_has("99999999999999999999-", 0));
}
END_TEST

START_TEST(test_each_processor_is_an_instant_that_readers_show) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_new();
        PacketWriter packets;
        TrackWriter tracks;
        WireReader message;

        packet_writer_init(&packets, &list.sink);
        track_writer_init(&tracks, &packets, "test");
        ck_assert_int_eq(cpu_topology_write(tree.fd, &tracks, 77), -ENOENT);
        tree_put(&tree, CPU "present", "0,2\n");
        tree_put(&tree, CPU "cpu0/topology/core_id", "0\n");
        tree_put(&tree, CPU "cpu1/topology/core_id", "1\n");
        tree_put(&tree, CPU "cpu2/topology/core_id", "2\n");
        ck_assert_int_eq(cpu_topology_write(tree.fd, &tracks, 77), 2);
        ck_assert(packet_list_find(&list, PACKET_TRACK_DESCRIPTOR, 0, &message));
        ck_assert(message_has_text(message, 2, "Processors"));
        ck_assert(packet_list_find(&list, PACKET_TRACK_EVENT, 1, &message));
        ck_assert(message_has_text(message, 23, "CPU 2"));
        ck_assert_uint_eq(message_count(message, 4), 1);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_this_machine_has_a_cpu_for_each_that_it_says) {
        WireReader info, packet;
        PacketList list;

        if (!has_sysfs())
                return;
        list = record_this_machine(false);
        wire_reader_init(&packet, list.packets[0].data, list.packets[0].n);
        ck_assert_uint_eq(message_uint(packet, PACKET_TIMESTAMP), 77);
        ck_assert(packet_list_find(&list, PACKET_CPU_INFO, 0, &info));
        ck_assert_int_ge((int)message_count(info, 1), (int)sysconf(_SC_NPROCESSORS_ONLN));
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_interrupts_of_this_machine_come_when_they_are_asked_for) {
        Tree machine = { .fd = open("/", O_PATH | O_CLOEXEC) };
        WireReader info, expected;
        int n = encode(&machine, interrupt_info_encode, &expected); /* containers may hide them */
        PacketList list;

        if (!has_sysfs())
                return;
        list = record_this_machine(true);
        ck_assert(packet_list_find(&list, PACKET_CPU_INFO, 0, &info));
        ck_assert_int_eq(packet_list_find(&list, PACKET_INTERRUPT_INFO, 0, &info), n > 0);
        if (n > 0)
                ck_assert_uint_eq(message_count(info, 1), (size_t)n);
        packet_list_deinit(&list);
        close(machine.fd);
}
END_TEST

TEST_MAIN("system-info",
          test_a_laptops_cores_have_names_and_the_bounds_of_their_frequencies,
          test_big_and_little_cores_have_steps_capacities_and_identifiers,
          test_a_cpu_that_is_off_keeps_its_place,
          test_files_that_lie_are_left_out_or_cut,
          test_without_cpuinfo_there_are_frequencies_and_without_sysfs_there_is_nothing,
          test_interrupts_are_named_by_who_handles_them,
          test_where_a_processor_is_and_what_drives_it_is_read_as_far_as_it_is_there,
          test_lists_of_processors_are_understood,
          test_each_processor_is_an_instant_that_readers_show,
          test_this_machine_has_a_cpu_for_each_that_it_says,
          test_interrupts_of_this_machine_come_when_they_are_asked_for)
