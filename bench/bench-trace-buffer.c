/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The trace buffer: chunks in, packets out, patches by position, clones. With the argument "kept": of a buffer in
 * memfds, which can be adopted. */

#include <string.h>

#include "bench.h"
#include "buffer/trace-buffer.h"
#include "shared/macro.h"

#define BUFFER_BYTES  (64u << 20)
#define CHUNK_BYTES   4080 /* payload of a 4 KiB page with one chunk, behind its headers */
#define HEADER_BYTES  16
#define N_CHUNKS      (BUFFER_BYTES / 4096)
#define SOURCE_CHUNKS 256 /* 1 MiB of shared memory, as a producer has it */
#define N_PATCHES     1000000
#define OUT_BYTES     (1u << 20) /* a piece of a trace file */

typedef struct Bench {
        uint8_t *source;
        uint8_t *target;
        uint8_t *out;
        TraceBuffer *buffer;
        uint32_t next_id;
        uint16_t n_fragments;
        uint32_t patch_back; /* chunks behind the newest */
} Bench;

static uint8_t *new_pages(size_t n_bytes) {
        uint8_t *pages = aligned_alloc(4096, n_bytes);

        if (!pages)
                abort();
        memset(pages, 0, n_bytes);
        return pages;
}

static inline uint8_t *source_chunk(const Bench *bench, size_t i) {
        return bench->source + i % SOURCE_CHUNKS * 4096 + HEADER_BYTES;
}

static void run_memcpy(void *userdata) {
        Bench *bench = userdata;

        for (size_t i = 0; i < N_CHUNKS; i++) {
                memcpy(bench->target + i * 4096 + HEADER_BYTES,
                       source_chunk(bench, i),
                       CHUNK_BYTES);
                bench_use(bench->target);
        }
}

static void run_put_some(Bench *bench, size_t n) {
        ChunkOrigin origin = { .producer_id = 1, .writer_id = 1 };

        for (size_t i = 0; i < n; i++) {
                ChunkData chunk = {
                        .chunk_id = bench->next_id++,
                        .n_fragments = bench->n_fragments,
                        .complete = true,
                        .payload = source_chunk(bench, i),
                        .n_payload = CHUNK_BYTES,
                };

                if (trace_buffer_put(bench->buffer, &origin, &chunk) != 0)
                        abort();
        }
}

static void run_put(void *userdata) {
        run_put_some(userdata, N_CHUNKS);
}

/* Fills each chunk with packets of n_packet bytes. */
static void bench_set_packets(Bench *bench, size_t n_packet) {
        bench->n_fragments = (uint16_t)(CHUNK_BYTES / (n_packet + 2));
        for (size_t i = 0; i < SOURCE_CHUNKS; i++)
                for (size_t f = 0; f < bench->n_fragments; f++) {
                        uint8_t *at = source_chunk(bench, i) + f * (n_packet + 2);

                        at[0] = (uint8_t)(n_packet | 0x80);
                        at[1] = (uint8_t)(n_packet >> 7);
                        memset(at + 2, (int)f, n_packet);
                }
}

static void run_read(void *userdata) {
        Bench *bench = userdata;
        TracePacket packet;

        trace_buffer_begin_read(bench->buffer);
        while (trace_buffer_read(bench->buffer, &packet) == 0)
                bench_use(packet.slices);
}

/* As a session does it: each packet into a piece of the trace file. */
static void run_read_out(void *userdata) {
        Bench *bench = userdata;
        TracePacket packet;
        size_t n = 0;

        trace_buffer_begin_read(bench->buffer);
        while (trace_buffer_read(bench->buffer, &packet) == 0) {
                if (n + packet.n_bytes > OUT_BYTES)
                        n = 0;
                for (size_t i = 0; i < packet.n_slices; i++) {
                        memcpy(bench->out + n, packet.slices[i].iov_base, packet.slices[i].iov_len);
                        n += packet.slices[i].iov_len;
                }
                bench_use(bench->out);
        }
}

typedef struct Figures {
        double memcpy_ns, write_ns, read_ns, read_out_ns;
} Figures;

/* One after the other, so that a busy machine slows all of them down. What is read is what was
 * written before. */
static Figures measure(Bench *bench, size_t n_packet) {
        double memcpy_ns[BENCH_RUNS], write_ns[BENCH_RUNS], read_ns[BENCH_RUNS],
                read_out_ns[BENCH_RUNS];

        bench_set_packets(bench, n_packet);
        run_put(bench);
        run_read(bench);
        for (unsigned i = 0; i < BENCH_RUNS; i++) {
                memcpy_ns[i] = (double)bench_run_ns(run_memcpy, bench);
                run_put(bench);
                write_ns[i] = (double)bench_run_ns(run_put, bench);
                read_ns[i] = (double)bench_run_ns(run_read, bench);
                run_put(bench);
                read_out_ns[i] = (double)bench_run_ns(run_read_out, bench);
        }
        return (Figures){
                .memcpy_ns = bench_median(memcpy_ns, BENCH_RUNS),
                .write_ns = bench_median(write_ns, BENCH_RUNS),
                .read_ns = bench_median(read_ns, BENCH_RUNS),
                .read_out_ns = bench_median(read_out_ns, BENCH_RUNS),
        };
}

static bool report(Bench *bench, size_t n_packet, double write_at_least) {
        Figures figures = measure(bench, n_packet);
        char what[64];
        bool ok = true;

        printf("memcpy: %.1f GB/s\n", BUFFER_BYTES / figures.memcpy_ns);
        snprintf(what, sizeof(what), "write 4 KiB chunks of %zu B packets", n_packet);
        ok &= bench_report_ratio(what, figures.memcpy_ns / figures.write_ns, write_at_least);
        snprintf(what, sizeof(what), "read %zu B packets", n_packet);
        if (n_packet < 500)
                /* It is their number that counts, not their bytes. */
                return ok &
                       bench_report_ns(
                               what, figures.read_ns / ((double)N_CHUNKS * bench->n_fragments), 30);
        ok &= bench_report_ratio(what, figures.memcpy_ns / figures.read_ns, 0.5);
        snprintf(what, sizeof(what), "read %zu B packets and copy them out", n_packet);
        return ok & bench_report_ratio(what, figures.memcpy_ns / figures.read_out_ns, 0.5);
}

static void run_patch(void *userdata) {
        Bench *bench = userdata;
        static const uint8_t data[4] = { 1, 2, 3, 4 };

        for (size_t i = 0; i < N_PATCHES; i++)
                if (trace_buffer_patch(bench->buffer,
                                       1,
                                       1,
                                       bench->next_id - 1 - bench->patch_back,
                                       100,
                                       data,
                                       true) != 0)
                        abort();
}

static bool report_patch(Bench *bench, const char *what, uint32_t patch_back, double at_most) {
        bench->patch_back = patch_back;
        return bench_report_ns(what, bench_best_ns(run_patch, bench) / N_PATCHES, at_most);
}

/* One chunk in 163 was lost on the way. */
static bool report_patch_among_gaps(Bench *bench) {
        for (size_t i = 0; i < 100; i++) {
                run_put_some(bench, N_CHUNKS / 100);
                bench->next_id++;
        }
        return report_patch(bench, "patch the oldest chunk behind 80 gaps", N_CHUNKS / 8 * 7, 30);
}

/* What the process occupies; exact, other than statm. */
static double resident_bytes(void) {
        FILE *file = fopen("/proc/self/smaps_rollup", "re");
        size_t n_kib = 0;
        char line[256];

        while (file && fgets(line, sizeof(line), file))
                if (sscanf(line, "Rss: %zu", &n_kib) == 1)
                        break;
        if (!file || n_kib == 0)
                abort();
        fclose(file);
        return (double)n_kib * 1024;
}

/* A clone of a full ring, and what it costs to write to the ring that has been cloned. */
static bool report_clone(Bench *bench) {
        double clone_ns[BENCH_RUNS], memcpy_ns[BENCH_RUNS], write_ns[BENCH_RUNS];
        double n_bytes = 0;
        bool ok = true;

        bench_set_packets(bench, 500);
        run_put(bench);
        run_put(bench);
        for (unsigned i = 0; i < BENCH_RUNS; i++) {
                double before = resident_bytes();
                uint64_t begin = bench_now_ns();
                TraceBuffer *clone;

                if (trace_buffer_clone(&clone, bench->buffer, 0) < 0)
                        abort();
                clone_ns[i] = (double)(bench_now_ns() - begin);
                n_bytes = MAX(n_bytes, resident_bytes() - before);
                memcpy_ns[i] = (double)bench_run_ns(run_memcpy, bench);
                write_ns[i] = (double)bench_run_ns(run_put, bench);
                trace_buffer_free(clone);
                run_put(bench);
        }
        ok &= bench_report_ns(
                "clone a full ring of 64 MiB", bench_median(clone_ns, BENCH_RUNS), 1e6);
        printf("%-52s %8.2f %%          (at most 3)%s\n",
               "memory of the clone",
               100 * n_bytes / BUFFER_BYTES,
               n_bytes > BUFFER_BYTES * 0.03 ? " MISSED" : "");
        ok &= n_bytes <= BUFFER_BYTES * 0.03;
        return ok & bench_report_ratio("write while a clone holds all of it",
                                       bench_median(memcpy_ns, BENCH_RUNS) /
                                               bench_median(write_ns, BENCH_RUNS),
                                       0.2);
}

int main(int argc, char *argv[]) {
        const bool is_kept = argc > 1 && strcmp(argv[1], "kept") == 0;
        Bench bench = {
                .source = new_pages(SOURCE_CHUNKS * 4096),
                .target = new_pages(BUFFER_BYTES),
                .out = new_pages(OUT_BYTES),
        };
        bool ok = true;

        if ((is_kept ? trace_buffer_new_kept
                     : trace_buffer_new)(&bench.buffer, BUFFER_BYTES, 0, TRACE_BUFFER_RING) < 0)
                abort();
        ok &= report(&bench, 4078, 0.8);
        ok &= report(&bench, 500, 0.6);
        ok &= report(&bench, 60, 0.3);

        run_put(&bench);
        ok &= report_patch(&bench, "patch the newest chunk", 0, 10);
        ok &= report_patch(&bench, "patch a chunk half way back", N_CHUNKS / 2, 10);
        ok &= report_patch(&bench, "patch the oldest chunk", N_CHUNKS - N_CHUNKS / 8, 10);

        ok &= report_patch_among_gaps(&bench);
        ok &= report_clone(&bench);

        trace_buffer_free(bench.buffer);
        free(bench.out);
        free(bench.source);
        free(bench.target);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
