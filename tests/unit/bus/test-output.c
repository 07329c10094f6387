/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From sessions to outputs, over a real connection: what an output is told, in which turns it gets its batches, and
 * what becomes of one that is full, fails or takes nothing. The output is a fake; producers are those of the core's
 * fixture.
 */

#include "../core/fixture.h"
#include "bus/bus.h"
#include "core/events/service-packets.h"
#include "core/model/compression.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus/object/bus-session.h"
#include "shared/fd.h"
#include "shared/names.h"

#define MANY_BYTES  (size_t)(4u << 20) /* what a producer writes for many batches */
#define STEPS_MAX   10000
#define PIECE_BYTES 3000

typedef struct Call {
        bool is_answered;
        char text[256]; /* of the reply's first string, or the error's name */
} Call;

/* The one output there is. */
struct Output {
        OutputOptions options;
        OutputChanged changed;
        void *userdata;
        size_t room;
        uint64_t full_after; /* batches */
        size_t n_batches, n_end_batches, n_behind_full;
        Bytes written;
        uint64_t n_moved, n_packets;
        int error, given_up;
        bool is_full, is_finished, is_slow; /* the last: never done by itself */
};

typedef struct World {
        Fixture core;
        sd_event *event;
        Bus *bus;
        sd_bus *client;
        FakeProducer *app;
        Output output;
        char path[256]; /* of the session */
} World;

static World w;

/*
 * The output
 */

static int fake_open(Output **ret,
                     void *host,
                     int fd,
                     const OutputOptions *options,
                     OutputChanged changed,
                     void *userdata,
                     const char **ret_why) {
        close(fd);
        w.output.options = *options;
        w.output.changed = changed;
        w.output.userdata = userdata;
        w.output.is_finished = false;
        *ret = &w.output;
        return 0;
}

static size_t fake_room(Output *output) {
        return output->room;
}

static void fake_borrow(Output *output, Bytes *ret) {
        *ret = (Bytes){};
}

static int fake_push(Output *output, Bytes *bytes, bool is_end) {
        ck_assert(!output->is_finished || output->is_full);
        output->n_batches++;
        output->n_end_batches += is_end;
        output->n_behind_full += output->is_full && !is_end;
        output->is_full |= output->n_batches >= output->full_after;
        ck_assert_int_eq(bytes_append(&output->written, bytes->data, bytes->n), 0);
        if (output->is_full && !is_end)
                output->changed(output->userdata);
        return output->error;
}

static bool fake_is_full(Output *output) {
        return output->is_full;
}

static void fake_finish(Output *output) {
        output->is_finished = true;
}

static bool fake_is_done(Output *output) {
        return output->error < 0 || (output->is_finished && !output->is_slow &&
                                     (!output->is_full || output->n_end_batches > 0));
}

static int fake_error(Output *output) {
        return output->error;
}

static uint64_t fake_n_written(Output *output) {
        return output->written.n;
}

static uint64_t fake_n_moved(Output *output) {
        return output->n_moved;
}

static void fake_give_up(Output *output, int error) {
        output->given_up = output->error = error;
}

static void fake_note_read(Output *output, uint64_t n_packets, uint64_t said) {
        ck_assert_uint_ge(n_packets, output->n_packets);
        output->n_packets = n_packets;
}

static Output *fake_close(Output *output) {
        return NULL;
}

static const OutputOps fake_ops = {
        .codecs = 1 << CODEC_DEFLATE | 1 << CODEC_ZSTD,
        .open = fake_open,
        .room = fake_room,
        .borrow = fake_borrow,
        .push = fake_push,
        .note_read = fake_note_read,
        .is_full = fake_is_full,
        .finish = fake_finish,
        .is_done = fake_is_done,
        .error = fake_error,
        .n_written = fake_n_written,
        .n_moved = fake_n_moved,
        .give_up = fake_give_up,
        .close = fake_close,
};

/*
 * The world
 */

/* One turn of the service's loop, and of the client. */
static void step(void) {
        sd_event_run(w.event, 1000);
        fixture_settle(&w.core);
        bus_settle(w.bus);
        while (sd_bus_process(w.client, NULL) > 0)
                ;
}

static void world_init(void) {
        int fds[2];

        w = (World){ .output = { .room = 1 << 20, .full_after = UINT64_MAX } };
        fixture_init(&w.core);
        w.core.info.is_private = true;
        w.core.info.uid = getuid();
        ck_assert_int_ge(sd_event_new(&w.event), 0);
        ck_assert_int_ge(bus_new(&w.bus,
                                 &(BusOptions){
                                         .event = w.event,
                                         .service = w.core.service,
                                         .info = &w.core.info,
                                         .output_ops = &fake_ops,
                                 }),
                         0);
        w.core.now = bus_now(w.bus); /* both count from the same, and time goes by in either */
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        ck_assert_int_ge(bus_accept(w.bus, fds[0]), 0);
        ck_assert_int_ge(sd_bus_new(&w.client), 0);
        ck_assert_int_ge(sd_bus_set_fd(w.client, fds[1], fds[1]), 0);
        ck_assert_int_ge(sd_bus_negotiate_fds(w.client, true), 0);
        ck_assert_int_ge(sd_bus_start(w.client), 0);
        for (int i = 0; i < STEPS_MAX && sd_bus_is_ready(w.client) <= 0; i++)
                step();
        ck_assert_int_gt(sd_bus_is_ready(w.client), 0);
        w.app = fixture_connect_producer(&w.core, getuid(), "app", "track_event");
}

static void world_deinit(void) {
        sd_bus_close_unref(w.client);
        bus_free(w.bus);
        sd_event_unref(w.event);
        bytes_deinit(&w.output.written);
        fixture_deinit(&w.core);
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *failure = sd_bus_message_get_error(reply);
        Call *call = userdata;
        const char *text = "";

        if (failure)
                text = failure->name;
        else
                sd_bus_message_read(reply, "o", &text);
        snprintf(call->text, sizeof(call->text), "%s", text);
        call->is_answered = true;
        return 1;
}

static void call_session(Call *call, const char *member) {
        *call = (Call){};
        ck_assert_int_ge(sd_bus_call_method_async(w.client,
                                                  NULL,
                                                  NULL,
                                                  w.path,
                                                  TRACING_SESSION_INTERFACE,
                                                  member,
                                                  on_reply,
                                                  call,
                                                  ""),
                         0);
}

static void await(const Call *call) {
        for (int i = 0; i < STEPS_MAX && !call->is_answered; i++)
                step();
        ck_assert(call->is_answered);
}

static void start_session(const char *more) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(fd_closep) int fd = memfd_create("output", MFD_CLOEXEC);
        char config[512];
        Call call = {};

        snprintf(config,
                 sizeof(config),
                 "buffers { size_kb: 16384 } data_sources { config { name: \"track_event\" } } %s",
                 more);
        ck_assert_int_ge(sd_bus_message_new_method_call(w.client,
                                                        &message,
                                                        NULL,
                                                        TRACING_PATH,
                                                        TRACING_MANAGER_INTERFACE,
                                                        "StartSession"),
                         0);
        ck_assert_int_ge(
                sd_bus_message_append(
                        message, "a{sv}", 2, "config-text", "s", config, "output", "h", fd),
                0);
        ck_assert_int_ge(sd_bus_call_async(w.client, NULL, message, on_reply, &call, 0), 0);
        await(&call);
        ck_assert_msg(call.text[0] == '/', "%s", call.text);
        snprintf(w.path, sizeof(w.path), "%s", call.text);
}

static BusSession *session(void) {
        return bus_session_by_path(w.bus, w.path);
}

static void produce(size_t n_bytes) {
        static char text[PIECE_BYTES + 1];
        SmbWriter *writer = fake_writer_new(w.app, fake_instance(w.app, "track_event"));

        memset(text, 'x', PIECE_BYTES);
        for (size_t n = 0; n < n_bytes; n += PIECE_BYTES) {
                fake_write(writer, text);
                producer_doorbell(w.app->producer, w.core.now);
        }
        free(writer);
}

/*
 * Tests
 */

START_TEST(test_output_is_told_what_the_config_says) {
        static const struct {
                const char *config;
                OutputOptions wanted;
        } cases[] = {
                { "", {} },
                { "write_into_file: true max_file_size_bytes: 4096", { .max_bytes = 4096 } },
                { "compression { zstd { level: 7 } }", { .compression = { CODEC_ZSTD, 7 } } },
                { "compression_type: COMPRESSION_TYPE_DEFLATE",
                  { .compression = { CODEC_DEFLATE, 0 } } },
                { "write_into_file: true fflush_post_write: FFLUSH_ENABLED", { .syncs = true } },
                { "fflush_post_write: FFLUSH_ENABLED", {} },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const OutputOptions *told = &w.output.options, *wanted = &cases[i].wanted;

                world_init();
                start_session(cases[i].config);
                ck_assert_uint_eq(told->user, getuid());
                ck_assert_uint_eq(told->max_bytes, wanted->max_bytes);
                ck_assert_int_eq(told->syncs, wanted->syncs);
                ck_assert_int_eq(told->compression.codec, wanted->compression.codec);
                ck_assert_int_eq(told->compression.level, wanted->compression.level);
                world_deinit();
        }
}
END_TEST

START_TEST(test_calls_are_answered_between_the_batches) {
        size_t n_before;
        Call stop, look;

        world_init();
        start_session("");
        produce(MANY_BYTES);
        call_session(&stop, "Stop");
        while (w.output.n_batches == 0)
                step();
        n_before = w.output.n_batches;
        call_session(&look, "GetBufferStats");
        await(&look);
        ck_assert(!stop.is_answered);
        ck_assert_uint_le(w.output.n_batches, n_before + 4);
        await(&stop);
        ck_assert_uint_ge(w.output.n_batches, MANY_BYTES / OUTPUT_BATCH_BYTES);
        ck_assert(w.output.is_finished);
        world_deinit();
}
END_TEST

START_TEST(test_output_without_room_is_left_alone_until_it_has_some) {
        Call stop;

        world_init();
        start_session("");
        produce(MANY_BYTES);
        w.output.room = 0;
        call_session(&stop, "Stop");
        for (int i = 0; i < 100; i++)
                step();
        ck_assert_uint_eq(w.output.n_batches, 0);
        w.output.room = 1 << 20;
        w.output.changed(w.output.userdata);
        await(&stop);
        ck_assert_uint_eq(trace_count(&w.output.written, PACKET_TRACE_STATS), 1);
        world_deinit();
}
END_TEST

START_TEST(test_full_output_stops_the_session_and_is_told_the_end) {
        Call stop;

        world_init();
        start_session("write_into_file: true max_file_size_bytes: 1000000");
        w.output.full_after = 3;
        produce(MANY_BYTES);
        for (int i = 0; i < STEPS_MAX && !owned_session_is_finished(&session()->owned); i++) {
                fixture_advance(&w.core, 100 * MS);
                step();
        }
        ck_assert_str_eq(bus_session_stop_reason(session()), "max-file-size");
        ck_assert_uint_eq(w.output.n_behind_full, 0);
        ck_assert_uint_ge(w.output.n_end_batches, 1);
        ck_assert_uint_eq(trace_count(&w.output.written, PACKET_TRACE_STATS), 1);
        call_session(&stop, "Stop");
        await(&stop);
        world_deinit();
}
END_TEST

START_TEST(test_output_that_gets_full_with_the_last_batch_is_told_the_end_again) {
        Call stop;

        world_init();
        start_session("max_file_size_bytes: 1000000");
        w.output.full_after = 1;
        call_session(&stop, "Stop");
        await(&stop);
        ck_assert_str_eq(bus_session_stop_reason(session()), "requested");
        ck_assert_uint_eq(w.output.n_batches, 2);
        ck_assert_uint_eq(w.output.n_end_batches, 1);
        world_deinit();
}
END_TEST

START_TEST(test_output_that_fails_stops_the_session_and_says_why) {
        world_init();
        start_session("write_into_file: true");
        w.output.error = -ENOSPC;
        w.output.changed(w.output.userdata);
        for (int i = 0; i < STEPS_MAX && !owned_session_is_finished(&session()->owned); i++)
                step();
        ck_assert_str_eq(bus_session_stop_reason(session()),
                         "output-failed: No space left on device");
        world_deinit();
}
END_TEST

START_TEST(test_output_that_takes_nothing_is_given_up_and_nothing_else_is) {
        uint64_t now;
        Call stop;

        world_init();
        start_session("");
        w.output.is_slow = true;
        call_session(&stop, "Stop");
        for (int i = 0; i < 100; i++)
                step();
        ck_assert(w.output.is_finished);
        ck_assert(!stop.is_answered);
        now = bus_now(w.bus);
        bus_tick(w.bus, now + OUTPUT_STALL_NS - S);
        ck_assert_int_eq(w.output.given_up, 0);
        w.output.n_moved = 1; /* slow, but it moves */
        bus_tick(w.bus, now + OUTPUT_STALL_NS);
        ck_assert_int_eq(w.output.given_up, 0);
        ck_assert_uint_le(bus_next_deadline(w.bus, now), now + 2 * OUTPUT_STALL_NS);
        bus_tick(w.bus, now + 2 * OUTPUT_STALL_NS);
        ck_assert_int_eq(w.output.given_up, -ETIMEDOUT);
        await(&stop);
        ck_assert_str_eq(bus_session_stop_reason(session()), "output-failed: Connection timed out");
        world_deinit();
}
END_TEST

START_TEST(test_output_that_takes_nothing_does_not_hold_up_the_end_of_the_service) {
        uint64_t now;

        world_init();
        start_session("write_into_file: true");
        w.output.is_slow = true;
        bus_stop_sessions(w.bus, "service-stopped");
        for (int i = 0; i < 100; i++)
                step();
        ck_assert(w.output.is_finished);
        now = bus_now(w.bus);
        bus_tick(w.bus, now + OUTPUT_STALL_AT_END_NS / 2);
        ck_assert_int_eq(w.output.given_up, 0);
        ck_assert(!bus_is_stopped(w.bus));
        bus_tick(w.bus, now + OUTPUT_STALL_AT_END_NS);
        ck_assert_int_eq(w.output.given_up, -ETIMEDOUT);
        for (int i = 0; i < STEPS_MAX && !bus_is_stopped(w.bus); i++)
                step();
        ck_assert(bus_is_stopped(w.bus));
        world_deinit();
}
END_TEST

START_TEST(test_output_of_a_running_session_may_take_its_time) {
        world_init();
        start_session("write_into_file: true");
        w.output.is_slow = true;
        bus_tick(w.bus, bus_now(w.bus) + 10 * OUTPUT_STALL_NS);
        ck_assert_int_eq(w.output.given_up, 0);
        world_deinit();
}
END_TEST

TEST_MAIN("bus-output",
          test_output_is_told_what_the_config_says,
          test_calls_are_answered_between_the_batches,
          test_output_without_room_is_left_alone_until_it_has_some,
          test_full_output_stops_the_session_and_is_told_the_end,
          test_output_that_gets_full_with_the_last_batch_is_told_the_end_again,
          test_output_that_fails_stops_the_session_and_says_why,
          test_output_that_takes_nothing_is_given_up_and_nothing_else_is,
          test_output_that_takes_nothing_does_not_hold_up_the_end_of_the_service,
          test_output_of_a_running_session_may_take_its_time)
