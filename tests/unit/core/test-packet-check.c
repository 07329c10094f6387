/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "buffer/trace-buffer.h"
#include "packet/packet-check.h"
#include "test.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

#define CASE(_bytes) .bytes = (_bytes), .n = sizeof(_bytes) - 1

static const struct {
        const char *what;
        const char *bytes;
        size_t n;
        int outcome;
        PacketFacts facts;
} cases[] = {
        { "nothing at all", CASE("") },
        { "only a timestamp", CASE("\x40\x85\x01"), .facts = { .timestamp = 133 } },
        { "a track event",
          CASE("\x40\x05"
               "\x5a\x02\x48\x01"),
          .facts = { .timestamp = 5, .data_field = 11 } },
        { "the first data field counts",
          CASE("\x0a\x00"
               "\x5a\x00"),
          .facts = { .data_field = 1 } },
        { "loss and first packet",
          CASE("\xd0\x02\x81\x02"
               "\xb8\x05\x01"),
          .facts = { .dropped = 257, .is_first_on_sequence = true } },
        { "sequence flags and interned data",
          CASE("\x68\x03"
               "\x62\x01\xff"),
          .facts = { .sequence_flags = 3 } },
        { "fixed numbers",
          CASE("\xd1\x0f"
               "12345678"
               "\xd5\x0f"
               "1234"),
          .facts = { .data_field = 250 } },
        { "unknown fields survive",
          CASE("\xf8\xff\xff\xff\x0f\x01"),
          .facts = { .data_field = 0x1fffffff } },
        { "a redundant length",
          CASE("\x5a\x82\x80\x80\x00"
               "ab"),
          .facts = { .data_field = 11 } },
        { "a long tag of a known field",
          CASE("\xc0\x80\x80\x00\x07"),
          .facts = { .timestamp = 7 } },

        { "uid", CASE("\x18\x00"), PACKET_E_RESERVED },
        { "sequence id", CASE("\x50\x01"), PACKET_E_RESERVED },
        { "sequence id with a long tag", CASE("\xd0\x80\x80\x00\x01"), PACKET_E_RESERVED },
        { "config", CASE("\x8a\x02\x00"), PACKET_E_RESERVED },
        { "stats", CASE("\x9a\x02\x00"), PACKET_E_RESERVED },
        { "marker", CASE("\xa2\x02\x00"), PACKET_E_RESERVED },
        { "compressed", CASE("\x92\x03\x00"), PACKET_E_RESERVED },
        { "service event", CASE("\xaa\x04\x00"), PACKET_E_RESERVED },
        { "pid", CASE("\xf8\x04\x00"), PACKET_E_RESERVED },
        { "machine", CASE("\x90\x06\x00"), PACKET_E_RESERVED },
        { "provenance", CASE("\xe2\x07\x00"), PACKET_E_RESERVED },
        { "protovms", CASE("\xea\x07\x00"), PACKET_E_RESERVED },
        { "zstd", CASE("\xaa\x08\x00"), PACKET_E_RESERVED },
        { "system info", CASE("\xea\x02\x00"), PACKET_E_RESERVED },
        { "trigger", CASE("\xf2\x02\x00"), PACKET_E_RESERVED },
        { "uuid", CASE("\xca\x05\x00"), PACKET_E_RESERVED },
        { "clock sync", CASE("\xda\x06\x00"), PACKET_E_RESERVED },
        { "clone trigger", CASE("\x8a\x07\x00"), PACKET_E_RESERVED },
        { "attributes", CASE("\xf2\x07\x00"), PACKET_E_RESERVED },
        { "other sessions", CASE("\xb2\x08\x00"), PACKET_E_RESERVED },
        { "reserved behind something harmless",
          CASE("\x5a\x02"
               "zz"
               "\x18\x00"),
          PACKET_E_RESERVED },

        { "value missing", CASE("\x40"), PACKET_E_MALFORMED },
        { "field number 0", CASE("\x00\x01"), PACKET_E_MALFORMED },
        { "field number 2^29", CASE("\x80\x80\x80\x80\x10\x01"), PACKET_E_MALFORMED },
        { "longer than the rest",
          CASE("\x5a\x05"
               "abc"),
          PACKET_E_MALFORMED },
        { "length 2^64 - 1",
          CASE("\x5a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
          PACKET_E_MALFORMED },
        { "a group", CASE("\x5b\x5c"), PACKET_E_MALFORMED },
        { "wire type 7", CASE("\x5f\x00"), PACKET_E_MALFORMED },
        { "fixed64 cut off",
          CASE("\xd1\x0f"
               "1234567"),
          PACKET_E_MALFORMED },
        { "fixed32 cut off",
          CASE("\xd5\x0f"
               "123"),
          PACKET_E_MALFORMED },
        { "an eleven-byte varint",
          CASE("\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
          PACKET_E_MALFORMED },
};

static void check_case(size_t i, const struct iovec *slices, size_t n_slices) {
        PacketFacts facts = {}, expected = cases[i].facts;
        int r;

        expected.n_bytes = cases[i].outcome == 0 ? cases[i].n : 0;
        r = packet_check(slices, n_slices, packet_rules_default(true), &facts);
        ck_assert_msg(r == cases[i].outcome, "%s: %d", cases[i].what, r);
        ck_assert_msg(facts.data_field == expected.data_field,
                      "%s: field %u",
                      cases[i].what,
                      facts.data_field);
        ck_assert_msg(facts.timestamp == expected.timestamp, "%s: timestamp", cases[i].what);
        ck_assert_msg(
                facts.dropped == expected.dropped, "%s: dropped %u", cases[i].what, facts.dropped);
        ck_assert_msg(facts.sequence_flags == expected.sequence_flags, "%s: flags", cases[i].what);
        ck_assert_msg(facts.is_first_on_sequence == expected.is_first_on_sequence,
                      "%s: first",
                      cases[i].what);
        ck_assert_msg(
                facts.n_bytes == expected.n_bytes, "%s: %zu bytes", cases[i].what, facts.n_bytes);
}

/* A piece of exactly this size, so that the sanitizers see a read past its end. */
static struct iovec slice_new(const char *bytes, size_t n) {
        struct iovec slice = { .iov_base = malloc(n ? n : 1), .iov_len = n };

        ck_assert_ptr_nonnull(slice.iov_base);
        memcpy(slice.iov_base, bytes, n);
        return slice;
}

START_TEST(test_whole_packets_are_judged) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct iovec slice = slice_new(cases[i].bytes, cases[i].n);

                check_case(i, &slice, 1);
                free(slice.iov_base);
        }
}
END_TEST

START_TEST(test_cuts_make_no_difference) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t cut = 0; cut <= cases[i].n; cut++) {
                        struct iovec slices[3] = {
                                slice_new(cases[i].bytes, cut),
                                slice_new("", 0),
                                slice_new(cases[i].bytes + cut, cases[i].n - cut),
                        };

                        check_case(i, slices, 3);
                        for (size_t s = 0; s < 3; s++)
                                free(slices[s].iov_base);
                }
}
END_TEST

START_TEST(test_single_bytes_make_no_difference) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct iovec slices[64];

                ck_assert_uint_lt(cases[i].n, ARRAY_SIZE(slices));
                for (size_t s = 0; s < cases[i].n; s++)
                        slices[s] = slice_new(cases[i].bytes + s, 1);
                check_case(i, slices, cases[i].n);
                for (size_t s = 0; s < cases[i].n; s++)
                        free(slices[s].iov_base);
        }
}
END_TEST

START_TEST(test_too_long_packet_is_malformed) {
        static uint8_t zeros[1];
        struct iovec slices[2] = { { zeros, 1 }, { zeros, PACKET_BYTES_MAX } };
        PacketFacts facts;

        /* Refused by its length alone: the bytes, which are not there, are never looked at. */
        ck_assert_int_eq(packet_check(slices, 2, packet_rules_default(true), &facts),
                         PACKET_E_MALFORMED);
}
END_TEST

START_TEST(test_trusted_fields_are_what_the_service_says) {
        static const PacketTrust trusts[] = {
                { .uid = 1000,
                  .pid = 4242,
                  .sequence_id = 7,
                  .loss = LOSS_PRESENT | LOSS_OVERWRITE },
                { .uid = 0, .sequence_id = 2 },
                { .uid = (uid_t)-1,
                  .pid = INT32_MAX,
                  .sequence_id = UINT32_MAX,
                  .loss = UINT32_MAX },
        };

        for (size_t i = 0; i < ARRAY_SIZE(trusts); i++) {
                uint8_t memory[PACKET_TRUST_BYTES_MAX];
                uint64_t values[80] = {};
                WireReader reader;
                WireField field;

                wire_reader_init(&reader, memory, packet_put_trust(memory, &trusts[i]));
                while (wire_read(&reader, &field) == 1) {
                        ck_assert_uint_lt(field.number, ARRAY_SIZE(values));
                        values[field.number] = field.value;
                }
                ck_assert_ptr_eq(reader.at, reader.end);
                ck_assert_int_eq((int64_t)values[3], (int32_t)trusts[i].uid);
                ck_assert_uint_eq(values[10], trusts[i].sequence_id);
                ck_assert_uint_eq(values[79], (uint64_t)trusts[i].pid);
                ck_assert_uint_eq(values[42], trusts[i].loss);
        }
}
END_TEST

TEST_MAIN("packet-check",
          test_whole_packets_are_judged,
          test_cuts_make_no_difference,
          test_single_bytes_make_no_difference,
          test_too_long_packet_is_malformed,
          test_trusted_fields_are_what_the_service_says)
