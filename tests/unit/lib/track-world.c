/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "track-world.h"
#include "wire/wire-writer.h"

DT_CATEGORY(render, "render", "Frames");
DT_CATEGORY(net, "net", "Packets");
DT_CATEGORY_TAGGED(noisy, "render.noisy", "Every little thing", "debug,gpu");

static World *reading; /* whose trace the packets go to */

static void on_packet(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        trace_packet(reading->trace, (unsigned)(stream - reading->fake.streams), packet, n_bytes);
}

World *world_new_of_pages(uint32_t page_bytes) {
        World *world = calloc(1, sizeof(*world));

        world->page_bytes = page_bytes;
        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(dt_init(NULL), 0);
        ck_assert_int_eq(dt_init(NULL), 0);
        world_serve(world);
        return reading = world;
}

World *world_new(void) {
        return world_new_of_pages(4096);
}

void world_serve(World *world) {
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, FAKE_PAGES_BYTES, world->page_bytes);
        for (unsigned i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = on_packet;
        trace_free(world->trace);
        world->trace = calloc(1, sizeof(*world->trace));
}

void world_free(World *world) {
        fake_deinit(&world->fake);
        trace_free(world->trace);
        free(world);
        /* Without fork the next test must not find this one's session. */
        for (unsigned i = 0; dt_category_enabled(&render) || dt_category_enabled(&net); i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

int try_session(World *world, const char *enabled, const char *disabled) {
        uint8_t config[256];
        WireWriter writer;
        size_t begin;

        wire_writer_init(&writer, config, sizeof(config));
        wire_put_string(&writer, 1, "track_event");
        wire_put_uint(&writer, 2, 5);
        begin = wire_begin(&writer, 113);
        if (enabled)
                wire_put_string(&writer, 2, enabled);
        if (disabled)
                wire_put_string(&writer, 1, disabled);
        wire_end(&writer, begin);
        return fake_setup(&world->fake,
                          ++world->n_sessions,
                          "track_event",
                          config,
                          wire_writer_size(&writer));
}

uint64_t world_record(World *world, const char *enabled, const char *disabled) {
        ck_assert_int_eq(try_session(world, enabled, disabled), 0);
        ck_assert_int_eq(fake_start(&world->fake, world->n_sessions), 0);
        return world->n_sessions;
}

void world_read(World *world) {
        ck_assert_int_eq(fake_flush(&world->fake, world->n_sessions), 0);
        fake_drain(&world->fake);
}

void world_read_all(World *world) {
        for (uint64_t id = 1; id <= world->n_sessions; id++)
                ck_assert_int_eq(fake_flush(&world->fake, id), 0);
        fake_drain(&world->fake);
}
