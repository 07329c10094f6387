/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Events of a profiler that is anything. Nothing is read outside of them, and what is written is well-formed, with as
 * many ends as beginnings, within sensible times.
 */

#include "bridges/pipewire/cycle-recorder.h"
#include "fuzz-slices.h"
#include "fuzz.h"
#include "wire/wire-reader.h"

static int64_t n_open, now_ns;

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        WireReader reader;
        WireField field;

        fuzz_check_packet(packet, n_bytes, &n_open);
        wire_reader_init(&reader, packet, n_bytes);
        while (wire_read(&reader, &field) > 0)
                if (field.number == PACKET_TIMESTAMP) {
                        FUZZ_CHECK(field.value <= (uint64_t)now_ns + 1000000000);
                        FUZZ_CHECK(field.value >= (uint64_t)now_ns - 10000000000);
                }
        return 0;
}

/* The time is that of the first cycle, or else hardly any input would have one. */
static void take(CycleRecorder *recorder, const uint8_t *data, size_t n) {
        uint8_t *copy = memcpy(malloc(n + 1), data, n); /* of its own, for the sanitizer */

        (void)cycle_recorder_take(recorder, copy, n, now_ns);
        FUZZ_CHECK(recorder->cycle.n_followers <= PROFILE_FOLLOWERS_MAX);
        FUZZ_CHECK(n_open == 0);
        free(copy);
}

static int64_t first_time(CycleRecorder *recorder, const uint8_t *data, size_t n) {
        PodReader cycles;
        bool is_known;

        if (profile_begin(&cycles, data, n))
                while (profile_next(&cycles, &recorder->cycle, &is_known))
                        if (is_known && recorder->cycle.driver.signal_ns > 20000000000 &&
                            recorder->cycle.driver.signal_ns < INT64_MAX / 2)
                                return recorder->cycle.driver.signal_ns;
        return 20000000000;
}

/* The first byte says whose process nodes are in. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        PacketSink sink = { .write = check_packet };
        const uint8_t kinds = fuzz_take(&input);
        CycleRecorder recorder;
        PacketWriter packets;
        TrackWriter tracks;

        n_open = 0;
        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        FUZZ_CHECK(cycle_recorder_init(&recorder, &tracks) == 0);
        for (uint32_t id = 0; id < 64; id++)
                node_table_set(&recorder.nodes, id, (kinds >> id % 8 & 1) ? NODE_NODE : NODE_NONE);
        if (input.n_left > 0) {
                now_ns = first_time(&recorder, input.at, input.n_left);
                take(&recorder, input.at, input.n_left);
                take(&recorder, input.at, input.n_left); /* it was all there already */
        }
        cycle_recorder_deinit(&recorder);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        return 0;
}
