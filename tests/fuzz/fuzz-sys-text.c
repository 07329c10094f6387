/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first byte says which file of /proc or /sys the rest is. Whatever it is, the result is a message that readers
 * understand: of known resources and keys, with printable texts, and the same at the second time, when the lines of
 * counters are known.
 */

#include "fuzz.h"
#include "probes/proc/counters.h"
#include "probes/proc/gpu-frequency.h"
#include "probes/proc/machine.h"
#include "probes/proc/net-dev.h"
#include "probes/proc/stat.h"
#include "shared/bytes.h"
#include "wire/wire-reader.h"

#define NOW_NS 1000000

enum {
        TEXT_MEMINFO,
        TEXT_VMSTAT,
        TEXT_STAT,
        TEXT_DISKSTATS,
        TEXT_PRESSURE,
        TEXT_BUDDYINFO,
        TEXT_SLABINFO,
        TEXT_NET_DEV,
        TEXT_GPU,
        N_TEXTS,
};

typedef struct Target {
        PacketSink sink; /* of tracks */
        PacketWriter packets;
        TrackWriter tracks;
        Counters counters[2];
} Target;

static void check_message(const void *data, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                ;
        FUZZ_CHECK(r == 0);
}

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        check_message(packet, n_bytes);
        return 0;
}

static void check_text(const WireField *field) {
        for (size_t i = 0; i < field->n_bytes; i++)
                FUZZ_CHECK(field->data[i] >= ' ' && field->data[i] <= '~');
}

/* A submessage of SysStats: its texts, and what must be a number that readers know. */
static void check_submessage(uint32_t number, const WireField *message) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.type == WIRE_BYTES)
                        check_text(&field);
                if (field.number == 1 && number == 1)
                        FUZZ_CHECK(field.value >= 1 && field.value <= 38);
                if (field.number == 1 && number == 2)
                        FUZZ_CHECK(field.value >= 1 && field.value <= 188);
                if (field.number == 1 && number == 14)
                        FUZZ_CHECK(field.value >= PSI_CPU_SOME && field.value <= PSI_MEMORY_FULL);
        }
        FUZZ_CHECK(reader.at == reader.end);
}

static void check_stats(const void *data, size_t n_bytes) {
        WireReader reader;
        WireField field;

        check_message(data, n_bytes);
        wire_reader_init(&reader, data, n_bytes);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES)
                        check_submessage(field.number, &field);
}

static void encode(Target *target, uint8_t which, const char *text, WireWriter *wire) {
        static const StatSettings stat = { .wanted = STAT_ALL, .ns_per_tick = 10000000 };
        SysFile file = { .pattern = (uint8_t)text[0] % 6 };
        uint64_t khz;

        switch (which) {
        case TEXT_MEMINFO:
        case TEXT_VMSTAT:
                counters_encode(&target->counters[which], text, wire, &target->tracks, NOW_NS);
                break;
        case TEXT_STAT:
                stat_encode(text, &stat, wire);
                stat_write_tracks(text, &stat, &target->tracks, NOW_NS);
                break;
        case TEXT_DISKSTATS:
                diskstats_encode(text, wire);
                break;
        case TEXT_PRESSURE:
                psi_encode(text, PSI_MEMORY_SOME, PSI_MEMORY_FULL, wire);
                break;
        case TEXT_BUDDYINFO:
                buddyinfo_encode(text, wire);
                break;
        case TEXT_SLABINFO:
                slabinfo_encode(text, wire);
                break;
        case TEXT_NET_DEV:
                net_dev_write_tracks(text, &target->tracks, NOW_NS);
                break;
        case TEXT_GPU:
                (void)gpu_frequency_parse(&file, text, &khz);
                break;
        }
}

static void encode_once(Target *target, uint8_t which, const char *text, Bytes *ret) {
        PacketWriter packets;
        WireWriter *wire;

        packet_writer_init(&packets, &target->sink);
        wire = packet_begin(&packets);
        encode(target, which, text, wire);
        FUZZ_CHECK(!wire_writer_failed(wire));
        FUZZ_CHECK(bytes_append(ret, wire->start, wire_writer_size(wire)) == 0);
        check_stats(ret->data, ret->n);
        packet_writer_deinit(&packets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        Target target = { .sink = { .write = check_packet } };
        FuzzInput input = { data, n_bytes };
        uint8_t which = fuzz_take(&input) % N_TEXTS;
        char *text = strndup((const char *)input.at, input.n_left);
        Bytes first = {}, second = {};

        FUZZ_CHECK(text);
        packet_writer_init(&target.packets, &target.sink);
        track_writer_init(&target.tracks, &target.packets, "fuzz");
        FUZZ_CHECK(counters_init(&target.counters[0], COUNTER_MEMINFO, NULL, 0) == 0);
        FUZZ_CHECK(counters_init(&target.counters[1], COUNTER_VMSTAT, NULL, 0) == 0);
        encode_once(&target, which, text, &first);
        encode_once(&target, which, text, &second);
        FUZZ_CHECK(first.n == second.n &&
                   (first.n == 0 || memcmp(first.data, second.data, first.n) == 0));
        bytes_deinit(&first);
        bytes_deinit(&second);
        counters_deinit(&target.counters[0]);
        counters_deinit(&target.counters[1]);
        track_writer_deinit(&target.tracks);
        packet_writer_deinit(&target.packets);
        free(text);
        return 0;
}
