/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an event costs beside its thread: the service's CPU until it is in a file, and its bytes there. */

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "scale.h"
#include "shared/fd.h"
#include "wire/wire-reader.h"

/* Field numbers of perfetto.protos messages. */
enum {
        TRACE_PACKET = 1,
        PACKET_TRACK_EVENT = 11,
        EVENT_TYPE = 9,
        EVENT_TYPE_SLICE_END = 2,
};

#define NS_PER_SEC UINT64_C(1000000000)
#define RING_KIB   65536
#define MEMORY_KIB 4096
#define PERIOD_MS  100
#define RATE       1000000 /* events a second */

static bool is_slice_end(const WireField *packet) {
        WireReader reader, event;
        WireField field;

        wire_reader_init_field(&reader, packet);
        while (wire_read(&reader, &field) > 0) {
                if (field.number != PACKET_TRACK_EVENT)
                        continue;
                wire_reader_init_field(&event, &field);
                while (wire_read(&event, &field) > 0)
                        if (field.number == EVENT_TYPE)
                                return field.value == EVENT_TYPE_SLICE_END;
        }
        return false;
}

/* Mean bytes of the packets that are ends of slices, with what is before them in the file. */
static double slice_end_bytes(int fd) {
        size_t n_bytes = file_bytes(fd), n_ends = 0, n_end_bytes = 0;
        void *data = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        WireReader reader;
        WireField field;
        const uint8_t *begin = data;

        if (data == MAP_FAILED)
                die("cannot map a trace", -errno);
        wire_reader_init(&reader, data, n_bytes);
        while (wire_read(&reader, &field) > 0) {
                const uint8_t *end = field.data + field.n_bytes;

                if (field.number == TRACE_PACKET && is_slice_end(&field)) {
                        n_ends++;
                        n_end_bytes += (size_t)(end - begin);
                }
                begin = end;
        }
        munmap(data, n_bytes);
        if (n_ends == 0)
                die("no slice ends in the trace", 0);
        return (double)n_end_bytes / (double)n_ends;
}

/* One recording of the order into a file. Returns the service's CPU for an event, in nanoseconds. */
static double record(Fleet *fleet, const Order *order, int fd, TraceCount *ret_count, Answer *ret) {
        World *world = fleet->world;
        const RecordingOptions options = {
                .buffer_kib = RING_KIB,
                .output_fd = fd,
                .period_ms = PERIOD_MS,
        };
        Recording recording;
        uint64_t cpu_ns;

        recording_start(&recording, world, &options);
        cpu_ns = process_cpu_ns(world->service);
        *ret = fleet_do(fleet, order);
        recording_stop(&recording);
        cpu_ns = process_cpu_ns(world->service) - cpu_ns;
        recording_free(&recording);
        trace_count(ret_count, fd);
        return (double)cpu_ns / (double)ret->n_emitted;
}

static void report_bytes(Fleet *fleet) {
        const Order order = { .kind = ORDER_SLICES, .n_events = 20000 };
        _cleanup_(fd_closep) int fd = file_new(fleet->world);
        Samples bytes = {};
        TraceCount count;
        Answer answer;

        record(fleet, &order, fd, &count, &answer);
        samples_add(&bytes, slice_end_bytes(fd));
        report(&(Row){
                .what = "bare end of a slice in the file",
                .unit = "bytes",
                .samples = &bytes,
                .at_most = 17,
                .peer = "21 per event",
        });
}

static void report_cpu(Fleet *fleet) {
        const World *world = fleet->world;
        const Order order = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = RATE,
                .n_batch = RATE / 1000,
                .duration_ns = world->is_quick ? NS_PER_SEC / 4 : 2 * NS_PER_SEC,
        };
        Samples cpu = {};
        uint64_t n_lost = 0, n_bytes = 0, n_emitted = 0;

        for (unsigned i = 0; i < (world->is_quick ? 1 : 5); i++) {
                _cleanup_(fd_closep) int fd = file_new(world);
                TraceCount count;
                Answer answer;

                samples_add(&cpu, record(fleet, &order, fd, &count, &answer));
                n_lost += trace_count_lost(&count, answer.n_emitted);
                n_emitted = answer.n_emitted;
                n_bytes = count.n_bytes;
        }
        report(&(Row){
                .what = "CPU of the service for an event in a file",
                .unit = "ns",
                .samples = &cpu,
                .at_most = 60,
                .floor = write_ms(world, n_bytes) * 1e6 / (double)n_emitted,
                .floor_name = "write(2)",
                .peer = "250-280",
        });
        report_note("an instant with an index, %.1f bytes; lost: %" PRIu64,
                    (double)n_bytes / (double)n_emitted,
                    n_lost);
}

void rows_cost(World *world) {
        Fleet fleet;

        fleet_start(&fleet, world, 1, MEMORY_KIB);
        report_bytes(&fleet);
        report_cpu(&fleet);
        fleet_end(&fleet);
}
