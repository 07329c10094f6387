/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the bridge of the session bus itself does for each message, without the kernel's part: a call and its answer,
 * from the bytes of a monitor's connection to the packets of a trace.
 */

#include "../tests/unit/bridges/dbus-message.h"
#include "bench.h"
#include "bridges/dbus/bus-recorder.h"
#include "bridges/dbus/traffic-reader.h"

#define N_CALLS 500 /* in one run, which is short so that others do not come between */
#define N_LOOK  50  /* messages that one look of the reading thread finds */

typedef struct Bench {
        PacketSink sink;
        PacketWriter packets;
        TrackWriter tracks;
        BusRecorder recorder;
        TrafficRing ring;
        TrafficReader reader;
        uint8_t *bytes; /* of N_CALLS calls and answers */
        size_t n_bytes, n_packets;
} Bench;

static int count_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        ((Bench *)sink)->n_packets++;
        return 0;
}

static void add(Bench *bench, const DbusMessage *message) {
        bench->bytes = realloc(bench->bytes, bench->n_bytes + message->n);
        if (!bench->bytes)
                abort();
        memcpy(bench->bytes + bench->n_bytes, message->data, message->n);
        bench->n_bytes += message->n;
}

static void make_traffic(Bench *bench) {
        for (uint32_t i = 1; i <= N_CALLS; i++) {
                const FrameFields call = {
                        .type = FRAME_METHOD_CALL,
                        .serial = i,
                        .path = "/org/example/Bench",
                        .interface = "org.example.Bench",
                        .member = "Ping",
                        .destination = "org.example.Bench",
                        .sender = ":1.7",
                };
                const FrameFields answer = {
                        .type = FRAME_METHOD_RETURN,
                        .serial = i,
                        .reply_serial = i,
                        .destination = ":1.7",
                        .sender = ":1.6",
                };
                DbusMessage message;

                dbus_message_make(&message, &call, (const char *const[]){ "hello", NULL });
                add(bench, &message);
                dbus_message_make(&message, &answer, (const char *const[]){ "hello", NULL });
                add(bench, &message);
        }
}

static uint64_t now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void bench_init(Bench *bench) {
        *bench = (Bench){ .sink = { .write = count_packet } };
        packet_writer_init(&bench->packets, &bench->sink);
        track_writer_init(&bench->tracks, &bench->packets, "org.freedesktop.dbus");
        bus_recorder_init(&bench->recorder, &bench->tracks);
        if (traffic_ring_init(&bench->ring) < 0 ||
            traffic_reader_init(&bench->reader, &bench->ring, now_ns) < 0)
                abort();
        make_traffic(bench);
        bus_peers_set_owner(&bench->recorder.peers, "org.example.Bench", ":1.6");
}

static void bench_deinit(Bench *bench) {
        free(bench->bytes);
        bus_recorder_deinit(&bench->recorder);
        traffic_reader_deinit(&bench->reader);
        traffic_ring_deinit(&bench->ring);
        track_writer_deinit(&bench->tracks);
        packet_writer_deinit(&bench->packets);
}

/* All of it, as the reading thread gets it: some messages at a time. Returns how much of the bytes is left. */
static size_t read_some(Bench *bench, size_t left) {
        const size_t n_look = bench->n_bytes / (2 * N_CALLS / N_LOOK);
        const size_t n = left < n_look ? left : n_look;
        size_t n_room;
        void *room = traffic_reader_room(&bench->reader, &n_room);

        memcpy(room, bench->bytes + bench->n_bytes - left, n);
        if (n > n_room || traffic_reader_take(&bench->reader, n) < 0)
                abort();
        return left - n;
}

static void drop_all(Bench *bench) {
        Traffic traffic;

        while (traffic_ring_first(&bench->ring, &traffic))
                traffic_ring_release(&bench->ring);
}

static void run_reader(void *userdata) {
        Bench *bench = userdata;

        for (size_t left = bench->n_bytes; left > 0;)
                left = read_some(bench, left);
        drop_all(bench);
}

/* Likewise, and what the main loop does with it. */
static void run_both(void *userdata) {
        Bench *bench = userdata;
        Traffic traffic;

        for (size_t left = bench->n_bytes; left > 0;) {
                left = read_some(bench, left);
                while (traffic_ring_look(&bench->ring, &traffic))
                        bus_recorder_meet(&bench->recorder, &traffic);
                while (traffic_ring_first(&bench->ring, &traffic)) {
                        bus_recorder_write(&bench->recorder, &traffic);
                        traffic_ring_release(&bench->ring);
                }
        }
}

int main(void) {
        Bench bench;
        double reader, both;

        bench_init(&bench);
        reader = bench_best_ns(run_reader, &bench) / (2 * N_CALLS);
        bench.n_packets = 0;
        both = bench_best_ns(run_both, &bench) / (2 * N_CALLS);
        printf("%-44s %8.0f ns\n", "read a message, without receiving it", reader);
        printf("%-44s %8.0f ns\n", "write it", both - reader);
        printf("%-44s %8.2f %%\n", "of a CPU, at 10,000 messages a second", both * 1e4 / 1e7);
        if (bench.n_packets < (size_t)BENCH_RUNS * 4 * N_CALLS) {
                printf("only %zu packets\n", bench.n_packets);
                return 1;
        }
        bench_deinit(&bench);
        return 0;
}
