/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "packet/packet-check.h"
#include "packet/packet-rules.h"
#include "shared/macro.h"
#include "test.h"
#include "wire/wire-writer.h"

enum {
        FTRACE_EVENTS = 1,
        CLOCK_SNAPSHOT = 6,
        TRACK_EVENT = 11,
        JOURNALD_EVENT = 132,
        FOR_TESTING = 900,
};

static int check(const PacketRules *rules, const uint8_t *packet, size_t n) {
        const struct iovec slice = { (void *)packet, n };
        PacketFacts facts;

        return packet_check(&slice, 1, rules, &facts);
}

/* A packet about one field, or two. */
static int check_fields(const PacketRules *rules, uint32_t first, uint32_t second) {
        uint8_t packet[32];
        WireWriter writer;

        wire_writer_init(&writer, packet, sizeof(packet));
        wire_put_uint(&writer, 8, 12345);
        wire_put_bytes(&writer, first, "", 0);
        if (second)
                wire_put_bytes(&writer, second, "", 0);
        return check(rules, packet, wire_writer_size(&writer));
}

START_TEST(test_programs_cannot_pose_as_the_kernel) {
        static const uint32_t fields[] = { FTRACE_EVENTS, 2, 7, 9, 34, 67, JOURNALD_EVENT };

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                ck_assert_int_eq(check_fields(packet_rules_default(false), fields[i], 0),
                                 PACKET_E_FORBIDDEN);
                ck_assert_int_eq(check_fields(packet_rules_default(true), fields[i], 0), 0);
        }
}
END_TEST

START_TEST(test_nothing_hides_behind_an_allowed_field) {
        ck_assert_int_eq(check_fields(packet_rules_default(false), TRACK_EVENT, FTRACE_EVENTS),
                         PACKET_E_FORBIDDEN);
        ck_assert_int_eq(check_fields(packet_rules_default(false), TRACK_EVENT, TRACK_EVENT), 0);
}
END_TEST

START_TEST(test_programs_may_write_what_nobody_knows) {
        ck_assert_int_eq(check_fields(packet_rules_default(false), FOR_TESTING, 0), 0);
        ck_assert_int_eq(check_fields(packet_rules_default(false), PACKET_RULES_FIELDS + 1, 100000),
                         0);
}
END_TEST

START_TEST(test_declared_sources_write_what_they_declared) {
        static const uint32_t fields[] = { TRACK_EVENT, FOR_TESTING };
        PacketRules rules;
        uint32_t wrong;

        ck_assert(packet_rules_declare(&rules, false, fields, ARRAY_SIZE(fields), &wrong));
        ck_assert_int_eq(check_fields(&rules, TRACK_EVENT, FOR_TESTING), 0);
        ck_assert_int_eq(check_fields(&rules, 60, 0), PACKET_E_FORBIDDEN);
        ck_assert_int_eq(check_fields(&rules, TRACK_EVENT, 899), PACKET_E_FORBIDDEN);
}
END_TEST

START_TEST(test_programs_cannot_declare_what_is_the_machines) {
        static const uint32_t fields[] = { TRACK_EVENT, JOURNALD_EVENT };
        PacketRules rules;
        uint32_t wrong = 0;

        ck_assert(!packet_rules_declare(&rules, false, fields, ARRAY_SIZE(fields), &wrong));
        ck_assert_uint_eq(wrong, JOURNALD_EVENT);
        ck_assert(packet_rules_declare(&rules, true, fields, ARRAY_SIZE(fields), &wrong));
}
END_TEST

/* A snapshot of clocks with these ids, 0 ends them; returns its size. */
static size_t put_snapshot(uint8_t *packet, size_t n, const uint32_t ids[]) {
        WireWriter writer;
        size_t snapshot, clock;

        wire_writer_init(&writer, packet, n);
        snapshot = wire_begin(&writer, CLOCK_SNAPSHOT);
        for (; *ids; ids++) {
                clock = wire_begin(&writer, 1);
                wire_put_uint(&writer, 1, *ids);
                wire_put_uint(&writer, 2, 1234567890);
                wire_end(&writer, clock);
        }
        wire_put_uint(&writer, 2, 6);
        wire_end(&writer, snapshot);
        return wire_writer_size(&writer);
}

static const struct {
        const char *what;
        uint32_t ids[4];
        int outcome;
} snapshots[] = {
        { "an own clock and one of the machine's", { 6, 64 }, 0 },
        { "own clocks only", { 64, 65, 200 }, 0 },
        { "two of the machine's", { 6, 1 }, PACKET_E_FORBIDDEN },
        { "two of the machine's around an own", { 3, 64, 6 }, PACKET_E_FORBIDDEN },
        { "the same one twice", { 6, 6 }, PACKET_E_FORBIDDEN },
};

START_TEST(test_programs_cannot_tie_the_machines_clocks) {
        for (size_t i = 0; i < ARRAY_SIZE(snapshots); i++) {
                uint8_t packet[128];
                size_t n = put_snapshot(packet, sizeof(packet), snapshots[i].ids);

                ck_assert_msg(check(packet_rules_default(false), packet, n) == snapshots[i].outcome,
                              "%s",
                              snapshots[i].what);
                ck_assert_int_eq(check(packet_rules_default(true), packet, n), 0);
        }
}
END_TEST

START_TEST(test_cuts_through_snapshots_make_no_difference) {
        for (size_t i = 0; i < ARRAY_SIZE(snapshots); i++) {
                uint8_t packet[128];
                size_t n = put_snapshot(packet, sizeof(packet), snapshots[i].ids);

                for (size_t cut = 0; cut <= n; cut++) {
                        const struct iovec slices[] = { { packet, cut },
                                                        { packet + cut, n - cut } };
                        PacketFacts facts;

                        ck_assert_int_eq(
                                packet_check(slices, 2, packet_rules_default(false), &facts),
                                snapshots[i].outcome);
                }
        }
}
END_TEST

START_TEST(test_snapshots_have_a_limit) {
        static uint8_t packet[2 * PACKET_CLOCKS_BYTES_MAX];
        static const char padding[PACKET_CLOCKS_BYTES_MAX];
        WireWriter writer;
        size_t snapshot;

        wire_writer_init(&writer, packet, sizeof(packet));
        snapshot = wire_begin(&writer, CLOCK_SNAPSHOT);
        wire_put_bytes(&writer, 99, padding, sizeof(padding));
        wire_end(&writer, snapshot);
        ck_assert_int_eq(check(packet_rules_default(false), packet, wire_writer_size(&writer)),
                         PACKET_E_FORBIDDEN);
        ck_assert_int_eq(check(packet_rules_default(true), packet, wire_writer_size(&writer)), 0);
}
END_TEST

START_TEST(test_broken_snapshots_are_malformed) {
        static const char *const packets[] = {
                "\x32\x02\x0a\x05", /* a clock that is longer than its snapshot */
                "\x32\x04\x0a\x02\x08\x80",
                "\x30\x01", /* no message */
                "\x32\x05\x0a",
        };

        for (size_t i = 0; i < ARRAY_SIZE(packets); i++)
                ck_assert_msg(check(packet_rules_default(false),
                                    (const uint8_t *)packets[i],
                                    strlen(packets[i])) == PACKET_E_MALFORMED,
                              "packet %zu",
                              i);
}
END_TEST

START_TEST(test_session_knows_each_producers_rules) {
        SessionRules rules = {}, copy = {};
        uint32_t wrong;

        /* In an order that is not that of the ids. */
        for (uint64_t i = 0; i < 200; i++) {
                const uint64_t id = 1 + i * 77 % 200;
                const uint32_t field = 100 + (uint32_t)id;
                PacketRules own;

                ck_assert(packet_rules_declare(&own, true, &field, 1, &wrong));
                ck_assert_int_eq(session_rules_add(&rules, id, &own), 0);
        }
        ck_assert_int_eq(session_rules_copy(&copy, &rules), 0);
        session_rules_deinit(&rules);
        for (uint64_t id = 1; id <= 200; id++) {
                const PacketRules *found = session_rules_find(&copy, id);

                ck_assert(packet_rules_allow(found, 100 + id));
                ck_assert(!packet_rules_allow(found, 101 + id));
        }
        session_rules_deinit(&copy);
}
END_TEST

START_TEST(test_sources_of_a_producer_add_up) {
        static const uint32_t first = TRACK_EVENT, second = FOR_TESTING;
        SessionRules rules = {};
        PacketRules own;
        uint32_t wrong;

        ck_assert(packet_rules_declare(&own, false, &first, 1, &wrong));
        ck_assert_int_eq(session_rules_add(&rules, 5, &own), 0);
        ck_assert(packet_rules_declare(&own, false, &second, 1, &wrong));
        ck_assert_int_eq(session_rules_add(&rules, 5, &own), 0);
        ck_assert_int_eq(check_fields(session_rules_find(&rules, 5), TRACK_EVENT, FOR_TESTING), 0);
        ck_assert_int_eq(check_fields(session_rules_find(&rules, 5), 60, 0), PACKET_E_FORBIDDEN);
        session_rules_deinit(&rules);
}
END_TEST

START_TEST(test_unknown_producers_are_programs) {
        SessionRules rules = {};

        ck_assert_ptr_eq(session_rules_find(&rules, 1), packet_rules_default(false));
}
END_TEST

TEST_MAIN("packet-rules",
          test_programs_cannot_pose_as_the_kernel,
          test_nothing_hides_behind_an_allowed_field,
          test_programs_may_write_what_nobody_knows,
          test_declared_sources_write_what_they_declared,
          test_programs_cannot_declare_what_is_the_machines,
          test_programs_cannot_tie_the_machines_clocks,
          test_cuts_through_snapshots_make_no_difference,
          test_snapshots_have_a_limit,
          test_broken_snapshots_are_malformed,
          test_session_knows_each_producers_rules,
          test_sources_of_a_producer_add_up,
          test_unknown_producers_are_programs)
