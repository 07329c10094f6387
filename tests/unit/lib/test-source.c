/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "desktrace/source.h"
#include "fake-service.h"
#include "shared/fd.h"
#include "wire/wire-reader.h"

#define PACKET   "\x40\x01" /* TracePacket.timestamp 1 */
#define N_PACKET 2

/* What the callbacks saw, and how they shall behave. Written on the library's thread, between calls of the test. */
typedef struct Seen {
        dt_instance *instances[8]; /* by id % 8 of the order of setup */
        unsigned n_setup;
        _Atomic unsigned n_start, n_flush, n_stop, n_clear, n_gone;
        uint8_t config[256];
        size_t n_config;
        const char *refusal, *start_error;
        const char *note; /* of each instance, at its setup */
        bool answer_later;
        dt_writer *write_at_stop; /* writes its last packet then */
} Seen;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        Seen *seen = userdata;

        if (seen->note)
                ck_assert_int_eq(dt_instance_add_note(instance, seen->note), 0);
        if (seen->refusal)
                return seen->refusal;
        memcpy(seen->config, config, n_config);
        seen->n_config = n_config;
        seen->instances[seen->n_setup++] = instance;
        return NULL;
}

static void *answer(void *reply) {
        usleep(20000);
        dt_reply_done(reply, NULL);
        return NULL;
}

static void answer_in_thread(dt_reply *reply) {
        pthread_t thread;

        ck_assert_int_eq(pthread_create(&thread, NULL, answer, reply), 0);
        pthread_detach(thread);
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_start++;
        dt_reply_done(reply, seen->start_error);
}

static void on_flush(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_flush++;
        dt_reply_done(reply, NULL);
}

static void on_stop(dt_instance *instance, dt_reply *reply, void *userdata) {
        Seen *seen = userdata;

        seen->n_stop++;
        if (seen->write_at_stop)
                dt_writer_write(seen->write_at_stop, PACKET, N_PACKET);
        if (seen->answer_later)
                answer_in_thread(reply);
        else
                dt_reply_done(reply, NULL);
}

static void on_clear(dt_instance *instance, void *userdata) {
        Seen *seen = userdata;

        seen->n_clear++;
}

static void on_gone(dt_instance *instance, void *userdata) {
        Seen *seen = userdata;

        seen->n_gone++;
}

static const dt_source_ops ops = {
        .setup = on_setup,
        .start = on_start,
        .flush = on_flush,
        .stop = on_stop,
        .clear_incremental_state = on_clear,
        .gone = on_gone,
};

static const dt_source_ops only_setup = { .setup = on_setup };

typedef struct World {
        Fake fake;
        Seen seen;
        dt_source *source;
} World;

/* As in a sandbox whose filter does not know membarrier(2). */
static void block_membarrier(void) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

        ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        ck_assert_int_eq(syscall(SYS_membarrier, 0, 0, 0), -1);
}

/* A library that is registered with a service, and has shared memory. */
static World *world_new(void) {
        World *world = calloc(1, sizeof(*world));

        if (getenv("TEST_WITHOUT_MEMBARRIER"))
                block_membarrier();
        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(
                dt_source_register(&world->source, "test.source", NULL, &ops, &world->seen), 0);
        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, FAKE_PAGES_BYTES, 4096);
        return world;
}

static void world_free(World *world) {
        dt_source_unregister(world->source);
        fake_deinit(&world->fake);
        free(world);
}

static dt_instance *world_record(World *world, uint64_t id, uint16_t buffer) {
        ck_assert_int_eq(fake_setup_buffer(&world->fake, id, "test.source", buffer), 0);
        ck_assert_int_eq(fake_start(&world->fake, id), 0);
        return world->seen.instances[world->seen.n_setup - 1];
}

/* The value of a varint field of a packet; 0 when it is not there. */
static uint64_t packet_value(const uint8_t *packet, size_t n_bytes, uint32_t number) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, packet, n_bytes);
        while (wire_read(&reader, &field) > 0)
                if (field.number == number)
                        return field.value;
        return 0;
}

static unsigned n_first, n_marked;

static void count_marks(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        n_first += packet_value(packet, n_bytes, 87) == 1;
        n_marked += packet_value(packet, n_bytes, 42) == 257;
}

START_TEST(test_sources_are_registered_as_offered) {
        const uint32_t fields[] = { 11, 900 };
        const char *const categories[] = { "a", "b.c", NULL };
        const dt_source_options options = {
                .descriptor = "\x0a\x05other",
                .n_descriptor = 7,
                .no_flush = true,
                .categories = categories,
                .packet_fields = fields,
                .n_packet_fields = 2,
        };
        dt_source *source, *other, *same;
        FakeSource *offered;
        Seen seen = { 0 };
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, &seen), 0);
        ck_assert_int_eq(dt_source_register(&other, "other", &options, &ops, &seen), 0);
        ck_assert_int_eq(dt_source_register(&same, "other", NULL, &ops, &seen), -EEXIST);
        fake_accept(&fake);
        fake_run(&fake, 2, 0);
        ck_assert_str_eq(fake.producer, program_invocation_short_name);
        ck_assert_ptr_nonnull(fake_source(&fake, "test.source"));
        offered = fake_source(&fake, "other");
        ck_assert_ptr_nonnull(offered);
        ck_assert_uint_eq(offered->n_descriptor, 7);
        ck_assert(offered->no_flush);
        ck_assert_str_eq(offered->categories, "a,b.c");
        ck_assert_uint_eq(offered->n_packet_fields, 2);
        ck_assert_int_eq(memcmp(offered->packet_fields, fields, sizeof(fields)), 0);
        ck_assert(!dt_source_enabled(source));
        dt_source_unregister(source);
        dt_source_unregister(other);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_sources_come_and_go_and_change_later) {
        const dt_source_options options = { .no_flush = true };
        dt_source *another;
        World *world = world_new();

        ck_assert_int_eq(dt_source_register(&another, "another", NULL, &ops, &world->seen), 0);
        fake_run(&world->fake, 2, 0);
        ck_assert(!fake_source(&world->fake, "another")->no_flush);
        ck_assert_int_eq(dt_source_update(another, &options), 0);
        world->fake.n_sources = 0;
        fake_run(&world->fake, 1, 0);
        ck_assert(fake_source(&world->fake, "another")->no_flush);
        dt_source_unregister(another);
        fake_run(&world->fake, 0, 1);
        dt_source_unregister(NULL);
        world_free(world);
}
END_TEST

START_TEST(test_a_service_that_comes_late_is_found) {
        dt_source *source;
        Seen seen = { 0 };
        Fake fake;

        fake_init(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, &seen), 0);
        usleep(50000);
        fake_listen(&fake);
        fake_accept(&fake);
        ck_assert_ptr_nonnull(fake_source(&fake, "test.source"));
        dt_source_unregister(source);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_bad_registrations_are_refused) {
        static const char long_name[130] = { [0 ... 128] = 'n' };
        const dt_source_ops no_setup = { .start = on_start };
        dt_source *source;

        ck_assert_int_eq(dt_source_register(&source, "", NULL, &ops, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, NULL, NULL, &ops, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, "", NULL, &ops, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, "\xff", NULL, &ops, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, long_name, NULL, &ops, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, "x", NULL, NULL, NULL), -EINVAL);
        ck_assert_int_eq(dt_source_register(&source, "x", NULL, &no_setup, NULL), -EINVAL);
        ck_assert_int_eq(dt_set_producer("", 0, 0), -EINVAL);
        ck_assert_int_eq(dt_set_producer("x", 0, 1000), -EINVAL);
        ck_assert_int_eq(dt_set_producer("x", SIZE_MAX, 0), -EINVAL);
}
END_TEST

START_TEST(test_packets_of_an_instance_reach_its_buffer) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 7, 3);
        dt_writer *writer;

        n_first = n_marked = 0;
        ck_assert(dt_source_enabled(world->source));
        ck_assert_uint_eq(packet_value(world->seen.config, world->seen.n_config, 2), 3);
        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_DEFAULT), 0);
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = count_marks;
        for (unsigned i = 0; i < 5; i++)
                ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 0);

        /* The writer's thread does nothing more; the flush returns its chunk nevertheless. */
        ck_assert_int_eq(fake_flush(&world->fake, 7), 0);
        ck_assert_uint_eq(world->seen.n_flush, 1);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 5);
        ck_assert_uint_eq(n_first, 1);
        ck_assert_uint_eq(n_marked, 0);
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                if (world->fake.streams[i].n_packets > 0)
                        ck_assert_uint_eq(world->fake.streams[i].user, 3);

        ck_assert_int_eq(fake_clear(&world->fake, 7), 0);
        ck_assert_uint_eq(world->seen.n_clear, 1);
        ck_assert_ptr_null(dt_writer_free(writer));
        world_free(world);
}
END_TEST

START_TEST(test_stop_is_acknowledged_when_the_last_packet_is_there) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);

        ck_assert_int_eq(dt_writer_new(&world->seen.write_at_stop, instance, DT_FULL_DROP), 0);
        world->seen.answer_later = true;
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        ck_assert_uint_eq(world->seen.n_stop, 1);
        ck_assert_uint_eq(world->seen.n_gone, 1);
        ck_assert(!dt_source_enabled(world->source));
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 1);

        /* The writer has survived its instance. */
        ck_assert_int_eq(dt_writer_write(world->seen.write_at_stop, PACKET, N_PACKET), -ESHUTDOWN);
        dt_writer_flush(world->seen.write_at_stop);
        dt_writer_free(world->seen.write_at_stop);
        ck_assert_int_ne(fake_stop(&world->fake, 1), 0);
        world_free(world);
}
END_TEST

START_TEST(test_a_source_with_only_setup_is_answered_for) {
        World *world = world_new();
        dt_source *plain;

        ck_assert_int_eq(dt_source_register(&plain, "plain", NULL, &only_setup, &world->seen), 0);
        fake_run(&world->fake, 2, 0);
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 2, "plain", 1), 0);
        ck_assert(!dt_source_enabled(plain));
        ck_assert_int_eq(fake_start(&world->fake, 2), 0);
        ck_assert(dt_source_enabled(plain));
        ck_assert_int_eq(fake_flush(&world->fake, 2), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 2), 0);
        ck_assert(!dt_source_enabled(plain));
        dt_source_unregister(plain);
        world_free(world);
}
END_TEST

START_TEST(test_refusals_are_told) {
        World *world = world_new();

        world->seen.refusal = "there is no such knob";
        ck_assert_int_lt(fake_setup_buffer(&world->fake, 1, "test.source", 1), 0);
        ck_assert_str_eq(world->fake.error, "there is no such knob");
        world->seen.refusal = NULL;
        world->seen.start_error = "no luck";
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "test.source", 1), 0);
        ck_assert_int_lt(fake_start(&world->fake, 1), 0);
        ck_assert_str_eq(world->fake.error, "no luck");
        ck_assert_uint_eq(world->seen.n_gone, 1);
        ck_assert(!dt_source_enabled(world->source));
        world_free(world);
}
END_TEST

START_TEST(test_notes_of_a_setup_are_there_when_it_has_started) {
        World *world = world_new();

        world->seen.note = "no left\nchannel\xff";
        (void)world_record(world, 7, 1);
        fake_run_on(&world->fake);
        ck_assert_uint_eq(world->fake.n_notes, 1);
        ck_assert_uint_eq(world->fake.noted_instance, 7);
        ck_assert_str_eq(world->fake.note, "no left channel?");
        world_free(world);
}
END_TEST

START_TEST(test_a_setup_that_refuses_has_no_notes) {
        World *world = world_new();

        world->seen.note = "no left channel";
        world->seen.refusal = "nor a right one";
        ck_assert_int_lt(fake_setup_buffer(&world->fake, 1, "test.source", 1), 0);
        world->seen.note = world->seen.refusal = NULL;
        (void)world_record(world, 2, 1);
        fake_run_on(&world->fake);
        ck_assert_uint_eq(world->fake.n_notes, 0);
        world_free(world);
}
END_TEST

START_TEST(test_the_number_and_length_of_notes_are_limited) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);
        char text[1024];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (unsigned i = 0; i < 32; i++)
                ck_assert_int_eq(dt_instance_add_note(instance, text), 0);
        ck_assert_int_eq(dt_instance_add_note(instance, text), -ENOBUFS);
        fake_run_notes(&world->fake, 32); /* nothing but the notes wakes the library's thread */
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_run_on(&world->fake);
        ck_assert_uint_eq(world->fake.n_notes, 32);
        ck_assert_uint_eq(strlen(world->fake.note), 512);
        world_free(world);
}
END_TEST

START_TEST(test_a_source_says_why_it_cannot_record_and_that_it_can_again) {
        const dt_source_options options = { .unavailable = "no device here;\nplug one in\xc3" };
        dt_source *another;
        World *world = world_new();

        ck_assert_int_eq(dt_source_register(&another, "another", &options, &ops, &world->seen), 0);
        fake_run(&world->fake, 2, 0);
        ck_assert_str_eq(fake_source(&world->fake, "another")->unavailable,
                         "no device here; plug one in?");
        ck_assert_int_eq(dt_source_update(another, &(dt_source_options){ 0 }), 0);
        world->fake.n_sources = 0;
        memset(world->fake.sources, 0, sizeof(world->fake.sources));
        fake_run(&world->fake, 1, 0);
        ck_assert_str_eq(fake_source(&world->fake, "another")->unavailable, "");
        dt_source_unregister(another);
        world_free(world);
}
END_TEST

START_TEST(test_wrong_calls_get_errors) {
        _cleanup_(fd_closep) int unsealed_fd = memfd_create("test", MFD_CLOEXEC);
        _cleanup_(fd_closep) int small_fd = -1;
        dt_source *source;
        Seen seen = { 0 };
        Fake fake;

        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, &seen), 0);
        fake_accept(&fake);
        ck_assert_int_lt(fake_setup_buffer(&fake, 1, "test.source", 1), 0); /* no memory yet */
        fake.doorbell_fd = eventfd(0, EFD_CLOEXEC);
        fake.bell_fd = eventfd(0, EFD_CLOEXEC);
        ck_assert_int_eq(ftruncate(unsealed_fd, 1 << 20), 0);
        ck_assert_int_lt(fake_pass_memory(&fake, unsealed_fd), 0);
        ck_assert_int_eq(fd_new_sealed_memfd(&small_fd, "test", 4096), 0);
        ck_assert_int_lt(fake_pass_memory(&fake, small_fd), 0);
        close(fake.doorbell_fd);
        close(fake.bell_fd);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        ck_assert_int_lt(fake_pass_memory(&fake, small_fd), 0); /* and the other stays */

        ck_assert_int_lt(fake_setup_buffer(&fake, 1, "nobody", 1), 0);
        ck_assert_int_lt(fake_setup_buffer(&fake, 1, "test.source", 0), 0);
        ck_assert_int_lt(fake_setup(&fake, 1, "test.source", "\x0a\xff", 2), 0);
        ck_assert_int_lt(fake_start(&fake, 1), 0);
        ck_assert_int_lt(fake_stop(&fake, 1), 0);
        ck_assert_int_eq(fake_flush(&fake, 1), 0); /* unknown ones are skipped */
        ck_assert_int_eq(fake_clear(&fake, 1), 0);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_int_lt(fake_setup_buffer(&fake, 1, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 1), 0);
        ck_assert_int_eq(fake_start(&fake, 1), 0); /* asked again, when nobody heard the answer */
        ck_assert_uint_eq(seen.n_setup, 1);
        dt_source_unregister(source);
        ck_assert_uint_eq(seen.n_gone, 1);
        fake_deinit(&fake);
}
END_TEST

START_TEST(test_losses_are_marked_on_the_next_packet) {
        static uint8_t filler[4000] = { 0x7a, 0x9d, 0x1f }; /* field 15, 3997 bytes */
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);
        dt_writer *writer;
        int r;

        n_marked = 0;
        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_DROP), 0);
        do
                r = dt_writer_write(writer, filler, sizeof(filler));
        while (r == 0);
        ck_assert_int_eq(r, -ENOBUFS);
        ck_assert(dt_writer_lost(writer));
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = count_marks;
        fake_drain(&world->fake);
        ck_assert_uint_eq(n_marked, 0);
        ck_assert_int_eq(dt_writer_write(writer, filler, sizeof(filler)), 0);
        ck_assert_int_eq(dt_writer_write(writer, filler, sizeof(filler)), 0);
        ck_assert(!dt_writer_lost(writer));
        dt_writer_flush(writer);
        fake_drain(&world->fake);
        ck_assert_uint_eq(n_marked, 1);
        dt_writer_free(writer);
        world_free(world);
}
END_TEST

START_TEST(test_two_sessions_have_their_own_buffers) {
        World *world = world_new();
        dt_instance *one = world_record(world, 1, 10), *two = world_record(world, 2, 20);
        unsigned n_by_buffer[2] = { 0 };
        dt_writer *writers[2];

        ck_assert_int_eq(dt_writer_new(&writers[0], one, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_new(&writers[1], two, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writers[0], PACKET, N_PACKET), 0);
        ck_assert_int_eq(dt_writer_write(writers[1], PACKET, N_PACKET), 0);
        ck_assert_int_eq(dt_writer_write(writers[1], PACKET, N_PACKET), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        ck_assert(dt_source_enabled(world->source));
        ck_assert_int_eq(dt_writer_write(writers[0], PACKET, N_PACKET), -ESHUTDOWN);
        ck_assert_int_eq(dt_writer_write(writers[1], PACKET, N_PACKET), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 2), 0);
        fake_drain(&world->fake);
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                if (world->fake.streams[i].n_packets > 0)
                        n_by_buffer[world->fake.streams[i].user / 10 - 1] +=
                                world->fake.streams[i].n_packets;
        ck_assert_uint_eq(n_by_buffer[0], 1);
        ck_assert_uint_eq(n_by_buffer[1], 3);
        dt_writer_free(writers[0]);
        dt_writer_free(writers[1]);
        world_free(world);
}
END_TEST

static void wait_for(_Atomic unsigned *count, unsigned n) {
        for (unsigned i = 0; *count < n; i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
}

START_TEST(test_instances_end_with_the_service_and_the_next_one_is_found) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);
        dt_writer *writer;

        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_STALL), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        fake_disconnect(&world->fake);
        wait_for(&world->seen.n_gone, 1);
        ck_assert(!dt_source_enabled(world->source));
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), -ESHUTDOWN);

        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, FAKE_PAGES_BYTES, 4096);
        world_record(world, 1, 1);
        ck_assert(dt_source_enabled(world->source));
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), -ESHUTDOWN);
        dt_writer_free(writer); /* the old memory is unmapped only now */
        world_free(world);
}
END_TEST

static unsigned count_connections(void) {
        unsigned n = 0;

        for (int fd = 3; fd < 256; fd++) {
                struct sockaddr_storage peer;
                socklen_t n_peer = sizeof(peer);

                n += getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0;
        }
        return n;
}

static int child_finds_everything_off(World *world,
                                      dt_writer *writer,
                                      dt_instance *instance,
                                      unsigned n_connections) {
        dt_writer *another;
        dt_source *source;

        if (dt_writer_write(writer, PACKET, N_PACKET) != -ESHUTDOWN)
                return 1;
        if (dt_writer_new(&another, instance, DT_FULL_DROP) != -ESHUTDOWN)
                return 2;
        if (dt_source_register(&source, "child", NULL, &ops, NULL) != -ECANCELED)
                return 3;
        dt_writer_flush(writer);
        dt_source_unregister(world->source);
        if (count_connections() != n_connections)
                return 4;
        dt_writer_free(writer);
        return 0;
}

START_TEST(test_a_forked_child_is_off_and_the_parent_goes_on) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);
        dt_writer *writer;
        unsigned n_connections;
        int status;
        pid_t pid;

        ck_assert_int_eq(dt_writer_new(&writer, instance, DT_FULL_DROP), 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        /* The parent's connection must end with the parent: the child does not hold it open. */
        n_connections = count_connections() - 1;
        pid = fork();
        if (pid == 0)
                _exit(child_finds_everything_off(world, writer, instance, n_connections));
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(dt_writer_write(writer, PACKET, N_PACKET), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(fake_n_packets(&world->fake), 2);
        dt_writer_free(writer);
        world_free(world);
}
END_TEST

typedef struct Hammer {
        dt_writer *writer;
        unsigned n_written;
} Hammer;

static void *hammer(void *userdata) {
        uint8_t packet[200] = { 0x7a, 0xc5, 0x01 }; /* field 15, 197 bytes */
        Hammer *self = userdata;
        int r;

        while ((r = dt_writer_write(self->writer, packet, sizeof(packet))) != -ESHUTDOWN)
                self->n_written += r == 0;
        return NULL;
}

START_TEST(test_flush_and_stop_do_not_disturb_busy_writers) {
        World *world = world_new();
        dt_instance *instance = world_record(world, 1, 1);
        Hammer hammers[3] = { 0 };
        pthread_t threads[3];
        unsigned n_written = 0;

        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(dt_writer_new(&hammers[i].writer, instance, DT_FULL_STALL), 0);
                ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
        }
        /* on a busy machine the threads may take their time to begin */
        for (unsigned i = 0; i < 20 || (i < 5000 && fake_n_packets(&world->fake) == 0); i++) {
                ck_assert_int_eq(fake_flush(&world->fake, 1), 0);
                for (unsigned j = 0; j < 20; j++)
                        fake_drain(&world->fake);
        }
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        for (unsigned i = 0; i < 3; i++) {
                pthread_join(threads[i], NULL);
                n_written += hammers[i].n_written;
                dt_writer_free(hammers[i].writer);
        }
        fake_drain(&world->fake);
        ck_assert_uint_gt(n_written, 0);
        ck_assert_uint_eq(fake_n_packets(&world->fake), n_written);
        world_free(world);
}
END_TEST

START_TEST(test_the_producer_is_set_before_the_first_source) {
        World *world;

        if (dt_set_producer("a name", 2 << 20, 8192) ==
            0) { /* not the first test of this process */
                world = world_new();
                ck_assert_str_eq(world->fake.producer, "a name");
                ck_assert_uint_eq(world->fake.memory_kib, 2048);
                ck_assert_uint_eq(world->fake.page_kib, 8);
        } else
                world = world_new();
        ck_assert_int_eq(dt_set_producer("too late", 0, 0), -EBUSY);
        world_free(world);
}
END_TEST

TEST_MAIN("source",
          test_sources_are_registered_as_offered,
          test_sources_come_and_go_and_change_later,
          test_a_service_that_comes_late_is_found,
          test_bad_registrations_are_refused,
          test_packets_of_an_instance_reach_its_buffer,
          test_stop_is_acknowledged_when_the_last_packet_is_there,
          test_a_source_with_only_setup_is_answered_for,
          test_refusals_are_told,
          test_notes_of_a_setup_are_there_when_it_has_started,
          test_a_setup_that_refuses_has_no_notes,
          test_the_number_and_length_of_notes_are_limited,
          test_a_source_says_why_it_cannot_record_and_that_it_can_again,
          test_wrong_calls_get_errors,
          test_losses_are_marked_on_the_next_packet,
          test_two_sessions_have_their_own_buffers,
          test_instances_end_with_the_service_and_the_next_one_is_found,
          test_a_forked_child_is_off_and_the_parent_goes_on,
          test_flush_and_stop_do_not_disturb_busy_writers,
          test_the_producer_is_set_before_the_first_source)
