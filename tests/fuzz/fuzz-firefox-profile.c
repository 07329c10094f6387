/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Profiles that anybody may have written in a browser's place. Nothing is read outside of them, limits hold, and what
 * is written is well-formed, with as many ends as beginnings.
 */

#include "bridges/firefox/gecko-recorder.h"
#include "fuzz-slices.h"
#include "fuzz.h"
#include "wire/wire-reader.h"

#define NOW_NS INT64_C(1000000000000)

static int64_t n_open;

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        fuzz_check_packet(packet, n_bytes, &n_open);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        PacketSink sink = { .write = check_packet };
        ProgramNames names;
        PacketWriter packets;
        TrackWriter tracks;
        GeckoRecorder recorder = {
                .tracks = &tracks, .names = &names, .since_ns = 0, .now_ns = NOW_NS
        };
        GeckoReading reading = {
                .file = n_bytes ? fmemopen((void *)data, n_bytes, "r") : NULL,
                .thread = gecko_recorder_take,
                .userdata = &recorder,
        };

        if (!reading.file)
                return 0;
        n_open = 0;
        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        FUZZ_CHECK(program_names_init(&names) == 0);
        (void)gecko_profile_read(&reading);
        FUZZ_CHECK(n_open == 0 || packets.n_dropped > 0);
        gecko_recorder_deinit(&recorder);
        program_names_deinit(&names);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        fclose(reading.file);
        return 0;
}
