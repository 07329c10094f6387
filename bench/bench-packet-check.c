/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The check that each packet passes on its way into a trace. */

#include <string.h>

#include "bench.h"
#include "core/packet-check.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define N_CHECKS 1000000

typedef struct Bench {
        struct iovec slices[2];
        size_t n_slices;
} Bench;

static void run_check(void *userdata) {
        Bench *bench = userdata;

        for (size_t i = 0; i < N_CHECKS; i++) {
                PacketFacts facts;

                bench_use(bench);
                if (packet_check(
                            bench->slices, bench->n_slices, packet_rules_default(false), &facts) !=
                    0)
                        abort();
                bench_use(&facts);
        }
}

static void run_trust(void *userdata) {
        uint8_t *memory = userdata;
        PacketTrust trust = { .uid = 1000, .pid = 123456, .sequence_id = 300 };

        for (size_t i = 0; i < N_CHECKS; i++) {
                size_t n;

                bench_use(&trust);
                n = packet_put_trust(memory, &trust);
                bench_use(n);
        }
}

/* A slice's beginning with interned names, as libdesktrace writes them. */
static size_t write_track_event(uint8_t *memory, size_t n_bytes) {
        WireWriter writer;
        size_t event;

        wire_writer_init(&writer, memory, n_bytes);
        wire_put_uint(&writer, 8, UINT64_C(123456789012345)); /* timestamp */
        wire_put_uint(&writer, 58, 6);                        /* timestamp_clock_id */
        wire_put_uint(&writer, 13, 2);                        /* sequence_flags */
        event = wire_begin(&writer, 11);                      /* track_event */
        wire_put_uint(&writer, 9, 1);
        wire_put_uint(&writer, 11, UINT64_C(0x123456789abcdef));
        wire_put_uint(&writer, 10, 17);
        wire_put_uint(&writer, 3, 4);
        wire_end(&writer, event);
        return wire_writer_size(&writer);
}

static bool report_check(const char *what, uint8_t *packet, size_t n_bytes, size_t cut) {
        Bench bench = {
                .slices = { { packet, cut }, { packet + cut, n_bytes - cut } },
                .n_slices = 2,
        };

        if (cut == n_bytes)
                bench.n_slices = 1;
        return bench_report_ns(what, bench_best_ns(run_check, &bench) / N_CHECKS, 40);
}

int main(void) {
        uint8_t memory[256], bundle[8192] = { 0x0a, 0xfd, 0x3f }; /* ftrace_events of 8189 bytes */
        uint8_t trusted[PACKET_TRUST_BYTES_MAX];
        size_t n = write_track_event(memory, sizeof(memory));
        bool ok = true;

        ok &= report_check("check a track event", memory, n, n);
        ok &= report_check("check a track event cut in a number", memory, n, 3);
        ok &= report_check("check a bundle of 8 KiB", bundle, sizeof(bundle), sizeof(bundle));
        ok &= bench_report_ns(
                "append trusted fields", bench_best_ns(run_trust, trusted) / N_CHECKS, 40);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
