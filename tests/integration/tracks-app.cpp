/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* As tracks-app.c. */

#include <desktrace/track-event.hpp>
#include <thread>

using desktrace::AsyncSlice;
using desktrace::Details;

DT_CATEGORY(calls, "calls", "What is called");

static const dt_track gpu = DT_TRACK("gpu", 0), queue = DT_TRACK_UNDER(&gpu, "queue", 7);
static const dt_track memory = DT_COUNTER_TRACK("memory", NULL);
static const dt_track row = DT_TRACK_UNDER(&dt_thread_track, "row", 0);
static const dt_track cpu = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "cpu", NULL);
static const dt_track bus = DT_TRACK_UNDER(&dt_root_track, "bus", 0);
static desktrace::Lanes requests("requests");

static void describe() {
        Details of_gpu, of_queue, of_memory, of_cpu;

        of_gpu.with_description("What it does").with_children_by(DT_ORDER_BY_RANK);
        of_queue.with_rank(-2).with_merge(DT_MERGE_BY_KEY, "queues");
        of_memory.with_unit(DT_UNIT_SIZE_BYTES, 1024).with_y_axis("sizes").with_categories("calls");
        of_cpu.with_unit(DT_UNIT_TIME_NS).as_differences();
        dt_track_describe(&gpu, &of_gpu);
        dt_track_describe(&queue, &of_queue);
        dt_track_describe(&memory, &of_memory);
        dt_track_describe(&cpu, &of_cpu);
}

static void work() {
        dt_thread_set_name("worker");
        dt_thread_set_rank(3);
        desktrace::instant(calls, &row, "in the row");
        for (int i = 0; i < 3; i++)
                desktrace::count(calls, cpu, 1000000 + i);
}

static void overlap() {
        AsyncSlice first(calls, requests, "first");
        AsyncSlice second(calls, requests, "second");

        first.end();
        AsyncSlice third(calls, requests, "third");
        AsyncSlice moved(std::move(third));
        moved.end({ { "moved", true } });
        moved.end();
}

int main() {
        describe();
        dt_init(nullptr);
        desktrace::instant(calls, &queue, "in the queue");
        dt_process_set_name("Tracks");
        desktrace::set_process_labels({ "one", "two" });
        std::thread(work).join();
        desktrace::count(calls, memory, 5u);
        desktrace::instant(calls, &bus, "on the bus");
        overlap();
        desktrace::instant(desktrace::category("calls.found", "At run time"), "found");
}
