/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a source's own writers intern. */

#include <errno.h>
#include <stdio.h>

#include "desktrace/proto.h"
#include "desktrace/source.h"
#include "fake-service.h"

#define EVENT_NAMES 2 /* of InternedData */

typedef struct World {
        Fake fake;
        dt_source *source;
        dt_instance *instance;
        dt_writer *writer;
} World;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        World *world = userdata;

        world->instance = instance;
        return NULL;
}

static const dt_source_ops ops = { .setup = on_setup };

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(dt_source_register(&world->source, "own.source", NULL, &ops, world), 0);
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "own.source", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(dt_writer_new(&world->writer, world->instance, DT_FULL_DROP), 0);
        return world;
}

static void world_free(World *world) {
        dt_writer_free(world->writer);
        dt_source_unregister(world->source);
        fake_deinit(&world->fake);
        free(world);
}

static int intern(World *world, const char *text, uint64_t *ret_number) {
        return dt_writer_intern(world->writer, EVENT_NAMES, text, strlen(text), ret_number);
}

/* Returns what the write did. */
static int write_flags(World *world, bool begins) {
        uint8_t memory[64];
        dt_proto packet;

        dt_proto_init(&packet, memory, sizeof(memory));
        dt_proto_uint(&packet, 13, begins ? 1 : 2);
        return dt_writer_write(world->writer, packet.start, dt_proto_size(&packet));
}

START_TEST(test_texts_have_a_number_until_state_starts_over) {
        World *world = world_new();
        uint64_t number, other;

        ck_assert(dt_writer_begins(world->writer));
        ck_assert(dt_writer_begins(world->writer)); /* nothing has been written */
        ck_assert_int_eq(intern(world, "a", &number), DT_INTERNED_NEW);
        ck_assert_uint_gt(number, 0);
        ck_assert_int_eq(write_flags(world, true), 0);
        ck_assert(!dt_writer_begins(world->writer));
        ck_assert_int_eq(intern(world, "a", &other), 0);
        ck_assert_uint_eq(number, other);
        ck_assert_int_eq(intern(world, "b", &other), DT_INTERNED_NEW);
        ck_assert_uint_ne(number, other);
        /* Of another kind. */
        ck_assert_int_eq(dt_writer_intern(world->writer, 3, "a", 1, &other), DT_INTERNED_NEW);

        ck_assert_int_eq(fake_clear(&world->fake, 1), 0);
        ck_assert(dt_writer_begins(world->writer));
        ck_assert_int_eq(intern(world, "a", &number), DT_INTERNED_NEW);
        ck_assert_int_eq(write_flags(world, true), 0);
        ck_assert(!dt_writer_begins(world->writer));
        world_free(world);
}
END_TEST

START_TEST(test_state_starts_over_after_a_loss) {
        World *world = world_new();
        uint64_t number;
        unsigned n = 0;

        ck_assert(dt_writer_begins(world->writer));
        ck_assert_int_eq(write_flags(world, true), 0);
        while (write_flags(world, false) == 0)
                ck_assert_uint_lt(n++, FAKE_PAGES_BYTES);
        ck_assert_int_eq(intern(world, "lost", &number), DT_INTERNED_NEW);
        ck_assert_int_eq(write_flags(world, false), -ENOBUFS);
        ck_assert(dt_writer_begins(world->writer));
        fake_drain(&world->fake);
        ck_assert_int_eq(intern(world, "lost", &number), DT_INTERNED_NEW);
        ck_assert_int_eq(write_flags(world, true), 0);
        ck_assert(!dt_writer_begins(world->writer));
        world_free(world);
}
END_TEST

START_TEST(test_what_has_no_number_is_said_so) {
        static char huge[100000];
        World *world = world_new();
        uint64_t number = 0;
        unsigned n = 0;
        int r = 0;

        ck_assert_int_eq(dt_writer_intern(world->writer, 2, huge, sizeof(huge), &number), -EINVAL);
        for (unsigned i = 0; r != -ENOBUFS && i < 10000; i++) {
                char text[16];

                snprintf(text, sizeof(text), "%u", i);
                r = intern(world, text, &number);
                n += r == DT_INTERNED_NEW;
        }
        ck_assert_int_eq(r, -ENOBUFS);
        ck_assert_uint_eq(n, 1024);
        ck_assert_int_eq(intern(world, "7", &number), 0); /* those that have one keep it */
        ck_assert_int_eq(dt_writer_intern(world->writer, 2, NULL, 0, &number), -ENOBUFS);
        world_free(world);
}
END_TEST

TEST_MAIN("lib-writer-state",
          test_texts_have_a_number_until_state_starts_over,
          test_state_starts_over_after_a_loss,
          test_what_has_no_number_is_said_so)
