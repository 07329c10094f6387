/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Frames of programs that write anything into their rings. Nothing is read outside of them, limits hold, and what is
 * written is well-formed, with as many ends as beginnings.
 */

#include "bridges/sysprof/capture-recorder.h"
#include "fuzz-slices.h"
#include "fuzz.h"
#include "wire/wire-reader.h"

#define NOW_NS INT64_C(100000000000)

static int64_t n_open;

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        fuzz_check_packet(packet, n_bytes, &n_open);
        return 0;
}

/* Three bytes say of which stream, and how many, the next ones are. */
static void step(CaptureRecorder *recorder, FuzzInput *input) {
        const uint64_t stream = fuzz_take(input) % 4;
        const uint8_t *bytes, *copy;
        size_t n = fuzz_take_16(input);

        n = fuzz_take_bytes(input, n, &bytes);
        copy = memcpy(malloc(n + 1), bytes, n); /* of its own, for the sanitizer */
        capture_recorder_take(recorder, stream, copy, n, NOW_NS);
        free((void *)copy);
        if (stream == 0)
                capture_recorder_write(recorder);
        FUZZ_CHECK(recorder->n_streams <= CAPTURE_STREAMS_MAX);
        FUZZ_CHECK(recorder->n_slices <= CAPTURE_MARKS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        PacketSink sink = { .write = check_packet };
        CaptureRecorder recorder;
        PacketWriter packets;
        TrackWriter tracks;

        n_open = 0;
        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        FUZZ_CHECK(capture_recorder_init(&recorder, &tracks) == 0);
        while (input.n_left > 0)
                step(&recorder, &input);
        capture_recorder_write(&recorder);
        FUZZ_CHECK(n_open == 0 || packets.n_dropped > 0);
        capture_recorder_deinit(&recorder);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        return 0;
}
