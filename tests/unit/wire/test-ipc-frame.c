/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "shared/macro.h"
#include "test.h"
#include "wire/ipc-frame.h"

static uint8_t memory[IPC_FRAME_BYTES_MAX + 64];
static WireWriter writer;

static void begin(void) {
        wire_writer_init(&writer, memory, sizeof(memory));
}

/* What was written is one whole frame; returns it. */
static IpcFrame read_back(void) {
        IpcFrame frame;
        size_t n;

        ck_assert(!wire_writer_failed(&writer));
        ck_assert_int_eq(ipc_frame_next(memory, wire_writer_size(&writer), &n), 1);
        ck_assert_uint_eq(n, wire_writer_size(&writer));
        ck_assert_int_eq(ipc_frame_read(&frame, memory + IPC_LENGTH_BYTES, n - IPC_LENGTH_BYTES),
                         0);
        return frame;
}

static void assert_data(const IpcFrame *frame, const char *text) {
        ck_assert_uint_eq(frame->n_data, strlen(text));
        ck_assert_int_eq(memcmp(frame->data, text, frame->n_data), 0);
}

/* The first frame of every producer, as its service receives it. */
static const uint8_t bind_producer[] = {
        0x12, 0x00, 0x00, 0x00, 0x10, 0x01, 0x1a, 0x0e, 0x0a, 0x0c, 'P',
        'r',  'o',  'd',  'u',  'c',  'e',  'r',  'P',  'o',  'r',  't',
};

START_TEST(test_a_frame_is_written_as_perfetto_writes_it) {
        begin();
        ipc_put_bind(&writer, 1, "ProducerPort");
        ck_assert_uint_eq(wire_writer_size(&writer), sizeof(bind_producer));
        ck_assert_int_eq(memcmp(memory, bind_producer, sizeof(bind_producer)), 0);
}
END_TEST

START_TEST(test_requests_are_read_back) {
        IpcFrame frame;

        begin();
        ipc_put_bind(&writer, UINT64_MAX, "ConsumerPort");
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_BIND);
        ck_assert_uint_eq(frame.request_id, UINT64_MAX);
        assert_data(&frame, "ConsumerPort");

        begin();
        ipc_put_invoke(&writer, 7, 1, 15, true, "args", 4);
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_INVOKE);
        ck_assert_uint_eq(frame.request_id, 7);
        ck_assert_uint_eq(frame.service_id, 1);
        ck_assert_uint_eq(frame.method_id, 15);
        ck_assert(frame.drops_reply);
        assert_data(&frame, "args");
}
END_TEST

START_TEST(test_replies_are_read_back) {
        IpcFrame frame;

        begin();
        ipc_put_reply(&writer, 3, true, "message", 7);
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_INVOKE_REPLY);
        ck_assert(frame.success && frame.has_more);
        assert_data(&frame, "message");

        begin();
        ipc_put_failure(&writer, 4);
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_INVOKE_REPLY);
        ck_assert(!frame.success && !frame.has_more && frame.n_data == 0);

        begin();
        ipc_put_request_error(&writer, 5, "unknown request");
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_REQUEST_ERROR);
        ck_assert_uint_eq(frame.request_id, 5);
        assert_data(&frame, "unknown request");
}
END_TEST

START_TEST(test_a_bind_reply_lists_its_methods) {
        static const char *const names[] = { "InitializeConnection", "Sync" };
        IpcBindReply reply;
        WireReader reader;
        IpcMethod method;
        IpcFrame frame;

        begin();
        reply = ipc_begin_bind_reply(&writer, 1, true, 9);
        for (uint32_t i = 0; i < ARRAY_SIZE(names); i++)
                ipc_put_method(&writer, i + 1, names[i]);
        ipc_end_bind_reply(&writer, &reply);
        frame = read_back();
        ck_assert_int_eq(frame.kind, IPC_BIND_REPLY);
        ck_assert(frame.success);
        ck_assert_uint_eq(frame.service_id, 9);
        wire_reader_init(&reader, frame.data, frame.n_data);
        for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
                ck_assert_int_eq(ipc_read_method(&reader, &method), 1);
                ck_assert_uint_eq(method.id, i + 1);
                ck_assert_uint_eq(method.n_name, strlen(names[i]));
                ck_assert_int_eq(memcmp(method.name, names[i], method.n_name), 0);
        }
        ck_assert_int_eq(ipc_read_method(&reader, &method), 0);
}
END_TEST

START_TEST(test_of_a_partial_frame_is_said_how_much_is_needed) {
        size_t n;

        for (size_t i = 0; i < sizeof(bind_producer); i++) {
                ck_assert_int_eq(ipc_frame_next(bind_producer, i, &n), 0);
                ck_assert_uint_eq(n,
                                  i < IPC_LENGTH_BYTES ? IPC_LENGTH_BYTES : sizeof(bind_producer));
        }
}
END_TEST

START_TEST(test_a_frame_is_as_long_as_perfettos_and_no_longer) {
        const uint32_t max = IPC_FRAME_BYTES_MAX - IPC_LENGTH_BYTES;
        uint8_t length[IPC_LENGTH_BYTES] = { max & 0xff, max >> 8 & 0xff, max >> 16, 0 };
        size_t n;

        ck_assert_int_eq(ipc_frame_next(length, sizeof(length), &n), 0);
        ck_assert_uint_eq(n, IPC_FRAME_BYTES_MAX);
        length[0]++;
        ck_assert_int_eq(ipc_frame_next(length, sizeof(length), &n), -EMSGSIZE);
        memset(length, 0xff, sizeof(length));
        ck_assert_int_eq(ipc_frame_next(length, sizeof(length), &n), -EMSGSIZE);
}
END_TEST

/* A cut message is refused or is a shorter message; either way nothing is read behind the end, which the
 * sanitizers see. */
START_TEST(test_every_truncation_of_a_frame_is_read_within_its_bounds) {
        IpcBindReply reply;
        size_t n_all, n_bad = 0;

        begin();
        reply = ipc_begin_bind_reply(&writer, 300, true, 1);
        ipc_put_method(&writer, 1, "EnableTracing");
        ipc_end_bind_reply(&writer, &reply);
        n_all = wire_writer_size(&writer) - IPC_LENGTH_BYTES;
        for (size_t n = 0; n <= n_all; n++) {
                uint8_t *cut = malloc(n + 1);
                IpcFrame frame;
                int r;

                memcpy(cut, memory + IPC_LENGTH_BYTES, n);
                cut[n] = 0xff;
                r = ipc_frame_read(&frame, cut, n);
                ck_assert(r == 0 || r == -EBADMSG);
                n_bad += r < 0;
                free(cut);
        }
        ck_assert_uint_gt(n_bad, n_all / 2);
}
END_TEST

START_TEST(test_of_several_messages_in_a_frame_the_last_counts) {
        static const uint8_t frame_bytes[] = {
                0x2a, 0x04, 0x08, 0x01, 0x10, 0x07, /* invoke: service 1, method 7 */
                0x1a, 0x03, 0x0a, 0x01, 'x',        /* bind: "x" */
                0x10, 0x05,                         /* request 5 */
        };
        IpcFrame frame;

        ck_assert_int_eq(ipc_frame_read(&frame, frame_bytes, sizeof(frame_bytes)), 0);
        ck_assert_int_eq(frame.kind, IPC_BIND);
        ck_assert_uint_eq(frame.request_id, 5);
        ck_assert_uint_eq(frame.method_id, 0);
        assert_data(&frame, "x");
}
END_TEST

START_TEST(test_what_is_no_message_of_ours_is_unknown) {
        static const uint8_t newer[] = { 0x10, 0x02, 0xa2, 0x06, 0x00 }; /* field 100 */
        IpcFrame frame;

        ck_assert_int_eq(ipc_frame_read(&frame, NULL, 0), 0);
        ck_assert_int_eq(frame.kind, IPC_UNKNOWN);
        ck_assert_int_eq(ipc_frame_read(&frame, newer, sizeof(newer)), 0);
        ck_assert_int_eq(frame.kind, IPC_UNKNOWN);
        ck_assert_uint_eq(frame.request_id, 2);
}
END_TEST

START_TEST(test_a_reply_that_is_too_long_fails_the_writer) {
        static uint8_t data[IPC_FRAME_BYTES_MAX];

        begin();
        ipc_put_reply(
                &writer, UINT64_MAX, true, data, IPC_FRAME_BYTES_MAX - IPC_REPLY_OVERHEAD_MAX);
        ck_assert(!wire_writer_failed(&writer));
        begin();
        ipc_put_reply(&writer, 1, false, data, sizeof(data));
        ck_assert(wire_writer_failed(&writer));
}
END_TEST

TEST_MAIN("ipc-frame",
          test_a_frame_is_written_as_perfetto_writes_it,
          test_requests_are_read_back,
          test_replies_are_read_back,
          test_a_bind_reply_lists_its_methods,
          test_of_a_partial_frame_is_said_how_much_is_needed,
          test_a_frame_is_as_long_as_perfettos_and_no_longer,
          test_every_truncation_of_a_frame_is_read_within_its_bounds,
          test_of_several_messages_in_a_frame_the_last_counts,
          test_what_is_no_message_of_ours_is_unknown,
          test_a_reply_that_is_too_long_fails_the_writer)
