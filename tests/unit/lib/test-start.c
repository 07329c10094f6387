/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * How a whole program starts, with a service that the test provides.
 */

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "fake-service.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "trace.h"

#define ANSWER_MS 10000 /* a busy machine's */

typedef struct World {
        Fake fake;
        Trace *trace;
        pid_t program;
        int input_fd, output_fd;
} World;

static World *reading; /* whose trace the packets go to */

static void on_packet(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        trace_packet(reading->trace, (unsigned)(stream - reading->fake.streams), packet, n_bytes);
}

static void set_or_unset(const char *variable, const char *value) {
        if (value)
                setenv(variable, value, 1);
        else
                unsetenv(variable);
}

static void run_program(int input_fd, int output_fd, const char *wait, const char *startup) {
        dup2(input_fd, STDIN_FILENO);
        dup2(output_fd, STDOUT_FILENO);
        set_or_unset(TRACING_ENV_WAIT, wait);
        set_or_unset(TRACING_ENV_STARTUP, startup);
        execl(FIRST_EVENT, FIRST_EVENT, NULL);
        _exit(127);
}

/* Runs the program, with that in $DESKTRACE_WAIT and $DESKTRACE_STARTUP, until it has registered. */
static World *world_new_startup(const char *wait, const char *startup) {
        World *world = calloc(1, sizeof(*world));
        int input[2], output[2];

        fake_init(&world->fake);
        fake_listen(&world->fake);
        ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
        ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
        world->program = fork();
        ck_assert_int_ge(world->program, 0);
        if (world->program == 0)
                run_program(input[0], output[1], wait, startup);
        close(input[0]);
        close(output[1]);
        world->input_fd = input[1];
        world->output_fd = output[0];

        fake_accept(&world->fake);
        fake_setup_memory(&world->fake, FAKE_PAGES_BYTES, 4096);
        for (unsigned i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                world->fake.streams[i].on_packet = on_packet;
        world->trace = calloc(1, sizeof(*world->trace));
        return reading = world;
}

static World *world_new(const char *wait) {
        return world_new_startup(wait, NULL);
}

static void world_free(World *world) {
        int status;

        close(world->input_fd);
        ck_assert_int_eq(waitpid(world->program, &status, 0), world->program);
        ck_assert_int_eq(status, 0);
        close(world->output_fd);
        fake_deinit(&world->fake);
        trace_free(world->trace);
        free(world);
}

/* Whether the program is past its first event, or gets there in time. */
static bool program_is_past(World *world, int timeout_ms) {
        struct pollfd pollfd = { .fd = world->output_fd, .events = POLLIN };
        char byte = 0;

        if (poll(&pollfd, 1, timeout_ms) != 1)
                return false;
        ck_assert_int_eq(read(world->output_fd, &byte, 1), 1);
        return byte == '+';
}

START_TEST(test_a_program_that_is_told_to_wait_is_recorded_from_its_first_event) {
        World *world = world_new("10000");

        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert(!program_is_past(world, 0));
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert(program_is_past(world, ANSWER_MS));
        ck_assert_int_eq(fake_flush(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(world->trace->n_events, 2);
        ck_assert_str_eq(world->trace->events[0].name, "first");
        world_free(world);
}
END_TEST

START_TEST(test_a_program_that_nobody_records_starts_nevertheless) {
        World *world = world_new("50");

        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert(program_is_past(world, ANSWER_MS));
        world_free(world);
}
END_TEST

START_TEST(test_a_program_that_is_not_told_to_wait_needs_no_session) {
        World *world = world_new(NULL);

        ck_assert(program_is_past(world, ANSWER_MS));
        world_free(world);
}
END_TEST

/* And nothing keeps the program from going on. */
START_TEST(test_with_startup_recording_nothing_is_missed_from_before_main_on) {
        World *world = world_new_startup(NULL, "*");

        ck_assert(program_is_past(world, ANSWER_MS));
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(world->trace->n_events, 4);
        ck_assert_str_eq(world->trace->events[0].name, "before main");
        ck_assert_str_eq(world->trace->events[1].name, "before init");
        ck_assert_str_eq(world->trace->events[2].name, "first");
        world_free(world);
}
END_TEST

START_TEST(test_a_program_that_waits_has_handed_over_what_was_kept) {
        World *world = world_new_startup("10000", "start");

        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert(!program_is_past(world, 0));
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert(program_is_past(world, ANSWER_MS));
        ck_assert_int_eq(fake_flush(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(world->trace->n_events, 4);
        world_free(world);
}
END_TEST

static void record_startup(World *world, unsigned n_events) {
        ck_assert(program_is_past(world, ANSWER_MS));
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(world->trace->n_events, n_events);
        world_free(world);
}

/* Whatever the variables say, as much is kept as can be. */
START_TEST(test_sizes_and_times_out_of_range_are_brought_into_it) {
        static const char *const texts[] = { "1", "0", "4096", "99999999999999999999", "many", "" };

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                setenv(TRACING_ENV_STARTUP_KIB, texts[i], 1);
                setenv(TRACING_ENV_STARTUP_SECONDS, i == 0 ? "60" : texts[i], 1);
                if (i == 2)
                        setenv(TRACING_ENV_STARTUP_SECONDS, "3600", 1);
                record_startup(world_new_startup(NULL, "*"), 4);
        }
        unsetenv(TRACING_ENV_STARTUP_KIB);
        unsetenv(TRACING_ENV_STARTUP_SECONDS);
}
END_TEST

START_TEST(test_categories_that_are_not_named_are_not_kept) {
        World *world = world_new_startup(NULL, "other");

        ck_assert(program_is_past(world, ANSWER_MS));
        ck_assert_int_eq(fake_setup_buffer(&world->fake, 1, "track_event", 5), 0);
        ck_assert_int_eq(fake_start(&world->fake, 1), 0);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(world->trace->n_events, 0);
        world_free(world);
}
END_TEST

TEST_MAIN("start",
          test_a_program_that_is_told_to_wait_is_recorded_from_its_first_event,
          test_a_program_that_nobody_records_starts_nevertheless,
          test_a_program_that_is_not_told_to_wait_needs_no_session,
          test_with_startup_recording_nothing_is_missed_from_before_main_on,
          test_a_program_that_waits_has_handed_over_what_was_kept,
          test_sizes_and_times_out_of_range_are_brought_into_it,
          test_categories_that_are_not_named_are_not_kept)
