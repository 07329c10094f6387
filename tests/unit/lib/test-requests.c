/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the service asks for in shared memory, as the library's users see it. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "desktrace/source.h"
#include "fake-service.h"
#include "shared/fd.h"
#include "shared/monotonic.h"
#include "wire/wire-writer.h"

#define PAGES_BYTES (64u << 10)
#define PACKET      "\x40\x01" /* TracePacket.timestamp 1 */
#define N_PACKET    2

typedef struct Seen {
        dt_instance *instance;
        _Atomic unsigned n_start, n_flush, n_stop, n_clear, n_gone;
        const char *start_error;
        _Atomic bool answer_later, never_answers;
        dt_reply *reply, *stop_reply; /* of the last flush and stop */
} Seen;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        ((Seen *)userdata)->instance = instance;
        return NULL;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_start++;
        dt_reply_done(reply, seen->start_error);
}

static void *answer(void *reply) {
        usleep(20000);
        dt_reply_done(reply, NULL);
        return NULL;
}

static void answer_now_or_later(const Seen *seen, dt_reply *reply) {
        pthread_t thread;

        if (!seen->answer_later) {
                dt_reply_done(reply, NULL);
                return;
        }
        ck_assert_int_eq(pthread_create(&thread, NULL, answer, reply), 0);
        pthread_detach(thread);
}

static void on_flush(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_flush++;
        seen->reply = reply;
        if (!seen->never_answers)
                answer_now_or_later(seen, reply);
}

static void on_stop(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_stop++;
        seen->stop_reply = reply;
        if (!seen->never_answers)
                dt_reply_done(reply, NULL);
}

static void on_clear(dt_instance *instance, void *userdata) {
        ((Seen *)userdata)->n_clear++;
}

static void on_gone(dt_instance *instance, void *userdata) {
        ((Seen *)userdata)->n_gone++;
}

static const dt_source_ops ops = {
        .setup = on_setup,
        .start = on_start,
        .flush = on_flush,
        .stop = on_stop,
        .clear_incremental_state = on_clear,
        .gone = on_gone,
};

typedef struct World {
        Fake fake;
        Seen seen;
        dt_source *source;
} World;

static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(
                dt_source_register(&world->source, "test.source", NULL, &ops, &world->seen), 0);
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "test.source", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        return world;
}

static void ring_bell(const World *world) {
        const uint64_t one = 1;

        ck_assert_int_eq(write(world->fake.bell_fd, &one, sizeof(one)), sizeof(one));
}

static void world_free(World *world) {
        dt_source_unregister(world->source);
        fake_deinit(&world->fake);
        free(world);
}

/* Of all memories that the service made: the test's own mappings, and the library's. */
static unsigned n_mappings(void) {
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];
        unsigned n = 0;

        ck_assert_ptr_nonnull(maps);
        while (fgets(line, sizeof(line), maps))
                n += strstr(line, "/memfd:test") != NULL;
        fclose(maps);
        return n;
}

/* The library lets go on its own thread. */
static void await_mappings(unsigned n) {
        for (unsigned i = 0; i < 500 && n_mappings() != n; i++)
                usleep(10000);
        ck_assert_uint_eq(n_mappings(), n);
}

START_TEST(test_flush_in_memory_returns_chunks_before_it_is_answered) {
        World *world = world_new();
        dt_writer *writer;

        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        for (unsigned i = 1; i <= 3; i++) {
                world->seen.answer_later = i == 3;
                ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
                fake_request(&world->fake, SMB_REQUEST_FLUSH, 1);
                fake_drain(&world->fake);
                ck_assert_uint_eq(fake_n_packets(&world->fake), i);
                ck_assert_uint_eq(world->seen.n_flush, i);
        }
        dt_writer_free(writer);
        world_free(world);
}
END_TEST

/* By then there is neither the instance nor anybody who waits. */
START_TEST(test_answers_may_come_after_the_service_has_gone) {
        World *world = world_new();
        uint64_t ids[] = { 1 };
        unsigned place;

        world->seen.never_answers = true;
        ck_assert_int_eq(smb_ask(&world->fake.area, SMB_REQUEST_FLUSH, ids, 1, &place), 0);
        ck_assert_int_eq(smb_ask(&world->fake.area, SMB_REQUEST_STOP, ids, 1, &place), 0);
        ring_bell(world);
        while (world->seen.n_flush + world->seen.n_stop < 2)
                usleep(1000);
        fake_disconnect(&world->fake);
        while (world->seen.n_gone == 0)
                usleep(1000);
        dt_reply_done(world->seen.reply, NULL);
        dt_reply_done(world->seen.stop_reply, "It is too late.");

        world->seen.never_answers = false;
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, PAGES_BYTES, 4096);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "test.source", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        ck_assert_uint_eq(world->seen.n_gone, 2);
        world_free(world);
}
END_TEST

/* More than there are chunks, however the pages are divided. */
#define N_IDLE_WRITERS 300

START_TEST(test_writers_that_have_nothing_more_to_say_give_their_chunks_back) {
        static dt_writer *writers[N_IDLE_WRITERS];
        World *world = world_new();
        unsigned n_failed = 0;

        ck_assert_uint_gt(N_IDLE_WRITERS, SMB_CHUNKS_MAX * world->fake.area.n_pages);
        for (unsigned i = 0; i < N_IDLE_WRITERS; i++) {
                ck_assert_int_eq(dt_writer_new(&writers[i], world->seen.instance, DT_FULL_DROP), 0);
                for (unsigned j = 0; dt_writer_write(writers[i], PACKET, N_PACKET) != 0; j++) {
                        ck_assert_uint_lt(j, 10000);
                        n_failed++;
                        usleep(1000);
                        fake_drain(&world->fake);
                }
        }
        ck_assert_uint_gt(n_failed, 0);
        for (unsigned i = 0; i < N_IDLE_WRITERS; i++) {
                dt_writer_free(writers[i]);
                if (i % 20 == 0) /* so that each has a place for its retirement */
                        fake_drain(&world->fake);
        }
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), N_IDLE_WRITERS);
        ck_assert_uint_eq(smb_n_dropped(&world->fake.area), n_failed);
        world_free(world);
}
END_TEST

START_TEST(test_setup_may_be_a_start_at_once) {
        World *world = world_new();

        world->fake.starts = true;
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 2, "test.source", 6), 0);
        ck_assert(dt_source_enabled(world->source));
        ck_assert_uint_eq(world->seen.n_start, 2);
        world->seen.start_error = "not today";
        ck_assert_int_lt(fake_setup_buffer(&world->fake, 3, "test.source", 7), 0);
        ck_assert_str_eq(world->fake.error, "not today");
        ck_assert_uint_eq(world->seen.n_gone, 1);
        world_free(world);
}
END_TEST

typedef struct Flood {
        dt_writer *writer;
        _Atomic bool has_ended;
        unsigned n_refused;
} Flood;

#define N_FLOOD 20000 /* packets: more than the memory holds */

static void *write_flood(void *userdata) {
        Flood *flood = userdata;

        for (unsigned i = 0; i < N_FLOOD; i++)
                flood->n_refused += dt_writer_write(flood->writer, PACKET PACKET PACKET, 6) != 0;
        flood->has_ended = true;
        return NULL;
}

#define PATIENCE_NS 500000000 /* half of what writers wait */

/* Drains while they write, or not before they have. Returns how many packets found no room, or -1: the machine was too
 * slow to say. */
static int flood(uint64_t policy, dt_full_policy own_policy, bool is_drained) {
        uint64_t drained_ns, longest_ns = 0;
        Flood flood = { 0 };
        uint8_t config[64];
        WireWriter writer;
        pthread_t thread;
        World *world = world_new();

        wire_writer_init(&writer, config, sizeof(config));
        wire_put_uint(&writer, 2, 5);
        wire_put_uint(&writer, 9, policy); /* buffer_exhausted_policy */
        ck_assert_int_eq(
                fake_setup(&world->fake, 2, "test.source", config, wire_writer_size(&writer)), 0);
        ck_assert_int_eq(fake_start(&world->fake, 2), 0);
        ck_assert_int_eq(dt_writer_new(&flood.writer, world->seen.instance, own_policy), 0);
        drained_ns = monotonic_ns();
        ck_assert_int_eq(pthread_create(&thread, NULL, write_flood, &flood), 0);
        while (is_drained && !flood.has_ended) {
                usleep(1000);
                fake_drain(&world->fake);
                longest_ns = MAX(longest_ns, monotonic_ns() - drained_ns);
                drained_ns = monotonic_ns();
        }
        pthread_join(thread, NULL);
        dt_writer_free(flood.writer);
        ck_assert_uint_eq(smb_n_dropped(&world->fake.area), flood.n_refused);
        world_free(world);
        return longest_ns < PATIENCE_NS ? (int)flood.n_refused : -1;
}

START_TEST(test_writers_wait_for_room_where_the_config_or_they_say_so) {
        ck_assert_int_gt(flood(0, DT_FULL_DEFAULT, false), 0);
        ck_assert_int_gt(flood(1, DT_FULL_DEFAULT, false), 0);
        ck_assert_int_gt(flood(3, DT_FULL_DROP, false), 0);
        ck_assert_int_le(flood(2, DT_FULL_DEFAULT, true), 0); /* nothing aborts a program */
        ck_assert_int_le(flood(3, DT_FULL_DEFAULT, true), 0);
        ck_assert_int_le(flood(0, DT_FULL_STALL, true), 0);
}
END_TEST

START_TEST(test_unknown_instances_and_kinds_are_answered) {
        World *world = world_new();

        fake_request(&world->fake, SMB_REQUEST_FLUSH, 4711);
        fake_request(&world->fake, SMB_REQUEST_STOP, 4711);
        fake_request(&world->fake, (SmbRequestKind)99, 1);
        ck_assert_uint_eq(world->seen.n_flush, 0);
        ck_assert_uint_eq(world->seen.n_stop, 0);
        fake_request(&world->fake, SMB_REQUEST_CLEAR, 1);
        ck_assert_uint_eq(world->seen.n_clear, 1);
        world_free(world);
}
END_TEST

START_TEST(test_stop_in_memory_ends_the_instance) {
        World *world = world_new();
        dt_writer *writer;

        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        fake_request(&world->fake, SMB_REQUEST_STOP, 1);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 1);
        ck_assert_uint_eq(world->seen.n_stop, 1);
        ck_assert_uint_eq(world->seen.n_gone, 1);
        ck_assert(!dt_source_enabled(world->source));
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), -ESHUTDOWN);
        dt_writer_free(writer);
        world_free(world);
}
END_TEST

START_TEST(test_memory_that_is_no_longer_used_is_given_back) {
        World *world = world_new();
        dt_writer *writer;

        /* Not while an instance is there, whatever the service says. */
        fake_request(&world->fake, SMB_REQUEST_RELEASE, 0);
        fake_request(&world->fake, SMB_REQUEST_FLUSH, 1);
        ck_assert_uint_eq(n_mappings(), 2);
        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        fake_request(&world->fake, SMB_REQUEST_STOP, 1);

        /* A writer that was forgotten keeps the memory, but not from being replaced. */
        ck_assert_int_eq(fake_stop(&world->fake, 1), -EIO);
        ck_assert_uint_eq(n_mappings(), 2);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), -ESHUTDOWN);
        dt_writer_free(writer);
        await_mappings(1);
        world_free(world);
}
END_TEST

START_TEST(test_other_memory_can_be_passed_and_is_used) {
        World *world = world_new();
        void *old = world->fake.memory;
        size_t n_old = world->fake.n_memory;
        dt_writer *writer;

        fake_request(&world->fake, SMB_REQUEST_STOP, 1);
        fake_request(&world->fake, SMB_REQUEST_RELEASE, 0);
        fake_setup_memory(&world->fake, 2 * PAGES_BYTES, 4096);
        munmap(old, n_old);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 2, "test.source", 6), 0);
        ck_assert_int_eq(fake_start(&world->fake, 2), 0);
        ck_assert_uint_eq(n_mappings(), 2);
        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        fake_request(&world->fake, SMB_REQUEST_FLUSH, 2);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 1);
        dt_writer_free(writer);
        world_free(world);
}
END_TEST

/* As for a program that was suspended while its session ended. */
START_TEST(test_other_memory_may_come_before_the_old_one_is_done_with) {
        World *world = world_new();
        void *old = world->fake.memory;
        size_t n_old = world->fake.n_memory;
        dt_writer *writer;

        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        fake_setup_memory(&world->fake, PAGES_BYTES, 4096);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), -ESHUTDOWN);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 2, "test.source", 6), 0);
        ck_assert_int_eq(fake_start(&world->fake, 2), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        dt_writer_free(writer);
        ck_assert_int_eq(dt_writer_new(&writer, world->seen.instance, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        dt_writer_free(writer);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 1);
        munmap(old, n_old);
        world_free(world);
}
END_TEST

/* Other memory with these descriptors, as the service could not pass it: 0, or the error's errno. */
static int pass_descriptors(World *world, int doorbell_fd, int bell_fd) {
        _cleanup_(fd_closep) int fd = -1;
        Fake *fake = &world->fake;
        void *memory;

        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "test", fake->n_memory), 0);
        memory = mmap(NULL, fake->n_memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ck_assert(memory != MAP_FAILED);
        smb_area_create(&fake->area, memory, PAGES_BYTES, 4096);
        munmap(memory, fake->n_memory);
        fd_close(fake->doorbell_fd);
        fd_close(fake->bell_fd);
        fake->doorbell_fd = doorbell_fd;
        fake->bell_fd = bell_fd;
        return fake_pass_memory(fake, fd);
}

/* One that nobody reads would end the program with SIGPIPE, in the middle of an event. */
START_TEST(test_a_doorbell_that_is_no_eventfd_is_refused) {
        World *world = world_new();
        int fds[2];

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_lt(pass_descriptors(world, fds[1], eventfd(0, EFD_CLOEXEC)), 0);
        ck_assert_ptr_nonnull(strstr(world->fake.error, "eventfd"));
        close(fds[0]);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_lt(pass_descriptors(world, fds[1], eventfd(0, EFD_CLOEXEC)), 0);
        close(fds[0]);
        world_free(world);
}
END_TEST

START_TEST(test_a_bell_that_would_block_is_not_waited_for) {
        World *world = world_new();
        int fds[2];

        ck_assert_int_eq(pass_descriptors(world, eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_CLOEXEC)),
                         0);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 2, "test.source", 6), 0);
        ck_assert_int_eq(fake_start(&world->fake, 2), 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(pass_descriptors(world, eventfd(0, EFD_NONBLOCK), fds[1]), 0);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 3, "test.source", 6), 0);
        ck_assert_int_eq(fake_start(&world->fake, 3), 0);
        close(fds[0]);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_lt(pass_descriptors(world, eventfd(0, EFD_NONBLOCK), fds[0]), 0);
        close(fds[1]);
        world_free(world);
}
END_TEST

TEST_MAIN("requests",
          test_flush_in_memory_returns_chunks_before_it_is_answered,
          test_answers_may_come_after_the_service_has_gone,
          test_writers_that_have_nothing_more_to_say_give_their_chunks_back,
          test_setup_may_be_a_start_at_once,
          test_writers_wait_for_room_where_the_config_or_they_say_so,
          test_unknown_instances_and_kinds_are_answered,
          test_stop_in_memory_ends_the_instance,
          test_memory_that_is_no_longer_used_is_given_back,
          test_other_memory_can_be_passed_and_is_used,
          test_other_memory_may_come_before_the_old_one_is_done_with,
          test_a_doorbell_that_is_no_eventfd_is_refused,
          test_a_bell_that_would_block_is_not_waited_for)
