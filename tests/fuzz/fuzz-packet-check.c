/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first two bytes say where the packet is cut. The check, which walks slices, must agree with
 * the plain reader, which walks the whole.
 */

#include "fuzz.h"
#include "packet/packet-check.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

static bool is_reserved(uint32_t number) {
        static const uint32_t reserved[] = { 3,  10, 33,  35,  36,  45,  46,  50,  69, 79,
                                             89, 98, 107, 113, 124, 125, 126, 133, 134 };

        for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
                if (number == reserved[i])
                        return true;
        return false;
}

/* 0: a message; *ret_reserved: with a reserved field, also of the one at which a bad message ends.
 * */
static int read_plainly(const uint8_t *packet, size_t n_bytes, bool *ret_reserved) {
        WireReader reader;
        WireField field;
        uint64_t tag;
        int r;

        *ret_reserved = false;
        wire_reader_init(&reader, packet, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                *ret_reserved = *ret_reserved || is_reserved(field.number);
        if (r < 0) {
                const uint8_t *end = packet + n_bytes;

                /* A failed read may leave the reader inside the field: walk to it again. */
                wire_reader_init(&reader, packet, n_bytes);
                for (WireReader next = reader; wire_read(&next, &field) > 0;)
                        reader = next;
                if (reader.at < end && wire_read_varint(&reader, &tag) == 0 &&
                    tag >> 3 <= UINT32_MAX)
                        *ret_reserved = *ret_reserved || is_reserved((uint32_t)(tag >> 3));
        }
        return r;
}

static void check_trust(const PacketFacts *facts) {
        uint8_t memory[PACKET_TRUST_BYTES_MAX];
        PacketTrust trust = {
                .uid = facts->data_field,
                .pid = (pid_t)(facts->timestamp & INT32_MAX),
                .sequence_id = facts->sequence_flags,
                .loss = facts->dropped,
        };
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, memory, packet_put_trust(memory, &trust));
        while (wire_read(&reader, &field) > 0)
                if (field.number == 10)
                        FUZZ_CHECK(field.value == trust.sequence_id);
        FUZZ_CHECK(reader.at == reader.end);
}

/* A program may write less than the system. What is wrong first is what is said. */
static void check_program(const struct iovec *slices, size_t n_slices, int outcome) {
        PacketFacts facts;
        int r;

        r = packet_check(slices, n_slices, packet_rules_default(false), &facts);
        FUZZ_CHECK(r == outcome || r == PACKET_E_FORBIDDEN || r == PACKET_E_MALFORMED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        size_t first = fuzz_take(&input), second = fuzz_take(&input);
        struct iovec slices[3];
        PacketFacts facts;
        bool reserved;
        int r, plain;

        first = MIN(first, input.n_left);
        second = MIN(second, input.n_left - first);
        slices[0] = (struct iovec){ (void *)input.at, first };
        slices[1] = (struct iovec){ (void *)(input.at + first), second };
        slices[2] = (struct iovec){ (void *)(input.at + first + second),
                                    input.n_left - first - second };

        r = packet_check(slices, ARRAY_SIZE(slices), packet_rules_default(true), &facts);
        plain = read_plainly(input.at, input.n_left, &reserved);
        FUZZ_CHECK((r == 0) == (plain == 0 && !reserved));
        FUZZ_CHECK((r == PACKET_E_RESERVED) == reserved);
        check_program(slices, ARRAY_SIZE(slices), r);
        if (r == 0) {
                FUZZ_CHECK(facts.n_bytes == input.n_left);
                check_trust(&facts);
        }
        return 0;
}
