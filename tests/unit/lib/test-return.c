/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library goes on in its memory while there is no service, and with the next one. */

#include <errno.h>
#include <unistd.h>

#include "desktrace/source.h"
#include "fake-service.h"

#define PAGES_BYTES (64u << 10)
#define PACKET      "\x40\x01" /* TracePacket.timestamp 1 */
#define N_PACKET    2
#define KEY         "0123456789abcdef"
#define OTHER_KEY   "0123456789abcdeF"

typedef struct Seen {
        dt_instance *instance;
        _Atomic unsigned n_start, n_flush, n_gone;
} Seen;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        ((Seen *)userdata)->instance = instance;
        return NULL;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        ((Seen *)userdata)->n_start++;
        dt_reply_done(reply, NULL);
}

static void on_flush(dt_instance *instance, dt_reply *reply, void *userdata) {
        ((Seen *)userdata)->n_flush++;
        dt_reply_done(reply, NULL);
}

static void on_gone(dt_instance *instance, void *userdata) {
        ((Seen *)userdata)->n_gone++;
}

static const dt_source_ops ops = {
        .setup = on_setup,
        .start = on_start,
        .flush = on_flush,
        .gone = on_gone,
};

typedef struct World {
        Fake fake;
        Seen seen;
        dt_source *source;
        dt_writer *writer;
} World;

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        fake_init(&world->fake);
        world->fake.key = KEY;
        fake_listen(&world->fake);
        ck_assert_int_eq(
                dt_source_register(&world->source, "test.source", NULL, &ops, &world->seen), 0);
        fake_accept(&world->fake);
        ck_assert_uint_eq(world->fake.n_said_key, 0);
        fake_setup_memory(&world->fake, PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "test.source", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(dt_writer_new(&world->writer, world->seen.instance, DT_FULL_DROP), 0);
        return world;
}

static void world_free(World *world) {
        dt_writer_free(world->writer);
        dt_source_unregister(world->source);
        fake_deinit(&world->fake);
        free(world);
}

static void write_some(World *world) {
        ck_assert_int_eq(dt_writer_write(world->writer, PACKET, N_PACKET), 0);
}

static void await_gone(World *world) {
        for (unsigned i = 0; world->seen.n_gone == 0; i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

/* What the library has sent meanwhile is answered. */
static void settle(World *world) {
        ck_assert_int_eq(fake_flush(&world->fake, 999), 0);
}

static void expect_proof(const World *world) {
        ck_assert_uint_eq(world->fake.n_said_key, strlen(KEY));
        ck_assert_mem_eq(world->fake.said_key, KEY, strlen(KEY));
        ck_assert_uint_eq(world->fake.n_said_instances, 1);
        ck_assert_uint_eq(world->fake.said_instances[0], 1);
}

START_TEST(test_instance_goes_on_with_the_next_service) {
        World *world = world_new();

        world->fake.known_key = KEY;
        world->fake.known_instances[0] = 1;
        world->fake.n_known_instances = 1;
        for (unsigned i = 0; i < 2; i++) { /* as often as it may be */
                write_some(world);
                fake_disconnect(&world->fake);
                write_some(world);
                dt_writer_flush(world->writer);
                write_some(world);
                fake_accept(&world->fake);
                expect_proof(world);
                write_some(world);
                settle(world);
                /* Somebody may have rung the old one just before. */
                ck_assert(fake_was_rung(&world->fake));
        }
        fake_request(&world->fake, SMB_REQUEST_FLUSH, 1); /* by the new bells */
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 8);
        ck_assert_uint_eq(world->seen.n_start, 1);
        ck_assert_uint_eq(world->seen.n_flush, 1);
        ck_assert_uint_eq(world->seen.n_gone, 0);
        world_free(world);
}
END_TEST

START_TEST(test_instance_ends_with_a_service_that_does_not_know_it) {
        World *world = world_new();

        fake_disconnect(&world->fake);
        fake_accept(&world->fake);
        expect_proof(world);
        fake_run_on(&world->fake);
        await_gone(world);
        ck_assert_int_eq(dt_writer_write(world->writer, PACKET, N_PACKET), -ESHUTDOWN);
        settle(world);
        world_free(world);
}
END_TEST

START_TEST(test_instance_ends_that_the_next_service_does_not_go_on_with) {
        World *world = world_new();

        fake_disconnect(&world->fake);
        world->fake.known_key = KEY;
        world->fake.known_instances[0] = 2;
        world->fake.n_known_instances = 1;
        fake_accept(&world->fake);
        fake_run_on(&world->fake);
        await_gone(world);
        settle(world);
        world_free(world);
}
END_TEST

START_TEST(test_memory_with_another_key_is_another) {
        World *world = world_new();

        fake_disconnect(&world->fake);
        world->fake.known_key = OTHER_KEY;
        world->fake.known_instances[0] = 1;
        world->fake.n_known_instances = 1;
        fake_accept(&world->fake);
        fake_run_on(&world->fake);
        await_gone(world);
        settle(world);
        world_free(world);
}
END_TEST

START_TEST(test_source_can_go_while_there_is_no_service) {
        World *world = world_new();

        fake_disconnect(&world->fake);
        dt_source_unregister(world->source);
        ck_assert_uint_eq(world->seen.n_gone, 1);
        ck_assert_int_eq(
                dt_source_register(&world->source, "test.source", NULL, &ops, &world->seen), 0);
        world->fake.known_key = KEY;
        fake_accept(&world->fake);
        ck_assert_uint_eq(world->fake.n_said_key, strlen(KEY));
        ck_assert_uint_eq(world->fake.n_said_instances, 0);
        settle(world);
        world_free(world);
}
END_TEST

START_TEST(test_service_without_a_key_has_no_successor) {
        World *world = calloc(1, sizeof(*world));

        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(
                dt_source_register(&world->source, "test.source", NULL, &ops, &world->seen), 0);
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "test.source", 5), 0);
        fake_disconnect(&world->fake);
        await_gone(world);
        fake_accept(&world->fake);
        ck_assert_uint_eq(world->fake.n_said_key, 0);
        settle(world);
        world_free(world);
}
END_TEST

TEST_MAIN_FORKED("lib-return",
                 test_instance_goes_on_with_the_next_service,
                 test_instance_ends_with_a_service_that_does_not_know_it,
                 test_instance_ends_that_the_next_service_does_not_go_on_with,
                 test_memory_with_another_key_is_another,
                 test_source_can_go_while_there_is_no_service,
                 test_service_without_a_key_has_no_successor)
