/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replies that are too long for the peer: it is sent an error instead. */

#include <string.h>
#include <sys/socket.h>

#include "gate/gate.h"
#include "shared/dbus-frame.h"
#include "shared/fd.h"
#include "test.h"
#include "world.h"

#define ROOM        4096
#define LONG        (1u << 20)
#define BYTES_MAX   1000
#define REPLY_TO    42
#define SERIAL      7
#define DESTINATION ":1.5"

static const GateRefusal too_long = { BYTES_MAX,
                                      "org.example.Error.TooLong",
                                      "the reply is too long" };

static uint8_t message[LONG + ROOM], received[LONG + ROOM];

/* In little-endian, with the fields REPLY_SERIAL and DESTINATION. Returns how long it is. */
static size_t make_said(FrameType type, uint32_t n_body) {
        static const uint8_t fields[24] = {
                5, 1, 'u', 0, REPLY_TO, 0, 0, 0, 6, 1, 's', 0, 4, 0, 0, 0, ':', '1', '.', '5', 0,
        };
        const uint8_t head[16] = { 'l',
                                   (uint8_t)type,
                                   1,
                                   1,
                                   (uint8_t)n_body,
                                   (uint8_t)(n_body >> 8),
                                   (uint8_t)(n_body >> 16),
                                   (uint8_t)(n_body >> 24),
                                   SERIAL,
                                   0,
                                   0,
                                   0,
                                   21 };

        memcpy(message, head, sizeof(head));
        memcpy(message + sizeof(head), fields, sizeof(fields));
        memset(message + sizeof(head) + sizeof(fields), 'x', n_body);
        return sizeof(head) + sizeof(fields) + n_body;
}

/* What the peer gets of a message, though it is longer than a socket takes at once. */
static size_t pass(GateWorld *world, size_t n) {
        size_t n_sent = 0, n_received = 0, n_more;

        do {
                const ssize_t n_taken = send(
                        world->service, message + n_sent, n - n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

                n_sent += n_taken > 0 ? (size_t)n_taken : 0;
                gate_pump(world->gate);
                gate_world_run(world);
                n_more = receive(world->peer,
                                 received + n_received,
                                 sizeof(received) - n_received,
                                 NULL,
                                 NULL);
                n_received += n_more;
        } while (n_sent < n || n_more > 0);
        return n_received;
}

static void ck_assert_passes(GateWorld *world, FrameType type, uint32_t n_body) {
        const size_t n = make_said(type, n_body);

        ck_assert_uint_eq(pass(world, n), n);
        ck_assert_mem_eq(received, message, n);
}

static void ck_assert_refused(GateWorld *world, uint32_t n_body) {
        const size_t n = pass(world, make_said(FRAME_METHOD_RETURN, n_body));
        FrameFields fields;
        const char *text;
        Frame frame;

        ck_assert_uint_ge(n, FRAME_HEAD_BYTES);
        ck_assert_int_eq(frame_read(&frame, received), 0);
        ck_assert_uint_eq(frame.n_bytes, n);
        ck_assert_int_eq(frame_read_fields(&fields, received, n), 0);
        ck_assert_uint_eq(fields.type, FRAME_ERROR);
        ck_assert_uint_eq(fields.serial, SERIAL);
        ck_assert_uint_eq(fields.reply_serial, REPLY_TO);
        ck_assert_str_eq(fields.destination, DESTINATION);
        ck_assert_str_eq(fields.error, too_long.error);
        ck_assert_int_eq(frame_read_texts(&text, 1, received, n), 0);
        ck_assert_str_eq(text, too_long.text);
}

START_TEST(test_an_error_is_sent_for_a_reply_that_is_too_long) {
        GateWorld world;

        gate_world_begin_bus(&world);
        gate_refuse_replies(world.gate, &too_long);
        ck_assert_refused(&world, BYTES_MAX);
        ck_assert_refused(&world, LONG);
        ck_assert_passes(&world, FRAME_METHOD_RETURN, 10);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_a_long_reply_to_one_call_is_taken_and_nothing_is_sent) {
        const GateRefusal of_one = { BYTES_MAX, .reply_to = REPLY_TO, .caller = DESTINATION };
        const GateRefusal of_another = { BYTES_MAX,
                                         .reply_to = REPLY_TO + 1,
                                         .caller = DESTINATION };
        const GateRefusal of_somebody = { BYTES_MAX, .reply_to = REPLY_TO, .caller = ":1.999" };
        GateWorld world;

        gate_world_begin_bus(&world);
        gate_refuse_replies(world.gate, &of_one);
        ck_assert_passes(&world, FRAME_METHOD_RETURN, 10);
        ck_assert(!gate_has_taken(world.gate));
        ck_assert_uint_eq(pass(&world, make_said(FRAME_METHOD_RETURN, LONG)), 0);
        ck_assert(gate_has_taken(world.gate));
        ck_assert(!gate_has_taken(world.gate));
        gate_refuse_replies(world.gate, &of_another);
        ck_assert_passes(&world, FRAME_METHOD_RETURN, LONG);
        gate_refuse_replies(world.gate, &of_somebody);
        ck_assert_passes(&world, FRAME_METHOD_RETURN, LONG);
        ck_assert(!gate_has_taken(world.gate));
        gate_world_end(&world);
}
END_TEST

START_TEST(test_calls_and_signals_are_never_refused) {
        GateWorld world;

        gate_world_begin_bus(&world);
        gate_refuse_replies(world.gate, &too_long);
        ck_assert_passes(&world, FRAME_METHOD_CALL, LONG);
        ck_assert_passes(&world, FRAME_SIGNAL, LONG);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_replies_of_any_length_pass_otherwise) {
        GateWorld world;

        gate_world_begin_bus(&world);
        ck_assert_passes(&world, FRAME_METHOD_RETURN, LONG);
        gate_refuse_replies(world.gate, &too_long);
        gate_refuse_replies(world.gate, &(GateRefusal){});
        ck_assert_passes(&world, FRAME_METHOD_RETURN, LONG);
        gate_world_end(&world);
}
END_TEST

/* What sd-bus had said before is not judged by what holds now. */
START_TEST(test_it_holds_for_what_is_said_from_now_on) {
        const size_t n = make_said(FRAME_METHOD_RETURN, BYTES_MAX);
        GateWorld world;

        gate_world_begin_bus(&world);
        send_all(world.service, message, n);
        gate_refuse_replies(world.gate, &too_long);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.peer, received, sizeof(received), NULL, NULL), n);
        gate_world_end(&world);
}
END_TEST

/* As the kernel counts what it needs itself, only more and less are known. */
START_TEST(test_what_the_peer_has_not_read_is_known) {
        const size_t n = make_said(FRAME_METHOD_RETURN, 100);
        GateWorld world;

        gate_world_begin_bus(&world);
        ck_assert_uint_eq(gate_n_unread(world.gate), 0);
        send_all(world.service, message, n);
        gate_pump(world.gate);
        ck_assert_uint_ge(gate_n_unread(world.gate), n);
        ck_assert_uint_eq(receive(world.peer, received, sizeof(received), NULL, NULL), n);
        ck_assert_uint_eq(gate_n_unread(world.gate), 0);
        gate_world_end(&world);
}
END_TEST

/* A call of ":1.5" with a body and descriptors. */
static void
ck_assert_call_is_refused(GateWorld *world, size_t n_body, unsigned n_fds, const char *limit) {
        static uint8_t call[GATE_MESSAGE_BYTES_MAX + ROOM];
        int fds[GATE_FDS_MAX + 1];
        size_t n = make_message(call, n_body, n_fds, DESTINATION), n_sent;
        FrameFields fields;
        const char *text;

        for (unsigned i = 0; i < n_fds; i++)
                fds[i] = some_file();
        n_sent = MIN(n, (size_t)ROOM);
        send_with_fds(world->peer, call, n_sent, fds, n_fds);
        for (unsigned i = 0; i < n_fds; i++)
                fd_close(fds[i]);
        do {
                const ssize_t n_taken =
                        send(world->peer, call + n_sent, n - n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

                n_sent += n_taken > 0 ? (size_t)n_taken : 0;
                gate_world_run(world);
        } while (n_sent < n);
        ck_assert_uint_eq(receive(world->service, received, sizeof(received), NULL, NULL), 0);
        n = receive(world->peer, received, sizeof(received), NULL, NULL);
        ck_assert_uint_gt(n, FRAME_HEAD_BYTES);
        ck_assert_int_eq(frame_read_fields(&fields, received, n), 0);
        ck_assert_uint_eq(fields.type, FRAME_ERROR);
        ck_assert_uint_eq(fields.reply_serial, 1);
        ck_assert_str_eq(fields.destination, DESTINATION);
        ck_assert_str_eq(fields.error, "org.desktrace.Tracing1.Error.LimitExceeded");
        ck_assert_int_eq(frame_read_texts(&text, 1, received, n), 0);
        ck_assert_ptr_nonnull(strstr(text, limit));
}

START_TEST(test_caller_of_a_dropped_call_is_told_why) {
        GateWorld world;

        gate_world_begin_bus(&world);
        ck_assert_call_is_refused(&world, 4, 1, "CLOSER_PENDING_MAX");
        ck_assert_call_is_refused(&world, 4, GATE_FDS_MAX + 1, "GATE_FDS_MAX");
        ck_assert_call_is_refused(&world, GATE_MESSAGE_BYTES_MAX, 0, "GATE_MESSAGE_BYTES_MAX");
        gate_world_end(&world);
}
END_TEST

TEST_MAIN("gate-refuse",
          test_an_error_is_sent_for_a_reply_that_is_too_long,
          test_a_long_reply_to_one_call_is_taken_and_nothing_is_sent,
          test_calls_and_signals_are_never_refused,
          test_replies_of_any_length_pass_otherwise,
          test_it_holds_for_what_is_said_from_now_on,
          test_what_the_peer_has_not_read_is_known,
          test_caller_of_a_dropped_call_is_told_why)
