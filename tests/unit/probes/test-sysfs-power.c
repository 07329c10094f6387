/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "host/packet-list.h"
#include "probes/system/power-supply.h"
#include "probes/system/sysfs-power-probe.h"
#include "tree.h"

#define SUPPLY "sys/class/power_supply/"
#define ZONE   "sys/class/powercap/"

static const char *const battery_files[][2] = {
        { SUPPLY "BAT0/type", "Battery\n" },         { SUPPLY "BAT0/present", "1\n" },
        { SUPPLY "BAT0/status", "Discharging\n" },   { SUPPLY "BAT0/capacity", "87\n" },
        { SUPPLY "BAT0/energy_now", "43210000\n" },  { SUPPLY "BAT0/power_now", "6000000\n" },
        { SUPPLY "BAT0/voltage_now", "12000000\n" },
};

static Tree tree_with_battery(void) {
        Tree tree = tree_new();

        for (size_t i = 0; i < ARRAY_SIZE(battery_files); i++)
                tree_put(&tree, battery_files[i][0], battery_files[i][1]);
        return tree;
}

static void *record(const Tree *tree, PacketList *list) {
        char *error = NULL;
        void *probe;

        ck_assert_msg(
                sysfs_power_new(&probe, dup(tree->fd), &list->sink, &error) == 0, "%s", error);
        return probe;
}

static void sample(void *probe, uint64_t now_ns) {
        ck_assert_uint_eq(sysfs_power_probe_ops.poll(probe, now_ns),
                          probe_next_on_grid(now_ns, SYSFS_POWER_PERIOD_NS));
}

/* One sample of a tree. */
static void record_once(const Tree *tree, PacketList *list) {
        void *probe = record(tree, list);

        sample(probe, 5000000);
        sysfs_power_probe_ops.free(probe);
}

static WireReader find(const PacketList *list, uint32_t field, size_t skip) {
        WireReader message = {};

        ck_assert(packet_list_find(list, field, skip, &message));
        return message;
}

static uint64_t energy_of(const PacketList *list, size_t skip, size_t rail) {
        WireReader data;

        ck_assert(message_submessage(find(list, PACKET_POWER_RAILS, skip), 2, rail, &data));
        return message_uint(data, 3);
}

static size_t count(const PacketList *list, uint32_t field) {
        WireReader message;
        size_t n = 0;

        while (packet_list_find(list, field, n, &message))
                n++;
        return n;
}

/* Whether there is an event of that type on the track of that name, with this text in a field or (NULL) this number. */
static bool has_event(const PacketList *list,
                      const char *track,
                      uint32_t field,
                      const char *text,
                      int64_t number) {
        WireReader message, event;
        uint64_t uuid = 0;

        for (size_t i = 0; packet_list_find(list, PACKET_TRACK_DESCRIPTOR, i, &message); i++)
                if (message_has_text(message, 2, track))
                        uuid = message_uint(message, 1);
        for (size_t i = 0; uuid && packet_list_find(list, PACKET_TRACK_EVENT, i, &event); i++)
                if (message_uint(event, 11) == uuid &&
                    (text ? message_has_text(event, field, text)
                          : (int64_t)message_uint(event, field) == number))
                        return true;
        return false;
}

START_TEST(test_power_and_status_of_a_battery_are_tracks) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_battery();
        void *probe = record(&tree, &list);
        size_t n;

        sample(probe, 1);
        ck_assert(has_event(&list, "BAT0 power (µW)", 30, NULL, -6000000));
        ck_assert(has_event(&list, "BAT0 status", 23, "Discharging", 0));
        n = count(&list, PACKET_TRACK_EVENT);
        sample(probe, 2);
        ck_assert_uint_eq(count(&list, PACKET_TRACK_EVENT), n);
        tree_put(&tree, SUPPLY "BAT0/status", "Charging\n");
        sample(probe, 3);
        ck_assert(has_event(&list, "BAT0 power (µW)", 30, NULL, 6000000));
        ck_assert(has_event(&list, "BAT0 status", 23, "Charging", 0));
        sysfs_power_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_power_is_computed_where_only_current_is_known) {
        Tree tree = tree_new();
        int64_t power_uw;

        tree_put(&tree, "status", "Discharging\n");
        ck_assert(!battery_power_uw(&power_uw, tree.fd));
        tree_put(&tree, "current_now", "500000\n");
        ck_assert(!battery_power_uw(&power_uw, tree.fd));
        tree_put(&tree, "voltage_now", "12000000\n");
        ck_assert(battery_power_uw(&power_uw, tree.fd));
        ck_assert_int_eq(power_uw, -6000000);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_laptops_only_battery_has_no_name_and_discharges_below_zero) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_battery();
        const float percent = 87;
        WireReader battery;
        WireField field;
        uint32_t bits;

        record_once(&tree, &list);
        ck_assert_uint_eq(count(&list, PACKET_BATTERY), 1);
        battery = find(&list, PACKET_BATTERY, 0);
        ck_assert_uint_eq(message_count(battery, 1) + message_count(battery, 5), 0);
        ck_assert(message_field(battery, 2, 0, &field) && field.type == WIRE_FIXED32);
        memcpy(&bits, &percent, sizeof(bits));
        ck_assert_uint_eq(field.value, bits);
        ck_assert_int_eq((int64_t)message_uint(battery, 3), -500000); /* 6 W at 12 V */
        ck_assert_uint_eq(message_uint(battery, 6), 43210000);
        ck_assert_uint_eq(message_uint(battery, 7), 12000000);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_current_and_its_average_have_their_own_fields_and_the_batterys_sign) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_battery();
        WireReader battery;

        tree_put(&tree, SUPPLY "BAT0/current_now", "-1500000\n");
        tree_put(&tree, SUPPLY "BAT0/current_avg", "1400000\n");
        tree_put(&tree, SUPPLY "BAT0/charge_now", "3000000\n");
        tree_put(&tree, SUPPLY "BAT0/status", "Charging\n");
        record_once(&tree, &list);
        battery = find(&list, PACKET_BATTERY, 0);
        ck_assert_uint_eq(message_uint(battery, 1), 3000000);
        ck_assert_uint_eq(message_uint(battery, 3), 1500000);
        ck_assert_uint_eq(message_uint(battery, 4), 1400000);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_batteries_are_named_when_there_are_several_and_those_of_devices_always) {
        Tree tree = tree_with_battery();
        PacketList one = PACKET_LIST_INIT, two = PACKET_LIST_INIT;

        tree_put(&tree, SUPPLY "hidpp_battery_0/type", "Battery\n");
        tree_put(&tree, SUPPLY "hidpp_battery_0/scope", "Device\n");
        tree_put(&tree, SUPPLY "hidpp_battery_0/capacity", "30\n");
        record_once(&tree, &one);
        ck_assert_uint_eq(count(&one, PACKET_BATTERY), 2);
        for (size_t i = 0; i < 2; i++) {
                WireReader battery = find(&one, PACKET_BATTERY, i);
                bool is_mouse = message_count(battery, 7) == 0;

                ck_assert(message_has_text(battery, 5, "hidpp_battery_0") == is_mouse);
        }
        tree_put(&tree, SUPPLY "BAT1/type", "Battery\n");
        tree_put(&tree, SUPPLY "BAT1/capacity", "99\n");
        record_once(&tree, &two);
        ck_assert_uint_eq(count(&two, PACKET_BATTERY), 3);
        for (size_t i = 0; i < 3; i++)
                ck_assert_uint_eq(message_count(find(&two, PACKET_BATTERY, i), 5), 1);
        packet_list_deinit(&one);
        packet_list_deinit(&two);
        tree_free(&tree);
}
END_TEST

START_TEST(test_an_adapter_is_a_counter_track) {
        PacketList list = PACKET_LIST_INIT;
        WireReader track, event;
        Tree tree = tree_new();

        tree_put(&tree, SUPPLY "AC/type", "Mains\n");
        tree_put(&tree, SUPPLY "AC/online", "1\n");
        record_once(&tree, &list);
        ck_assert_uint_eq(list.n, 2);
        track = find(&list, PACKET_TRACK_DESCRIPTOR, 0);
        event = find(&list, PACKET_TRACK_EVENT, 0);
        ck_assert(message_has_text(track, 2, "AC online"));
        ck_assert_uint_eq(message_count(track, 8), 1);
        ck_assert_uint_eq(message_uint(event, 11), message_uint(track, 1));
        ck_assert_uint_eq(message_uint(event, 30), 1);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_energy_counters_go_on_when_the_hardware_starts_again) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_new();
        WireReader rail;
        void *probe;

        tree_put(&tree, ZONE "intel-rapl/enabled", "1\n");
        tree_put(&tree, ZONE "intel-rapl:0/name", "package-0\n");
        tree_put(&tree, ZONE "intel-rapl:0/energy_uj", "900\n");
        tree_put(&tree, ZONE "intel-rapl:0/max_energy_range_uj", "1000\n");
        probe = record(&tree, &list);
        sample(probe, 1000);
        tree_put(&tree, ZONE "intel-rapl:0/energy_uj", "950\n");
        sample(probe, 2000);
        tree_put(&tree, ZONE "intel-rapl:0/energy_uj", "30\n");
        sysfs_power_probe_ops.stop(probe, 7000000);
        ck_assert_uint_eq(energy_of(&list, 0, 0), 900);
        ck_assert_uint_eq(energy_of(&list, 1, 0), 950);
        ck_assert_uint_eq(energy_of(&list, 2, 0), 1030);
        ck_assert(message_submessage(find(&list, PACKET_POWER_RAILS, 2), 2, 0, &rail));
        ck_assert_uint_eq(message_uint(rail, 2), 7);

        /* Described once, and again for who forgot. */
        ck_assert(message_submessage(find(&list, PACKET_POWER_RAILS, 0), 1, 0, &rail));
        ck_assert(message_has_text(rail, 2, "package-0"));
        ck_assert_uint_eq(message_count(find(&list, PACKET_POWER_RAILS, 1), 1), 0);
        sysfs_power_probe_ops.clear_incremental_state(probe);
        sample(probe, 8000000);
        ck_assert_uint_eq(message_count(find(&list, PACKET_POWER_RAILS, 3), 1), 1);
        sysfs_power_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_parts_of_a_package_and_other_counters_have_names_of_their_own) {
        static const char *const names[] = { "package-0",
                                             "package-0/core",
                                             "other-rapl package-0" };
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_new();
        size_t n_found = 0;
        WireReader rail;

        tree_put(&tree, ZONE "intel-rapl:0/name", "package-0\n");
        tree_put(&tree, ZONE "intel-rapl:0/energy_uj", "1\n");
        tree_put(&tree, ZONE "intel-rapl:0:0/name", "core\n");
        tree_put(&tree, ZONE "intel-rapl:0:0/energy_uj", "2\n");
        tree_put(&tree, ZONE "other-rapl:0/name", "package-0\n");
        tree_put(&tree, ZONE "other-rapl:0/energy_uj", "3\n");
        record_once(&tree, &list);
        for (size_t i = 0; message_submessage(find(&list, PACKET_POWER_RAILS, 0), 1, i, &rail); i++)
                for (size_t k = 0; k < ARRAY_SIZE(names); k++)
                        n_found += message_has_text(rail, 2, names[k]);
        ck_assert_uint_eq(n_found, ARRAY_SIZE(names));
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_what_drivers_get_wrong_is_left_out) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_battery();
        char name[256] = ZONE;
        WireReader battery;

        tree_put(&tree, SUPPLY "BAT0/power_now", "9223372036854775807\n");
        tree_put(&tree, SUPPLY "BAT0/voltage_now", "-9223372036854775808\n");
        tree_put(&tree, SUPPLY "BAT0/energy_now", "99999999999999999999999999\n");
        tree_put(&tree, SUPPLY "BAT0/charge_now", "12 apples\n");
        tree_put_unreadable(&tree, SUPPLY "BAT0/current_now");
        tree_put(&tree, SUPPLY "BAT1/type", "Battery\n");
        tree_put(&tree, SUPPLY "BAT1/present", "0\n");
        tree_put(&tree, SUPPLY "BAT1/capacity", "5\n");
        tree_put(&tree, SUPPLY "AC/type", "Mains\n"); /* without "online" */
        tree_put(&tree, SUPPLY "file", "not a directory\n");
        memset(name + strlen(ZONE), ':', POWER_NAME_BYTES);
        strcat(name, "/energy_uj");
        tree_put(&tree, name, "1\n");
        tree_put(&tree, ZONE "intel-rapl:0/energy_uj", "nothing\n");
        record_once(&tree, &list);
        ck_assert_uint_eq(count(&list, PACKET_BATTERY), 1);
        battery = find(&list, PACKET_BATTERY, 0);
        ck_assert_uint_eq(message_count(battery, 2), 1);
        ck_assert_uint_eq(message_count(battery, 1) + message_count(battery, 3), 0);
        ck_assert_uint_eq(message_count(battery, 6) + message_count(battery, 7), 0);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_devices_may_vanish_and_appear_while_they_are_recorded) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_with_battery();
        void *probe = record(&tree, &list);

        sample(probe, 1);
        ck_assert_uint_eq(count(&list, PACKET_BATTERY), 1);
        for (size_t i = 0; i < ARRAY_SIZE(battery_files); i++)
                tree_remove(&tree, battery_files[i][0]);
        sample(probe, 2);
        ck_assert_uint_eq(count(&list, PACKET_BATTERY), 1);
        tree_put(&tree, SUPPLY "BAT9/type", "Battery\n");
        tree_put(&tree, SUPPLY "BAT9/capacity", "50\n");
        sample(probe, 3);
        ck_assert_uint_eq(count(&list, PACKET_BATTERY), 2);
        sysfs_power_probe_ops.free(probe);
        packet_list_deinit(&list);
        tree_free(&tree);
}
END_TEST

START_TEST(test_a_machine_without_any_is_refused_with_the_reason) {
        PacketList list = PACKET_LIST_INIT;
        Tree tree = tree_new();
        char *error = NULL;
        void *probe;

        ck_assert_int_eq(sysfs_power_new(&probe, dup(tree.fd), &list.sink, &error),
                         PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "no battery or energy counter on this machine"), "%s", error);
        free(error);

        /* There, but not for us (a link to itself fails for root, too). */
        tree_put(&tree, ZONE "intel-rapl:0/name", "package-0\n");
        ck_assert_int_eq(symlinkat("energy_uj", tree.fd, ZONE "intel-rapl:0/energy_uj"), 0);
        ck_assert_int_eq(sysfs_power_new(&probe, dup(tree.fd), &list.sink, &error),
                         PROBE_E_REFUSED);
        ck_assert_msg(strstr(error, "cannot read the energy counters"), "%s", error);
        free(error);
        tree_free(&tree);
}
END_TEST

/* Either it has something to record, or it says that it has not. */
START_TEST(test_this_machine_is_recorded_or_refused) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .config = &config, .sink = &list.sink };
        char *error = NULL;
        void *probe = NULL;
        int r;

        r = sysfs_power_probe_ops.setup(&probe, &setup, &error);
        if (r == 0)
                sample(probe, probe_now_ns());
        else
                ck_assert_msg(r == PROBE_E_REFUSED && strlen(error) > 0, "%d", r);
        ck_assert_int_eq(r == 0, list.n > 0);
        sysfs_power_probe_ops.free(probe);
        packet_list_deinit(&list);
        free(error);
}
END_TEST

TEST_MAIN("sysfs-power",
          test_power_and_status_of_a_battery_are_tracks,
          test_power_is_computed_where_only_current_is_known,
          test_a_laptops_only_battery_has_no_name_and_discharges_below_zero,
          test_current_and_its_average_have_their_own_fields_and_the_batterys_sign,
          test_batteries_are_named_when_there_are_several_and_those_of_devices_always,
          test_an_adapter_is_a_counter_track,
          test_energy_counters_go_on_when_the_hardware_starts_again,
          test_parts_of_a_package_and_other_counters_have_names_of_their_own,
          test_what_drivers_get_wrong_is_left_out,
          test_devices_may_vanish_and_appear_while_they_are_recorded,
          test_a_machine_without_any_is_refused_with_the_reason,
          test_this_machine_is_recorded_or_refused)
