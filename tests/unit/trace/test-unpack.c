/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Traces with compressed packets in them, sound and otherwise. */

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "test.h"
#include "trace/trace-reader.h"
#include "trace/trace-unpack.h"
#include "wire/wire-writer.h"

#define FIELD_PLAIN   900
#define FIELD_DEFLATE 50
#define FIELD_ZSTD    133

static uint8_t memory[1 << 20];

static void put_plain(WireWriter *writer, uint64_t number) {
        size_t packet = wire_begin(writer, 1);

        wire_put_uint(writer, FIELD_PLAIN, number);
        wire_end(writer, packet);
}

static void put_bytes(WireWriter *writer, uint32_t field, const void *data, size_t n) {
        size_t packet = wire_begin(writer, 1);

        wire_put_bytes(writer, field, data, n);
        wire_end(writer, packet);
}

/* The compressed form of these bytes. */
static size_t pack(uint32_t field, const void *data, size_t n, uint8_t ret[static 1 << 16]) {
        uLongf n_packed = 1 << 16;

        if (field == FIELD_ZSTD)
                return ZSTD_compress(ret, n_packed, data, n, 1);
        ck_assert_int_eq(compress(ret, &n_packed, data, n), Z_OK);
        return n_packed;
}

/* n packets of these numbers, compressed together. */
static void put_packed(WireWriter *writer, uint32_t field, uint64_t first, size_t n) {
        static uint8_t plain[1 << 16], packed[1 << 16];
        WireWriter inner;

        wire_writer_init(&inner, plain, sizeof(plain));
        for (size_t i = 0; i < n; i++)
                put_plain(&inner, first + i);
        put_bytes(writer, field, packed, pack(field, plain, wire_writer_size(&inner), packed));
}

static uint64_t offset; /* where the last reading ended */

/* A file of it, read to the end: how many packets come, which count up from 1, and the outcome. */
static size_t read_numbers(const WireWriter *writer, int *ret_outcome) {
        int fd = memfd_create("test", MFD_CLOEXEC);
        const uint8_t *packet;
        TraceReader reader;
        size_t n, count = 0;

        ck_assert_int_ge(fd, 0);
        ck_assert(!wire_writer_failed(writer));
        ck_assert_int_eq(pwrite(fd, memory, wire_writer_size(writer), 0),
                         (ssize_t)wire_writer_size(writer));
        trace_reader_init(&reader, fd);
        while ((*ret_outcome = trace_reader_next(&reader, &packet, &n)) == 0) {
                uint8_t wanted[16];
                WireWriter number;

                wire_writer_init(&number, wanted, sizeof(wanted));
                wire_put_uint(&number, FIELD_PLAIN, ++count);
                ck_assert_uint_eq(n, wire_writer_size(&number));
                ck_assert_mem_eq(packet, wanted, n);
        }
        offset = trace_reader_offset(&reader);
        trace_reader_deinit(&reader);
        close(fd);
        return count;
}

START_TEST(test_compressed_packets_are_read_as_if_they_were_not) {
        WireWriter writer;
        int outcome;

        wire_writer_init(&writer, memory, sizeof(memory));
        put_plain(&writer, 1);
        put_packed(&writer, FIELD_ZSTD, 2, 1000);
        put_plain(&writer, 1002);
        put_packed(&writer, FIELD_DEFLATE, 1003, 1000);
        put_packed(&writer, FIELD_ZSTD, 2003, 0);
        put_packed(&writer, FIELD_ZSTD, 2003, 1);
        ck_assert_uint_eq(read_numbers(&writer, &outcome), 2003);
        ck_assert_int_eq(outcome, TRACE_READER_E_END);
}
END_TEST

START_TEST(test_broken_compressed_packets_end_the_reading) {
        static const uint32_t fields[] = { FIELD_ZSTD, FIELD_DEFLATE };

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                static uint8_t packed[1 << 16];
                WireWriter writer;
                size_t n, n_sound;
                int outcome;

                n = pack(fields[i],
                         "\x0a\x05"
                         "12345",
                         7,
                         packed);
                for (size_t cut = 0; cut < n; cut++) {
                        wire_writer_init(&writer, memory, sizeof(memory));
                        put_plain(&writer, 1);
                        n_sound = wire_writer_size(&writer);
                        put_bytes(&writer, fields[i], packed, cut);
                        put_plain(&writer, 2);
                        ck_assert_uint_eq(read_numbers(&writer, &outcome), 1);
                        ck_assert_int_eq(outcome, TRACE_READER_E_GARBAGE);
                        ck_assert_uint_eq(offset, n_sound);
                }
                /* Sound, but no trace. */
                n = pack(fields[i],
                         "\x0a\x7f"
                         "12345",
                         7,
                         packed);
                wire_writer_init(&writer, memory, sizeof(memory));
                put_bytes(&writer, fields[i], packed, n);
                ck_assert_uint_eq(read_numbers(&writer, &outcome), 0);
                ck_assert_int_eq(outcome, TRACE_READER_E_GARBAGE);
                ck_assert_uint_eq(offset, 0);
        }
}
END_TEST

/* A frame of zeros without end would be. */
START_TEST(test_what_unpacks_to_too_much_is_refused) {
        static uint8_t zeros[1 << 20], packed[1 << 19];
        size_t n_packed = 0, n = 0;
        ZSTD_CCtx *context = ZSTD_createCCtx();
        ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
        Bytes unpacked = {};
        WireWriter writer;

        for (n = 0; n <= TRACE_UNPACKED_BYTES_MAX; n += sizeof(zeros)) {
                ZSTD_inBuffer in = { zeros, sizeof(zeros), 0 };

                ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
        }
        ZSTD_compressStream2(context, &out, &(ZSTD_inBuffer){}, ZSTD_e_end);
        ZSTD_freeCCtx(context);
        n_packed = out.pos;
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bytes(&writer, FIELD_ZSTD, packed, n_packed);
        ck_assert(!wire_writer_failed(&writer));
        ck_assert_int_eq(trace_unpack(&unpacked, memory, wire_writer_size(&writer)),
                         TRACE_UNPACK_E_CORRUPT);
        bytes_deinit(&unpacked);
}
END_TEST

TEST_MAIN("unpack",
          test_compressed_packets_are_read_as_if_they_were_not,
          test_broken_compressed_packets_end_the_reading,
          test_what_unpacks_to_too_much_is_refused)
