/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What producers cost the service when they do nothing. */

#include "scale.h"

#define BUFFER_KIB 16384
#define N_EVENTS   100
#define SETTLE_MS  1000 /* drains are over, and the service sleeps */

/* KiB for each producer, above what there was without them. */
static double per_producer_kib(const World *world, const Memory *before, size_t n) {
        Memory now;

        sleep_ms(SETTLE_MS);
        now = process_memory(world->service);
        return (now.private_kib + now.shared_kib - before->private_kib - before->shared_kib) /
               (double)n;
}

void rows_memory(World *world) {
        static const RecordingOptions options = { .buffer_kib = BUFFER_KIB, .output_fd = -1 };
        static const Order order = { .kind = ORDER_EMIT, .n_events = N_EVENTS };
        size_t n = world->is_quick ? 20 : 200;
        Samples idle = {}, open = {}, over = {};
        Recording recording;
        Memory before;
        Fleet fleet;

        sleep_ms(SETTLE_MS);
        before = process_memory(world->service);
        fleet_start(&fleet, world, n, 0);
        samples_add(&idle, per_producer_kib(world, &before, n));
        recording_start(&recording, world, &options);
        fleet_do(&fleet, &order);
        recording_flush(&recording);
        samples_add(&open, per_producer_kib(world, &before, n));
        recording_stop(&recording);
        recording_free(&recording);
        samples_add(&over, per_producer_kib(world, &before, n));
        fleet_end(&fleet);

        report(&(Row){
                "a producer that was never recorded", "KiB", &idle, 4, 0, false, 0, NULL, "7-9" });
        report(&(Row){
                "after 100 events, in a session", "KiB", &open, 0, 0, false, 0, NULL, "272" });
        report(&(Row){ "after its end", "KiB", &over, 4, 0, false, 0, NULL, "268" });
        report_note("%zu producers; the service alone: %.0f KiB", n, before.private_kib);
}

static double wakeups(const World *world, unsigned seconds) {
        uint64_t before;

        sleep_ms(SETTLE_MS);
        before = process_n_wakeups(world->service);
        sleep_ms(1000 * seconds);
        return (double)(process_n_wakeups(world->service) - before);
}

void rows_idle(World *world) {
        static const RecordingOptions options = { .buffer_kib = BUFFER_KIB, .output_fd = -1 };
        unsigned seconds = world->is_quick ? 1 : 10;
        Samples none = {}, open = {};
        Recording recording;
        Fleet fleet;

        fleet_start(&fleet, world, world->is_quick ? 10 : 100, 0);
        samples_add(&none, wakeups(world, seconds));
        recording_start(&recording, world, &options);
        samples_add(&open, wakeups(world, seconds));
        recording_stop(&recording);
        recording_free(&recording);
        fleet_end(&fleet);

        report(&(Row){
                "100 idle producers, no session, in 10 s", "", &none, 0, 0, true, 0, NULL, "0" });
        report(&(Row){ "in an open session", "", &open, 2, 0, false, 0, NULL, "2" });
}
