/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What tracks.sh looks for in the trace: tracks-app.cpp and tracks-app.py say the same. */

#include <desktrace/track-event.h>
#include <pthread.h>

DT_CATEGORY(calls, "calls", "What is called");

static const dt_track gpu = DT_TRACK("gpu", 0), queue = DT_TRACK_UNDER(&gpu, "queue", 7);
static const dt_track memory = DT_COUNTER_TRACK("memory", NULL);
static const dt_track row = DT_TRACK_UNDER(&dt_thread_track, "row", 0);
static const dt_track cpu = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "cpu", NULL);
static const dt_track bus = DT_TRACK_UNDER(&dt_root_track, "bus", 0);
static dt_lanes requests = DT_LANES("requests");

static void describe(void) {
        const dt_track_details of_gpu = {
                .size = sizeof(of_gpu),
                .description = "What it does",
                .child_order = DT_ORDER_BY_RANK,
        };
        const dt_track_details of_queue = {
                .size = sizeof(of_queue),
                .rank = -2,
                .merge = DT_MERGE_BY_KEY,
                .merge_key = "queues",
        };
        const dt_track_details of_memory = {
                .size = sizeof(of_memory),
                .unit = DT_UNIT_SIZE_BYTES,
                .unit_multiplier = 1024,
                .y_axis = "sizes",
                .categories = "calls",
        };
        const dt_track_details of_cpu = {
                .size = sizeof(of_cpu),
                .unit = DT_UNIT_TIME_NS,
                .is_incremental = true,
        };

        dt_track_describe(&gpu, &of_gpu);
        dt_track_describe(&queue, &of_queue);
        dt_track_describe(&memory, &of_memory);
        dt_track_describe(&cpu, &of_cpu);
}

static void *work(void *userdata) {
        dt_thread_set_name("worker");
        dt_thread_set_rank(3);
        DT_INSTANT_ON(calls, &row, "in the row");
        for (int i = 0; i < 3; i++)
                DT_COUNTER_ON(calls, &cpu, 1000000 + i);
        return userdata;
}

static void overlap(void) {
        dt_track first = dt_lane_take(&requests), second = dt_lane_take(&requests);

        DT_SLICE_BEGIN_ON(calls, &first, "first");
        DT_SLICE_BEGIN_ON(calls, &second, "second");
        DT_SLICE_END_ON(calls, &first);
        dt_lane_return(&requests, &first);
        first = dt_lane_take(&requests);
        DT_SLICE_BEGIN_ON(calls, &first, "third");
        DT_SLICE_END_ON(calls, &first);
        DT_SLICE_END_ON(calls, &second);
        dt_lane_return(&requests, &first);
        dt_lane_return(&requests, &second);
}

int main(void) {
        static const char *const labels[] = { "one", "two" };
        const dt_category *found;
        pthread_t thread;

        describe();
        dt_init(NULL);
        DT_INSTANT_ON(calls, &queue, "in the queue");
        dt_process_set_name("Tracks");
        dt_process_set_labels(labels, 2);
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
        DT_COUNTER_ON(calls, &memory, 5);
        DT_INSTANT_ON(calls, &bus, "on the bus");
        overlap();
        found = dt_category_find_or_add("calls.found", "At run time", NULL);
        DT_INSTANT(*found, "found");
        return 0;
}
