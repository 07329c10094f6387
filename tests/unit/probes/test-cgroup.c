/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <sys/resource.h>

#include "test.h"

#include "host/packet-list.h"
#include "host/track-writer.h"
#include "probes/system/cgroup-probe.h"
#include "probes/system/cgroup-reader.h"
#include "track-path.h"
#include "tree.h"

#define TOP    "sys/fs/cgroup/"
#define USER   TOP "user.slice/user-1000.slice/user@1000.service/"
#define SHELL  USER "session.slice/org.gnome.Shell@wayland.service/"
#define EDITOR USER "app.slice/app-gnome-org.gnome.TextEditor\\x2d4711.scope/"

#define EDITOR_TRACKS                                                   \
        "Units/user.slice/user-1000.slice/user@1000.service/app.slice/" \
        "app-gnome-org.gnome.TextEditor-4711.scope/"
#define PRESSURE                                                                                   \
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 " \
        "total=%d\n"

typedef struct Fixture {
        Tree tree;
        PacketList list;
        ProbeNotes notes;
        CgroupConfig config;
        void *probe;
        char *error;
} Fixture;

static Fixture fixture;

static void put(const char *directory, const char *file, const char *text) {
        char path[512];

        snprintf(path, sizeof(path), "%s%s", directory, file);
        tree_put(&fixture.tree, path, text);
}

static void put_cpu(const char *directory, unsigned used_us) {
        char text[128];

        snprintf(text,
                 sizeof(text),
                 "usage_usec %u\nuser_usec %u\nsystem_usec 0\n",
                 used_us,
                 used_us);
        put(directory, "cpu.stat", text);
}

/* A cgroup with all files, as systemd makes them. */
static void put_cgroup(const char *directory, unsigned used_us, const char *memory) {
        put_cpu(directory, used_us);
        put(directory, "memory.current", memory);
        put(directory, "memory.swap.current", "0\n");
        put(directory, "memory.stat", "anon 1000\nfile 2000\nkernel 30\nshmem 0\npgmajfault 5\n");
        put(directory, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
        put(directory, "pids.current", "3\n");
        put(directory, "io.stat", "259:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
        put(directory, "cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n");
}

static void put_desktop(void) {
        put(TOP, "cgroup.controllers", "cpuset cpu io memory pids\n");
        put_cgroup(TOP "init.scope/", 900, "1\n");
        put_cgroup(TOP "system.slice/", 5000, "1\n");
        put_cgroup(TOP "system.slice/NetworkManager.service/", 3000, "1\n");
        put_cgroup(TOP "system.slice/dbus.service/", 2000, "1\n");
        put_cgroup(TOP "machine.slice/", 0, "0\n");
        put_cgroup(TOP "user.slice/", 70000, "1\n");
        put_cgroup(USER, 70000, "1\n");
        put_cgroup(SHELL, 60000, "300000\n");
        put_cgroup(EDITOR, 7000, "104857600\n");
        tree_make_parents(&fixture.tree, "sys/dev/block/x");
        ck_assert_int_eq(symlinkat("../../devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1",
                                   fixture.tree.fd,
                                   "sys/dev/block/259:0"),
                         0);
}

static void setup(void) {
        fixture = (Fixture){
                .tree = tree_new(),
                .list = PACKET_LIST_INIT,
                .config = PERFETTO__PROTOS__CGROUP_CONFIG__INIT,
        };
}

static int record(void) {
        ProbeSetup probe = { .sink = &fixture.list.sink, .notes = &fixture.notes };

        return cgroup_new_instance(
                &fixture.probe, dup(fixture.tree.fd), &fixture.config, &probe, &fixture.error);
}

static void record_desktop(void) {
        setup();
        put_desktop();
        ck_assert_msg(record() == 0, "%s", fixture.error);
}

static void sample(uint64_t now_ns) {
        ck_assert_uint_eq(cgroup_probe_ops.poll(fixture.probe, now_ns),
                          probe_next_on_grid(now_ns, 1000 * PROBE_NS_PER_MS));
}

static void teardown(void) {
        cgroup_probe_ops.free(fixture.probe);
        packet_list_deinit(&fixture.list);
        probe_notes_deinit(&fixture.notes);
        tree_free(&fixture.tree);
        free(fixture.error);
}

static void remove_cgroup(const char *directory) {
        char command[512];

        snprintf(command, sizeof(command), "rm -r '%s/%s'", fixture.tree.path, directory);
        ck_assert_int_eq(system(command), 0);
}

/* What was written of a counter, as "TIME:VALUE …". */
#define check_track(_path, _text) ck_assert_str_eq(track_text(&fixture.list, _path), _text)

static bool has_note(const char *part) {
        for (size_t i = 0; i < fixture.notes.n; i++)
                if (strstr(fixture.notes.texts[i], part))
                        return true;
        return false;
}

START_TEST(test_totals_begin_at_zero_and_levels_are_as_they_are) {
        record_desktop();
        sample(1000);
        put_cpu(EDITOR, 7500);
        put(EDITOR, "memory.current", "5000\n");
        put(EDITOR, "pids.current", "0\n");
        put(EDITOR, "cpu.pressure", "some avg10=0.00 total=103\n");
        sample(2000);
        check_track(EDITOR_TRACKS "memory", "1000:104857600 2000:5000");
        check_track(EDITOR_TRACKS "memory: anonymous", "1000:1000");
        check_track(EDITOR_TRACKS "tasks", "1000:3 2000:0");
        check_track(EDITOR_TRACKS "CPU time", "1000:0 2000:500000");
        check_track(EDITOR_TRACKS "CPU time: user", "1000:0 2000:500000");
        check_track(EDITOR_TRACKS "CPU pressure: some", "1000:0 2000:3000");
        teardown();
}
END_TEST

START_TEST(test_what_is_zero_all_the_time_has_no_track) {
        record_desktop();
        sample(1000);
        sample(2000);
        ck_assert_uint_ne(track_find(&fixture.list, EDITOR_TRACKS "memory"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "CPU time"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "swap"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "memory events: killed"), 0);
        /* A slice in which nothing runs; the fixture's memory.stat apart. */
        ck_assert_uint_eq(track_find(&fixture.list, "Units/machine.slice/memory"), 0);
        teardown();
}
END_TEST

START_TEST(test_only_what_has_changed_is_written) {
        size_t n;

        record_desktop();
        sample(1000);
        n = fixture.list.n;
        sample(2000);
        ck_assert_uint_eq(fixture.list.n, n);
        put(EDITOR, "memory.current", "1\n");
        cgroup_probe_ops.stop(fixture.probe, 2500);
        ck_assert_uint_eq(fixture.list.n, n + 1);
        check_track(EDITOR_TRACKS "memory", "1000:104857600 2500:1");
        teardown();
}
END_TEST

START_TEST(test_io_is_told_by_device_and_a_new_device_began_at_zero) {
        record_desktop();
        sample(1000);
        put(EDITOR,
            "io.stat",
            "259:0 rbytes=4196 wbytes=50 rios=2 wios=1\n253:0 rbytes=8 wbytes=0 rios=1 wios=0\n");
        sample(2000);
        check_track(EDITOR_TRACKS "IO read: nvme0n1", "1000:0 2000:100");
        check_track(EDITOR_TRACKS "IO written: nvme0n1", "1000:0 2000:50");
        check_track(EDITOR_TRACKS "IO reads: nvme0n1", "1000:0 2000:1");
        check_track(EDITOR_TRACKS "IO read: 253:0", "1000:0 2000:8");
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "IO written: 253:0"), 0);
        teardown();
}
END_TEST

START_TEST(test_a_cgroup_that_comes_later_counts_from_its_beginning) {
        record_desktop();
        sample(1000);
        put_cgroup(TOP "system.slice/new.service/", 40, "77\n");
        sample(2000);
        check_track("Units/system.slice/new.service/CPU time", "1001:0 2000:40000");
        check_track("Units/system.slice/new.service/memory", "1001:0 2000:77");
        teardown();
}
END_TEST

START_TEST(test_a_cgroup_that_is_gone_holds_nothing) {
        size_t n;

        record_desktop();
        sample(1000);
        put_cpu(EDITOR, 8000);
        sample(2000);
        remove_cgroup(EDITOR);
        sample(3000);
        check_track(EDITOR_TRACKS "memory", "1000:104857600 3000:0");
        check_track(EDITOR_TRACKS "tasks", "1000:3 3000:0");
        check_track(EDITOR_TRACKS "CPU time", "1000:0 2000:1000000");
        n = fixture.list.n;
        sample(4000);
        ck_assert_uint_eq(fixture.list.n, n);
        teardown();
}
END_TEST

START_TEST(test_a_service_that_was_restarted_starts_over) {
        int old;

        record_desktop();
        put_cpu(TOP "system.slice/dbus.service/", 2000);
        sample(1000);
        put_cpu(TOP "system.slice/dbus.service/", 2500);
        sample(2000);
        old = openat(fixture.tree.fd, TOP "system.slice/dbus.service", O_PATH | O_CLOEXEC);
        remove_cgroup(TOP "system.slice/dbus.service");
        put_cgroup(TOP "system.slice/dbus.service/", 70, "9\n");
        sample(3000);
        close(old);
        check_track("Units/system.slice/dbus.service/CPU time",
                    "1000:0 2000:500000 2001:0 3000:70000");
        check_track("Units/system.slice/dbus.service/memory", "1000:1 3000:0 3000:9");
        teardown();
}
END_TEST

START_TEST(test_all_is_said_again_after_a_clear_and_after_a_loss) {
        record_desktop();
        sample(1000);
        put_cpu(EDITOR, 7500);
        sample(2000);
        packet_list_deinit(&fixture.list);
        cgroup_probe_ops.clear_incremental_state(fixture.probe);
        sample(3000);
        check_track(EDITOR_TRACKS "memory", "3000:104857600");
        check_track(EDITOR_TRACKS "CPU time", "3000:500000");
        packet_list_deinit(&fixture.list);
        fixture.list.refuses = true;
        put_cpu(EDITOR, 7600);
        sample(4000);
        fixture.list.refuses = false;
        sample(5000);
        check_track(EDITOR_TRACKS "memory", "5000:104857600");
        check_track(EDITOR_TRACKS "CPU time", "5000:600000");
        teardown();
}
END_TEST

START_TEST(test_only_the_counters_that_are_asked_for_are_recorded) {
        Perfetto__Protos__CgroupConfig__Counters wanted[] = {
                PERFETTO__PROTOS__CGROUP_CONFIG__COUNTERS__CGROUP_PIDS, 77, /* of a newer version */
        };

        setup();
        put_desktop();
        fixture.config.counters = wanted;
        fixture.config.n_counters = 2;
        ck_assert_int_eq(record(), 0);
        sample(1000);
        ck_assert_uint_ne(track_find(&fixture.list, EDITOR_TRACKS "tasks"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "memory"), 0);
        teardown();
}
END_TEST

START_TEST(test_only_the_cgroups_that_are_asked_for_are_recorded) {
        char *patterns[] = { (char[]){ "*TextEditor-*" } };

        setup();
        put_desktop();
        fixture.config.cgroups = patterns;
        fixture.config.n_cgroups = 1;
        ck_assert_int_eq(record(), 0);
        sample(1000);
        ck_assert_uint_ne(track_find(&fixture.list, EDITOR_TRACKS "memory"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, "Units/user.slice/memory"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, "Units/system.slice"), 0);
        teardown();
}
END_TEST

START_TEST(test_files_that_are_bad_cost_nothing_but_their_counters) {
        static char huge[100000];

        record_desktop();
        memset(huge, 'x', sizeof(huge) - 1);
        put(EDITOR, "memory.stat", huge);
        memcpy(huge, "usage_usec 7900\n", 16);
        put(EDITOR, "cpu.stat", huge);
        put(EDITOR, "pids.current", "");
        tree_remove(&fixture.tree, EDITOR "memory.swap.current");
        tree_remove(&fixture.tree, EDITOR "io.stat");
        tree_put_unreadable(&fixture.tree, EDITOR "io.stat");
        put(SHELL, "cpu.stat", "usage_usec");
        sample(1000);
        huge[11] = '8';
        put(EDITOR, "cpu.stat", huge);
        sample(2000);
        check_track(EDITOR_TRACKS "memory", "1000:104857600");
        check_track(EDITOR_TRACKS "CPU time", "1000:0 2000:1000000");
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "tasks"), 0);
        ck_assert_uint_eq(track_find(&fixture.list, EDITOR_TRACKS "memory: anonymous"), 0);
        teardown();
}
END_TEST

START_TEST(test_a_controller_that_is_switched_on_later_is_recorded_then) {
        record_desktop();
        tree_remove(&fixture.tree, SHELL "pids.current");
        for (size_t i = 1; i <= CGROUP_PERIOD_MS_DEFAULT / 100; i++)
                sample(i);
        put(SHELL, "pids.current", "12\n");
        for (size_t i = 11; i <= 20; i++)
                sample(i);
        ck_assert_ptr_nonnull(
                strstr(track_text(&fixture.list,
                                  "Units/user.slice/user-1000.slice/user@1000.service/"
                                  "session.slice/org.gnome.Shell@wayland.service/tasks"),
                       ":12"));
        teardown();
}
END_TEST

static size_t count_descriptors(void) {
        size_t n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

START_TEST(test_descriptors_are_not_used_up) {
        struct rlimit old, few = {};
        size_t n_packets, n_before;

        setup();
        put_desktop();
        n_before = count_descriptors();
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
        few = old;
        few.rlim_cur = 64;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        ck_assert_int_eq(record(), 0);
        sample(1000);
        ck_assert_uint_eq(count_descriptors() - n_before, 2 + 64 / 4);
        n_packets = fixture.list.n;
        cgroup_probe_ops.free(fixture.probe);
        ck_assert_uint_eq(count_descriptors(), n_before);
        packet_list_deinit(&fixture.list);

        /* The figures are the same with descriptors for all. */
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
        ck_assert_int_eq(record(), 0);
        sample(1000);
        ck_assert_uint_eq(fixture.list.n, n_packets);
        teardown();
}
END_TEST

START_TEST(test_what_is_beyond_the_limit_is_told_in_the_trace_and_in_a_note) {
        char path[128];

        setup();
        put(TOP, "cgroup.controllers", "memory\n");
        for (size_t i = 0; i < CGROUPS_MAX + 2; i++) {
                snprintf(path, sizeof(path), TOP "%zu.scope/cpu.stat", i);
                tree_put(&fixture.tree, path, "usage_usec 1\n");
        }
        ck_assert_int_eq(record(), 0);
        ck_assert(has_note("2 or more cgroups are not recorded"));
        sample(1000);
        check_track("Units/not recorded", "1000:2");
        teardown();
}
END_TEST

/* Of as many tracks as a cgroup can have. */
static void put_busy(const char *directory) {
        char text[CGROUP_TEXT_BYTES] = "";

        for (size_t i = 0; i < CGROUP_DEVICES_MAX; i++)
                snprintf(text + strlen(text), 64, "8:%zu rbytes=1 wbytes=1 rios=1 wios=1\n", i);
        put(directory, "io.stat", text);
}

START_TEST(test_the_old_give_way_when_there_are_too_many_tracks) {
        char path[64];

        setup();
        put(TOP, "cgroup.controllers", "io\n");
        ck_assert_int_eq(record(), 0);
        for (size_t i = 0; i < 70; i++) {
                snprintf(path, sizeof(path), TOP "%zu.scope/", i);
                put_busy(path);
        }
        sample(1000);
        remove_cgroup(TOP "'*'.scope");
        put_busy(TOP "last.scope/");
        sample(2000);
        ck_assert_uint_eq(track_find(&fixture.list, "Units/last.scope/IO read: 8:5"), 0);
        sample(3000);
        check_track("Units/last.scope/IO read: 8:5", "3000:1");
        teardown();
}
END_TEST

START_TEST(test_a_hybrid_machine_has_time_and_a_note_of_what_it_lacks) {
        setup();
        tree_put(&fixture.tree, TOP "memory/memory.usage_in_bytes", "1\n");
        tree_put(&fixture.tree, TOP "unified/cgroup.controllers", "\n");
        put_cpu(TOP "unified/system.slice/a.service/", 100);
        put_cpu(TOP "unified/system.slice/", 100);
        ck_assert_int_eq(record(), 0);
        ck_assert(has_note("no cgroup has memory.current: cgroup v1 has the controller"));
        ck_assert(has_note("no cgroup has io.stat"));
        ck_assert(has_note("no cgroup has cpu.pressure; boot with psi=1"));
        ck_assert(!has_note("cpu.stat"));
        ck_assert(!has_note("memory.stat")); /* of one controller, the first */
        ck_assert(!has_note("memory.events"));
        sample(1000);
        put_cpu(TOP "unified/system.slice/a.service/", 300);
        sample(2000);
        check_track("Units/system.slice/a.service/CPU time", "1000:0 2000:200000");
        teardown();
}
END_TEST

START_TEST(test_accounting_that_systemd_leaves_out_is_noted) {
        setup();
        tree_put(&fixture.tree, TOP "cgroup.controllers", "cpu io memory pids\n");
        put_cpu(TOP "a.slice/", 100);
        ck_assert_int_eq(record(), 0);
        ck_assert(has_note("no cgroup has io.stat: systemd does not account for it; set "
                           "DefaultIOAccounting=yes in /etc/systemd/system.conf"));
        teardown();
}
END_TEST

START_TEST(test_a_machine_without_units_is_recorded_and_noted) {
        setup();
        tree_put(&fixture.tree, TOP "cgroup.controllers", "cpu\n");
        ck_assert_int_eq(record(), 0);
        ck_assert(has_note("there is no cgroup of a slice"));
        sample(1000);
        ck_assert_uint_eq(fixture.list.n, 0);
        put_cpu(TOP "a.scope/", 100);
        sample(2000);
        check_track("Units/a.scope/CPU time", "1001:0 2000:100000");
        teardown();
}
END_TEST

START_TEST(test_machines_without_cgroup_v2_are_refused_with_the_reason) {
        setup();
        ck_assert_int_eq(record(), PROBE_E_REFUSED);
        ck_assert_msg(strstr(fixture.error, "mount -t cgroup2"), "%s", fixture.error);
        free(fixture.error);
        tree_put(&fixture.tree, TOP "memory/memory.usage_in_bytes", "1\n");
        ck_assert_int_eq(record(), PROBE_E_REFUSED);
        ck_assert_msg(strstr(fixture.error, "cgroup v1 only"), "%s", fixture.error);
        ck_assert_msg(
                strstr(fixture.error, "systemd.unified_cgroup_hierarchy=1"), "%s", fixture.error);
        teardown();
}
END_TEST

static void refuses(const char *part) {
        ck_assert_int_eq(record(), PROBE_E_REFUSED);
        ck_assert_msg(strstr(fixture.error, part), "%s", fixture.error);
        free(fixture.error);
        fixture.error = NULL;
}

START_TEST(test_configs_that_cannot_be_are_refused_with_the_limit) {
        Perfetto__Protos__CgroupConfig__Counters unknown = 99;
        char longest[CGROUP_PATTERN_BYTES_MAX + 2], *patterns[CGROUP_PATTERNS_MAX + 1];

        setup();
        put_desktop();
        fixture.config.counters = &unknown;
        fixture.config.n_counters = 1;
        refuses("names none that is known");
        fixture.config.n_counters = 0;
        fixture.config.has_max_depth = true;
        refuses("max_depth is 0; give 1 to 32");
        fixture.config.max_depth = 33;
        refuses("max_depth is 33; give 1 to 32");
        fixture.config.max_depth = 32;
        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
                patterns[i] = longest;
        fixture.config.cgroups = patterns;
        fixture.config.n_cgroups = ARRAY_SIZE(patterns);
        refuses("65 patterns; give at most 64");
        fixture.config.n_cgroups = 2;
        refuses("has 257 bytes; give 1 to 256");
        longest[0] = '\0';
        refuses("has 0 bytes");
        teardown();
}
END_TEST

START_TEST(test_periods_are_on_the_grid_and_not_too_short) {
        setup();
        put_desktop();
        fixture.config.period_ms = 250;
        ck_assert_int_eq(record(), 0);
        ck_assert_uint_eq(cgroup_probe_ops.poll(fixture.probe, 600000001), 750000000);
        cgroup_probe_ops.free(fixture.probe);
        ck_assert(!has_note("period_ms"));
        fixture.config.has_period_ms = true;
        fixture.config.period_ms = 1;
        ck_assert_int_eq(record(), 0);
        ck_assert_uint_eq(cgroup_probe_ops.poll(fixture.probe, 600000001), 700000000);
        ck_assert(has_note("period_ms: 1 is too short; a sample is taken every 100 ms"));
        teardown();
}
END_TEST

/* Either it has something to record, or it says why not. */
START_TEST(test_this_machine_is_recorded_or_refused) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup probe = { .config = &config, .notes = &fixture.notes };
        int r;

        setup();
        probe.sink = &fixture.list.sink;
        r = cgroup_probe_ops.setup(&fixture.probe, &probe, &fixture.error);
        ck_assert_msg(
                r == 0 || (r == PROBE_E_REFUSED && strstr(fixture.error, "cgroup v")), "%d", r);
        free(fixture.error);
        fixture.error = NULL;
        ck_assert_int_eq(cgroup_probe_ops.check(&fixture.error), r);
        if (r == 0)
                sample(probe_now_ns());
        teardown();
}
END_TEST

TEST_MAIN("cgroup",
          test_totals_begin_at_zero_and_levels_are_as_they_are,
          test_what_is_zero_all_the_time_has_no_track,
          test_only_what_has_changed_is_written,
          test_io_is_told_by_device_and_a_new_device_began_at_zero,
          test_a_cgroup_that_comes_later_counts_from_its_beginning,
          test_a_cgroup_that_is_gone_holds_nothing,
          test_a_service_that_was_restarted_starts_over,
          test_all_is_said_again_after_a_clear_and_after_a_loss,
          test_only_the_counters_that_are_asked_for_are_recorded,
          test_only_the_cgroups_that_are_asked_for_are_recorded,
          test_files_that_are_bad_cost_nothing_but_their_counters,
          test_a_controller_that_is_switched_on_later_is_recorded_then,
          test_descriptors_are_not_used_up,
          test_what_is_beyond_the_limit_is_told_in_the_trace_and_in_a_note,
          test_the_old_give_way_when_there_are_too_many_tracks,
          test_a_hybrid_machine_has_time_and_a_note_of_what_it_lacks,
          test_accounting_that_systemd_leaves_out_is_noted,
          test_a_machine_without_units_is_recorded_and_noted,
          test_machines_without_cgroup_v2_are_refused_with_the_reason,
          test_configs_that_cannot_be_are_refused_with_the_limit,
          test_periods_are_on_the_grid_and_not_too_short,
          test_this_machine_is_recorded_or_refused)
