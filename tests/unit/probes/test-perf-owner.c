/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What of the machine's samples is shown to one user: what settings allow, and what a process is about to become. */

#include <check.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/perf/perf-events.h"
#include "test.h"

START_TEST(test_to_an_owner_only_the_time_of_programs_is_shown) {
        static const ProbeOwner user = { 1000, 1000 }, root = {}, nobody = { 1000, (gid_t)-1 };
        PerfSettings settings = { .is_software = true, .counter = 1, .wants_kernel_frames = true };
        PerfSettings raw = {};

        ck_assert_int_eq(perf_settings_limit_to_owner(&settings, NULL, NULL), PROBE_E_REFUSED);
        ck_assert_int_eq(perf_settings_limit_to_owner(&settings, &root, NULL), PROBE_E_REFUSED);
        ck_assert_int_eq(perf_settings_limit_to_owner(&settings, &nobody, NULL), PROBE_E_REFUSED);
        ck_assert_int_eq(perf_settings_limit_to_owner(&raw, &user, NULL), PROBE_E_REFUSED);
        ck_assert_int_eq(perf_settings_limit_to_owner(&settings, &user, NULL), 0);
        ck_assert(settings.has_owner);
        ck_assert(!settings.wants_kernel_frames);
}
END_TEST

/* A ring in memory, as the kernel leaves it: its head is behind what it has written. */
typedef struct Ring {
        void *pages;
        PerfRing ring;
        PerfEvents events;
} Ring;

static void ring_init(Ring *world) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);

        world->pages = calloc(2, page);
        ck_assert_ptr_nonnull(world->pages);
        world->ring = (PerfRing){ .fd = -1,
                                  .pages = world->pages,
                                  .data = (const uint8_t *)world->pages + page,
                                  .n_bytes = page };
        world->events = (PerfEvents){ .rings = &world->ring, .n_rings = 1, .poll_fd = -1 };
}

static void ring_put(Ring *world, uint32_t type, uint16_t misc, const uint32_t numbers[4]) {
        struct perf_event_mmap_page *control = world->pages;
        struct perf_event_header header = { .type = type, .misc = misc, .size = 24 };
        const size_t page = world->ring.n_bytes;
        uint8_t record[24];

        memcpy(record, &header, sizeof(header));
        memcpy(record + sizeof(header), numbers, 16);
        for (size_t i = 0; i < sizeof(record); i++)
                ((uint8_t *)world->pages)[page + (control->data_head + i) % page] = record[i];
        control->data_head += sizeof(record);
}

START_TEST(test_what_a_process_becomes_is_seen_in_advance) {
        Ring world;

        ring_init(&world);
        ck_assert(!perf_events_foresee_change(&world.events, 7));
        ring_put(&world, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, (uint32_t[]){ 8, 8, 0, 0 });
        ring_put(&world, PERF_RECORD_COMM, 0, (uint32_t[]){ 7, 7, 0, 0 });   /* a name */
        ring_put(&world, PERF_RECORD_FORK, 0, (uint32_t[]){ 7, 7, 9, 7 });   /* a thread */
        ring_put(&world, PERF_RECORD_FORK, 0, (uint32_t[]){ 10, 7, 10, 7 }); /* a child */
        ring_put(&world, PERF_RECORD_EXIT, 0, (uint32_t[]){ 7, 1, 9, 1 });   /* of the thread */
        ck_assert(!perf_events_foresee_change(&world.events, 7));
        ck_assert(perf_events_foresee_change(&world.events, 8));
        ck_assert(perf_events_foresee_change(&world.events, 10));
        ring_put(&world, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, (uint32_t[]){ 7, 7, 0, 0 });
        ck_assert(perf_events_foresee_change(&world.events, 7));
        world.ring.tail += 144; /* all of that is read */
        ck_assert(!perf_events_foresee_change(&world.events, 7));
        ring_put(&world, PERF_RECORD_EXIT, 0, (uint32_t[]){ 7, 1, 7, 1 });
        ck_assert(perf_events_foresee_change(&world.events, 7));
        free(world.pages);
}
END_TEST

/* Where the ring ends and begins, too. */
START_TEST(test_what_was_lost_may_have_been_a_change) {
        Ring world;

        ring_init(&world);
        for (unsigned i = 0; i < 200; i++) {
                ring_put(&world, PERF_RECORD_COMM, 0, (uint32_t[]){ 7, 7, 0, 0 });
                ck_assert(!perf_events_foresee_change(&world.events, 7));
                world.ring.tail += 24;
                ring_put(&world, PERF_RECORD_EXIT, 0, (uint32_t[]){ 9, 1, 9, 1 });
                ck_assert(perf_events_foresee_change(&world.events, 9));
                ck_assert(!perf_events_foresee_change(&world.events, 7));
                world.ring.tail += 24;
        }
        ring_put(&world, PERF_RECORD_LOST, 0, (uint32_t[]){ 1, 0, 5, 0 });
        ck_assert(perf_events_foresee_change(&world.events, 7));
        free(world.pages);
}
END_TEST

TEST_MAIN("perf-owner",
          test_to_an_owner_only_the_time_of_programs_is_shown,
          test_what_a_process_becomes_is_seen_in_advance,
          test_what_was_lost_may_have_been_a_change)
