/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records that look like what they are not. */

#include "test.h"

#include "fixture.h"
#include "host/packet-list.h"
#include "probes/ftrace/bundle.h"

enum { BUNDLE_COMPACT = 4, BUNDLE_ERROR = 8 };

static const PageLayout layout = PAGE_LAYOUT_64BIT;

/* A bundle writer for a set of events, and what its receiver got. */
typedef struct World {
        PacketList list;
        EventSet events;
        IdSet ids;
        BundleReceiver receiver;
        BundleWriter bundles;
        BundleCpu cpu;
} World;

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        ck_assert_ptr_nonnull(world);
        world->list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(bundle_writer_init(&world->bundles, &layout), 0);
        ck_assert_int_eq(bundle_receiver_init(&world->receiver, &world->list.sink, 1), 0);
        bundle_writer_add(&world->bundles, &world->receiver);
        return world;
}

static void world_free(World *world) {
        bundle_receiver_deinit(&world->receiver);
        bundle_writer_deinit(&world->bundles);
        event_set_deinit(&world->events);
        packet_list_deinit(&world->list);
        free(world);
}

static void world_use(World *world) {
        memset(&world->ids, 0xff, sizeof(world->ids));
        ck_assert_int_eq(bundle_writer_use(&world->bundles, &world->events, &world->ids, NULL), 0);
}

static void world_add_page(World *world, const uint8_t *page, size_t n) {
        world_use(world);
        bundle_add_page(&world->bundles, &world->cpu, page, n);
        bundle_end_turn(&world->bundles, &world->cpu);
}

/* Appends a record of sched_waking, as the kernel of the fixtures does. */
static uint8_t *put_waking(uint8_t *at, const EventFormat *format, const char *comm, int32_t pid) {
        uint32_t header = 9 | 10u << 5;

        memset(at, 0, 4 + 36);
        memcpy(at, &header, sizeof(header));
        at += 4;
        memcpy(at + RECORD_ID_OFFSET, &format->id, sizeof(format->id));
        strcpy((char *)at + event_format_find(format, "comm")->offset, comm);
        memcpy(at + event_format_find(format, "pid")->offset, &pid, 4);
        return at + 36;
}

/* A long record begins with its length, where others have their id; programs write long records to trace_marker. */
START_TEST(test_what_a_long_record_holds_is_no_switch) {
        static uint8_t page[1024];
        EventFormat *sched_switch = fixture_format("sched", "sched_switch");
        EventFormat *sched_waking = fixture_format("sched", "sched_waking");
        World *world = world_new();
        uint64_t header[2] = { UINT64_C(1) << 45 };
        uint8_t *at = page + sizeof(header);
        uint32_t words[2] = { 10u << 5, sched_switch->id };
        WireReader bundle, compact;
        int32_t pid = 5;

        ck_assert_uint_eq(sched_switch->id % 4, 0); /* as lengths are */
        at = put_waking(at, sched_waking, "name", pid);
        memset(at, 0x77, 4 + sched_switch->id); /* also of an event that nobody asked for */
        memcpy(at + 4 + event_format_find(sched_switch, "next_pid")->offset, &pid, 4);
        memcpy(at + 4 + event_format_find(sched_switch, "next_comm")->offset,
               "name\0\0\0\0\0\0\0\0\0\0\0",
               COMM_BYTES);
        memcpy(at, words, sizeof(words));
        at += 4 + sched_switch->id;
        at = put_waking(at, sched_waking, "name", pid);
        header[1] = (uint64_t)(at - page) - sizeof(header);
        memcpy(page, header, sizeof(header));

        fixture_add_event(&world->events, "sched", "sched_switch", true);
        fixture_add_event(&world->events, "sched", "sched_waking", true);
        world_add_page(world, page, (size_t)(at - page));
        ck_assert(packet_list_find(&world->list, PACKET_FTRACE_EVENTS, 0, &bundle));
        ck_assert_uint_eq(message_count(bundle, BUNDLE_ERROR), 0);
        ck_assert(message_submessage(bundle, BUNDLE_COMPACT, 0, &compact));
        ck_assert_uint_eq(message_packed(compact, 1, NULL, 0), 0);
        ck_assert_uint_eq(message_packed(compact, 8, NULL, 0), 2);
        event_format_free(sched_switch);
        event_format_free(sched_waking);
        world_free(world);
}
END_TEST

/* Of a writer without sched_switch no event is one: 0 is not its number. */
START_TEST(test_a_record_of_no_event_is_no_switch) {
        uint64_t words[4] = { UINT64_C(1) << 45, 12, 10u << 5 | 2 };
        World *world = world_new();
        uint8_t *page = malloc(28); /* of just this size, for a sanitizer */

        ck_assert_ptr_nonnull(page);
        memcpy(page, words, 28);
        fixture_add_event(&world->events, "task", "task_rename", true);
        world_add_page(world, page, 28);
        ck_assert_uint_eq(world->list.n, 0);
        free(page);
        world_free(world);
}
END_TEST

/* Each of them is an error of its own in the bundle. */
START_TEST(test_bundles_of_records_without_an_event_stay_small) {
        static uint32_t page[1024];
        uint64_t header[2] = { UINT64_C(1) << 45, sizeof(page) - 16 };
        World *world = world_new();

        for (size_t i = 4; i < ARRAY_SIZE(page); i += 2)
                page[i] = 1 | 10u << 5; /* of one word */
        memcpy(page, header, sizeof(header));
        fixture_add_event(&world->events, "task", "task_rename", true);
        world_use(world);
        for (size_t i = 0; i < 64; i++)
                bundle_add_page(&world->bundles, &world->cpu, page, sizeof(page));
        bundle_end_turn(&world->bundles, &world->cpu);
        ck_assert_uint_gt(world->list.n, 1);
        for (size_t i = 0; i < world->list.n; i++)
                ck_assert_uint_le(world->list.packets[i].n, BUNDLE_BYTES_MAX + 256);
        world_free(world);
}
END_TEST

TEST_MAIN("bundle-forged",
          test_what_a_long_record_holds_is_no_switch,
          test_a_record_of_no_event_is_no_switch,
          test_bundles_of_records_without_an_event_stay_small)
