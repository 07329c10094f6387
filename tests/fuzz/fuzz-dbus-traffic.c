/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a bus shows to its monitor, in any bytes and any pieces. Nothing is read outside of it, limits hold, and what is
 * written is well-formed.
 */

#include "bridges/dbus/bus-recorder.h"
#include "bridges/dbus/traffic-reader.h"
#include "fuzz.h"
#include "wire/wire-reader.h"

static uint64_t now_ns;

static uint64_t fuzz_now(void) {
        return now_ns += 1000;
}

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, packet, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                ;
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(n_bytes < 4096);
        return 0;
}

static void write_all(BusRecorder *recorder, TrafficRing *ring) {
        Traffic traffic;

        while (traffic_ring_look(ring, &traffic))
                bus_recorder_meet(recorder, &traffic);
        while (traffic_ring_first(ring, &traffic)) {
                FUZZ_CHECK(strlen(traffic.fields.path) < TRAFFIC_PATH_BYTES_MAX);
                bus_recorder_write(recorder, &traffic);
                traffic_ring_release(ring);
                FUZZ_CHECK(recorder->n_calls <= BUS_CALLS_MAX);
                FUZZ_CHECK(recorder->peers.n <= BUS_PEERS_MAX);
        }
        FUZZ_CHECK(traffic_ring_is_empty(ring));
}

/* A byte says how many bytes come next, so that the fuzzer can cut messages anywhere. */
static int feed(TrafficReader *reader, FuzzInput *input) {
        size_t n = fuzz_take(input), n_room;
        void *room = traffic_reader_room(reader, &n_room);
        const uint8_t *bytes;

        FUZZ_CHECK(n_room >= 255);
        n = fuzz_take_bytes(input, n ?: 4096, &bytes);
        memcpy(room, bytes, n);
        return traffic_reader_take(reader, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        PacketSink sink = { .write = check_packet };
        static BusRecorder recorder;
        PacketWriter packets;
        TrackWriter tracks;
        TrafficReader reader;
        TrafficRing ring;

        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        bus_recorder_init(&recorder, &tracks);
        FUZZ_CHECK(traffic_ring_init(&ring) == 0);
        FUZZ_CHECK(traffic_reader_init(&reader, &ring, fuzz_now) == 0);
        while (input.n_left > 0 && feed(&reader, &input) == 0)
                write_all(&recorder, &ring);
        traffic_reader_deinit(&reader);
        traffic_ring_deinit(&ring);
        bus_recorder_deinit(&recorder);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        return 0;
}
