/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The numbers of a session, as perfetto.protos.TraceStats. */

#include <stddef.h>

#include "fixture.h"

static Fixture f;

/* As protos/perfetto/common/trace_stats.proto numbers them. */
#define FIELD(number, name) \
        { number, offsetof(TraceBufferStats, name) }

static const struct {
        uint32_t number;
        size_t offset;
} stats_fields[] = {
        FIELD(1, bytes_written),
        FIELD(2, chunks_written),
        FIELD(3, chunks_overwritten),
        FIELD(4, write_wrap_count),
        FIELD(5, patches_succeeded),
        FIELD(6, patches_failed),
        FIELD(7, readaheads_succeeded),
        FIELD(8, readaheads_failed),
        FIELD(9, abi_violations),
        FIELD(10, chunks_rewritten),
        FIELD(11, chunks_committed_out_of_order),
        FIELD(12, buffer_bytes),
        FIELD(13, bytes_overwritten),
        FIELD(14, bytes_read),
        FIELD(15, padding_bytes_written),
        FIELD(16, padding_bytes_cleared),
        FIELD(17, chunks_read),
        FIELD(18, chunks_discarded),
        FIELD(19, trace_writer_packet_loss),
        FIELD(20, chunks_relocated),
};

START_TEST(test_each_number_of_a_buffer_has_its_own_field) {
        FakeConsumer *consumer;
        TestPacket stats, buffer;
        WireField field;
        Bytes bytes = {};
        uint8_t *numbers;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        numbers = (uint8_t *)session_buffer_stats(consumer->session, 0);
        for (size_t i = 0; i < ARRAY_SIZE(stats_fields); i++)
                memcpy(numbers + stats_fields[i].offset, &(uint64_t){ 1000 + i }, sizeof(uint64_t));
        ck_assert_int_eq(session_append_stats(consumer->session, &bytes), 0);
        stats = (TestPacket){ bytes.data, bytes.n };
        ck_assert(packet_field(&stats, 1, &field));
        buffer = (TestPacket){ field.data, field.n_bytes };
        for (size_t i = 0; i < ARRAY_SIZE(stats_fields); i++)
                ck_assert_uint_eq(packet_uint(&buffer, stats_fields[i].number), 1000 + i);
        bytes_deinit(&bytes);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-stats", test_each_number_of_a_buffer_has_its_own_field)
