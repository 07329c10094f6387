/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port-fixture.h"

PORT_TEST(test_binding_lists_the_methods_that_are_there) {
        const int client = connect_client();
        static const struct {
                uint32_t id;
                const char *name;
        } expected[] = { { 1, "Echo" },  { 2, "TakeFd" }, { 4, "Flood" },
                         { 5, "Break" }, { 6, "Slow" },   { 7, "Long" } };
        WireReader reader;
        IpcMethod method;
        IpcFrame frame;

        ipc_put_bind(begin(), 1, "FakePort");
        send_frame(client);
        frame = receive_frame(client);
        ck_assert_int_eq(frame.kind, IPC_BIND_REPLY);
        ck_assert_uint_eq(frame.request_id, 1);
        ck_assert_uint_eq(frame.service_id, 1);
        wire_reader_init(&reader, frame.data, frame.n_data);
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
                ck_assert_int_eq(ipc_read_method(&reader, &method), 1);
                ck_assert_uint_eq(method.id, expected[i].id);
                ck_assert_uint_eq(method.n_name, strlen(expected[i].name));
                ck_assert_int_eq(memcmp(method.name, expected[i].name, method.n_name), 0);
        }
        ck_assert_int_eq(ipc_read_method(&reader, &method), 0);
        close(client);
}

PORT_TEST(test_another_name_is_not_served) {
        static const char *const names[] = {
                "", "FakePor", "FakePort2", "fakeport", "ProducerPort"
        };
        const int client = connect_client();
        IpcFrame frame;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                ipc_put_bind(begin(), i, names[i]);
                send_frame(client);
                frame = receive_frame(client);
                ck_assert_int_eq(frame.kind, IPC_BIND_REPLY);
                ck_assert_uint_eq(frame.request_id, i);
                ck_assert(!frame.success);
        }
        ck_assert_uint_eq(n_open, 0);
        close(client);
}

PORT_TEST(test_a_peer_that_may_not_bind_is_told_and_not_asked_about_again) {
        const int client = connect_client();

        open_answer = PORT_E_REFUSED;
        for (unsigned i = 0; i < 2; i++) {
                ipc_put_bind(begin(), 1, "FakePort");
                send_frame(client);
                ck_assert(!receive_frame(client).success);
                open_answer = 0;
        }
        close(client);
}

PORT_TEST(test_a_call_is_answered_with_its_number) {
        const int client = bound_client();

        for (unsigned i = 0; i < 3; i++)
                assert_is_served(client);
        ipc_put_bind(begin(), 9, "FakePort"); /* once more: nothing changes */
        send_frame(client);
        ck_assert(receive_frame(client).success);
        ck_assert_uint_eq(n_open, 1);
        assert_is_served(client);
        close(client);
}

PORT_TEST(test_what_is_not_there_fails_even_if_no_reply_is_wanted) {
        static const struct {
                uint32_t service, method;
        } calls[] = { { 1, 0 }, { 1, METHOD_MISSING }, { 1, 99 }, { 1, UINT32_MAX }, { 0, 1 },
                      { 2, 1 } };
        const int client = bound_client();
        IpcFrame frame;

        for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
                ipc_put_invoke(begin(), 70 + i, calls[i].service, calls[i].method, i & 1, NULL, 0);
                send_frame(client);
                frame = receive_frame(client);
                ck_assert_int_eq(frame.kind, IPC_INVOKE_REPLY);
                ck_assert_uint_eq(frame.request_id, 70 + i);
                ck_assert(!frame.success);
        }
        close(client);
}

PORT_TEST(test_nothing_can_be_called_before_binding) {
        const int client = connect_client();

        call(client, METHOD_ECHO, "hello");
        ck_assert(!receive_frame(client).success);
        ck_assert_uint_eq(n_calls, 0);
        close(client);
}

PORT_TEST(test_a_call_that_wants_no_reply_gets_none) {
        const int client = bound_client();

        ipc_put_invoke(begin(), 2, 1, METHOD_ECHO, true, "x", 1);
        send_frame(client);
        ipc_put_invoke(begin(), 3, 1, METHOD_TAKE_FD, true, NULL, 0); /* which refuses */
        send_frame(client);
        receive_all(client);
        ck_assert_uint_eq(received.n, 0);
        ck_assert_uint_eq(n_calls, 1);
        close(client);
}

PORT_TEST(test_a_frame_may_come_in_any_two_pieces) {
        const int client = bound_client();
        uint8_t frames[256];
        size_t n;

        ipc_put_invoke(begin(), 2, 1, METHOD_ECHO, false, "hello", 5);
        ipc_put_invoke(&writer, 3, 1, METHOD_ECHO, false, "world", 5);
        n = wire_writer_size(&writer);
        memcpy(frames, frame_memory, n);
        for (size_t i = 0; i <= n; i++) {
                IpcFrame frame;

                if (i > 0)
                        send_bytes(client, frames, i);
                run();
                if (i < n)
                        send_bytes(client, frames + i, n - i);
                receive_all(client);
                ck_assert(next_frame(&frame));
                ck_assert_uint_eq(frame.request_id, 2);
                ck_assert(next_frame(&frame));
                ck_assert_uint_eq(frame.request_id, 3);
                ck_assert(!next_frame(&frame));
        }
        close(client);
}

PORT_TEST(test_the_longest_frame_may_come_in_many_pieces) {
        static const size_t pieces[] = { 7, 1000, 4096, 65536 };
        static uint8_t data[IPC_FRAME_BYTES_MAX];
        const int client = bound_client();

        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
                size_t n_max = port_message_max();

                memset(data, (int)i, sizeof(data));
                ipc_put_invoke(begin(), 2, 1, METHOD_ECHO, true, data, n_max);
                for (size_t at = 0; at < wire_writer_size(&writer); at += pieces[i]) {
                        send_bytes(client,
                                   frame_memory + at,
                                   MIN(pieces[i], wire_writer_size(&writer) - at));
                        run();
                }
                ck_assert_uint_eq(n_calls, i + 1);
        }
        close(client);
}

PORT_TEST(test_empty_frames_and_identities_are_passed_over) {
        static const uint8_t nothing[] = { 0, 0, 0, 0, 0, 0, 0, 0 };
        static const uint8_t identity[] = { 6, 0, 0, 0, 0x42, 0x04, 0x08, 0x01, 0x10, 0x00 };
        const int client = bound_client();

        send_bytes(client, nothing, sizeof(nothing));
        send_bytes(client, identity, sizeof(identity));
        assert_is_served(client);
        close(client);
}

PORT_TEST(test_an_unknown_request_is_said_to_be_one) {
        static const uint8_t unknown[] = { 5, 0, 0, 0, 0x10, 0x09, 0xa2, 0x06, 0x00 };
        const int client = bound_client();
        IpcFrame frame;

        send_bytes(client, unknown, sizeof(unknown));
        frame = receive_frame(client);
        ck_assert_int_eq(frame.kind, IPC_REQUEST_ERROR);
        ck_assert_uint_eq(frame.request_id, 9);
        assert_is_served(client);
        close(client);
}

/* So it cannot fill the service's memory either. */
PORT_TEST(test_nothing_is_read_from_a_peer_that_is_paused) {
        int client = bound_client(), n_unread = 0;
        size_t n_before = n_calls;

        port_connection_pause(connection);
        call(client, METHOD_ECHO, "later");
        run();
        ck_assert_int_eq(ioctl(client, SIOCOUTQ, &n_unread), 0);
        ck_assert_int_gt(n_unread, 0);
        ck_assert_uint_eq(n_calls, n_before);
        port_connection_resume(connection);
        run();
        ck_assert_int_eq(ioctl(client, SIOCOUTQ, &n_unread), 0);
        ck_assert_int_eq(n_unread, 0);
        ck_assert_uint_eq(n_calls, n_before + 1);
        close(client);
}

PORT_TEST(test_a_paused_peer_that_leaves_gives_up_what_it_has_sent) {
        const int client = bound_client();
        const size_t n_before = n_calls;

        port_connection_pause(connection);
        call(client, METHOD_ECHO, "later");
        close(client);
        run();
        ck_assert_uint_eq(n_open, 0);
        ck_assert_uint_eq(n_calls, n_before);
}

PORT_TEST(test_a_peer_is_sent_nothing_while_its_port_closes) {
        const int client = bound_client();
        uint8_t byte;

        ports = ports_free(ports);
        ck_assert_int_eq(recv(client, &byte, 1, MSG_DONTWAIT), 0);
        close(client);
}

TEST_MAIN("port",
          test_binding_lists_the_methods_that_are_there,
          test_another_name_is_not_served,
          test_a_peer_that_may_not_bind_is_told_and_not_asked_about_again,
          test_a_call_is_answered_with_its_number,
          test_what_is_not_there_fails_even_if_no_reply_is_wanted,
          test_nothing_can_be_called_before_binding,
          test_a_call_that_wants_no_reply_gets_none,
          test_a_frame_may_come_in_any_two_pieces,
          test_the_longest_frame_may_come_in_many_pieces,
          test_empty_frames_and_identities_are_passed_over,
          test_an_unknown_request_is_said_to_be_one,
          test_nothing_is_read_from_a_peer_that_is_paused,
          test_a_paused_peer_that_leaves_gives_up_what_it_has_sent,
          test_a_peer_is_sent_nothing_while_its_port_closes)
