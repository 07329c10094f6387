/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The check that each packet passes on its way into a trace. */

#include <string.h>

#include "../tests/unit/core/filter-bytecode.h"
#include "bench.h"
#include "packet/packet-check.h"
#include "packet/trace-filter.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define N_CHECKS 1000000

typedef struct Bench {
        struct iovec slices[2];
        size_t n_slices;
        SessionRules *rules; /* of producers 1 … n, whose packets come in turn */
        size_t n_producers;
} Bench;

static void run_check(void *userdata) {
        Bench *bench = userdata;

        for (size_t i = 0; i < N_CHECKS; i++) {
                PacketFacts facts;

                bench_use(bench);
                if (packet_check(bench->slices,
                                 bench->n_slices,
                                 session_rules_find(bench->rules, 1 + i % bench->n_producers),
                                 &facts) != 0)
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

/* Each producer has declared a field of its own, and those of the packets here. */
static void fill_rules(SessionRules *rules, size_t n_producers) {
        for (size_t i = 1; i <= n_producers; i++) {
                const uint32_t fields[] = { 1, 11, 200 + (uint32_t)i % 700 };
                PacketRules own;
                uint32_t wrong;

                if (!packet_rules_declare(&own, true, fields, ARRAY_SIZE(fields), &wrong) ||
                    session_rules_add(rules, i, &own) < 0)
                        abort();
        }
}

static bool
report_check(const char *what, size_t n_producers, uint8_t *packet, size_t n_bytes, size_t cut) {
        SessionRules rules = {};
        Bench bench = {
                .rules = &rules,
                .n_producers = n_producers,
                .slices = { { packet, cut }, { packet + cut, n_bytes - cut } },
                .n_slices = 2,
        };
        bool ok;

        if (cut == n_bytes)
                bench.n_slices = 1;
        fill_rules(&rules, n_producers);
        ok = bench_report_ns(what, bench_best_ns(run_check, &bench) / N_CHECKS, 40);
        session_rules_deinit(&rules);
        return ok;
}

/*
 * The trace filter
 */

typedef struct FilterBench {
        TraceFilter *filter;
        const uint8_t *packet;
        size_t n;
        uint8_t scratch[256];
} FilterBench;

/* With the copy that the filter needs, as it works in place. */
static void run_filter(void *userdata) {
        FilterBench *bench = userdata;

        for (size_t i = 0; i < N_CHECKS; i++) {
                size_t n = bench->n;

                memcpy(bench->scratch, bench->packet, n);
                bench_use(bench);
                if (trace_filter_apply(bench->filter, bench->scratch, &n) != 0)
                        abort();
                bench_use(n);
        }
}

static bool report_filter(const uint8_t *packet, size_t n) {
        static const uint32_t words[] = {
                OP(1, OP_NESTED),
                1,
                OP_END,
                OP(8, OP_RANGE),
                3,
                OP(11, OP_NESTED),
                2,
                OP(13, OP_FIELD),
                OP(58, OP_FIELD),
                OP_END,
                OP(3, OP_FIELD),
                OP(9, OP_RANGE),
                3,
                OP_END,
        };
        FilterBench bench = { .packet = packet, .n = n };
        FilterProgram *program;
        uint8_t code[128];
        const char *why;
        bool ok;

        if (filter_program_new(&program,
                               code,
                               bytecode_put(code, sizeof(code), words, ARRAY_SIZE(words)),
                               NULL,
                               0,
                               &why) < 0 ||
            trace_filter_new(&bench.filter, program, NULL) < 0)
                abort();
        ok = bench_report_ns(
                "filter a track event", bench_best_ns(run_filter, &bench) / N_CHECKS, 100);
        trace_filter_free(bench.filter);
        return ok;
}

int main(void) {
        uint8_t memory[256], bundle[8192] = { 0x0a, 0xfd, 0x3f }; /* ftrace_events of 8189 bytes */
        uint8_t trusted[PACKET_TRUST_BYTES_MAX];
        size_t n = write_track_event(memory, sizeof(memory));
        bool ok = true;

        ok &= report_check("check a track event", 1, memory, n, n);
        ok &= report_check("check a track event cut in a number", 1, memory, n, 3);
        ok &= report_check("check track events of 500 producers in turn", 500, memory, n, n);
        ok &= report_check("check a bundle of 8 KiB", 1, bundle, sizeof(bundle), sizeof(bundle));
        ok &= report_filter(memory, n);
        ok &= bench_report_ns(
                "append trusted fields", bench_best_ns(run_trust, trusted) / N_CHECKS, 40);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
