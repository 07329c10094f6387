/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A recorded conversation of Perfetto's probes, of an application with Perfetto's library, and of a program that sends
 * a trigger, with Perfetto's service: said again to ours, which is to answer and to ask the same in the same order.
 *
 * A line is a connection's number and what it says ("> " and a frame in hexadecimal digits), or what is said to it
 * ("< ", the request's number, and the reply or command), or "end"; or it is "*" and what a consumer does. Numbers of
 * instances and flushes are the service's to choose, so the recorded ones are replaced in what is said. What was in
 * shared memory is not in the recording: each chunk that is committed has one packet.
 */

#include <stdio.h>
#include <unistd.h>

#include "core/model/service.h"
#include "producer-world.h"

#define CONNECTIONS_MAX 5
#define SESSIONS_MAX    5
#define NUMBERS_MAX     32

enum {
        METHOD_COMMIT = 4,
        METHOD_STARTED = 8,
        METHOD_STOPPED = 9,
};

typedef struct Number {
        uint64_t recorded, ours;
} Number;

typedef struct Connection {
        ProducerClient client;
        size_t n_commands, n_replies; /* that were expected so far */
        Number instances[NUMBERS_MAX], flushes[NUMBERS_MAX];
        size_t n_instances, n_flushes;
        uint32_t n_chunks;
} Connection;

static Connection connections[CONNECTIONS_MAX];
static FakeConsumer *sessions[SESSIONS_MAX];
static size_t n_packets[SESSIONS_MAX];
static uint16_t buffers[SESSIONS_MAX]; /* as the recording calls them */

static uint64_t number_ours(const Number *numbers, size_t n, uint64_t recorded) {
        for (size_t i = n; i > 0; i--)
                if (numbers[i - 1].recorded == recorded)
                        return numbers[i - 1].ours;
        ck_abort_msg("nobody has said the number %lu", (unsigned long)recorded);
}

static void number_note(Number *numbers, size_t *n, uint64_t recorded, uint64_t ours) {
        ck_assert_uint_lt(*n, NUMBERS_MAX);
        numbers[(*n)++] = (Number){ recorded, ours };
}

static uint64_t find_number(const uint8_t *data, size_t n, uint32_t field) {
        const TestPacket message = { data, n };

        return packet_uint(&message, field);
}

/*
 * What they say
 */

/* The session that a recorded buffer belongs to, if it still records. */
static size_t session_of(uint64_t buffer) {
        for (size_t i = 0; i < SESSIONS_MAX; i++)
                if (sessions[i] && buffers[i] == buffer &&
                    session_state(sessions[i]->session) == SESSION_STARTED)
                        return i;
        return 0;
}

/* A chunk in this page, of a writer of our own. */
static void fill_page(Connection *connection, uint32_t page) {
        static const uint8_t packet[] = { 4, 0xa2, 0x38, 1, 'a' };
        SmbPageHeader *header = smb_page(&connection->client.area, page);
        SmbChunkHeader *chunk = (SmbChunkHeader *)(header + 1);

        chunk->writer_id = 999;
        chunk->chunk_id = connection->n_chunks++;
        chunk->packets = 1;
        memcpy(chunk + 1, packet, sizeof(packet));
        header->state = (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE;
}

static void commit_chunks(Connection *connection, const IpcFrame *frame) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, frame->data, frame->n_data);
        while (wire_read(&reader, &field) > 0) {
                size_t session;
                uint32_t page;

                if (field.number != 1 || field.type != WIRE_BYTES)
                        continue;
                page = (uint32_t)find_number(field.data, field.n_bytes, 1);
                session = session_of(find_number(field.data, field.n_bytes, 3));
                if (!session || !connection->client.memory)
                        continue;
                ck_assert_uint_lt(page, connection->client.area.n_pages);
                fill_page(connection, page);
                n_packets[session]++;
        }
}

static void say_frame(Connection *connection, const uint8_t *bytes, size_t n) {
        static uint8_t memory[IPC_FRAME_BYTES_MAX], message[IPC_FRAME_BYTES_MAX];
        WireWriter writer, inner;
        IpcFrame frame;

        ck_assert_int_eq(ipc_frame_read(&frame, bytes, n), 0);
        wire_writer_init(&writer, memory, sizeof(memory));
        if (frame.kind == IPC_BIND) {
                ipc_put_bind(&writer, frame.request_id, "ProducerPort");
                client_send(&connection->client, memory, wire_writer_size(&writer), -1);
                return;
        }
        ck_assert_int_eq(frame.kind, IPC_INVOKE);
        wire_writer_init(&inner, message, sizeof(message));
        wire_put_raw(&inner, frame.data, frame.n_data);
        /* The last one of a field counts. */
        if (frame.method_id == METHOD_STARTED || frame.method_id == METHOD_STOPPED)
                wire_put_uint(&inner,
                              1,
                              number_ours(connection->instances,
                                          connection->n_instances,
                                          find_number(frame.data, frame.n_data, 1)));
        if (frame.method_id == METHOD_COMMIT && find_number(frame.data, frame.n_data, 3))
                wire_put_uint(&inner,
                              3,
                              number_ours(connection->flushes,
                                          connection->n_flushes,
                                          find_number(frame.data, frame.n_data, 3)));
        if (frame.method_id == METHOD_COMMIT)
                commit_chunks(connection, &frame);
        ipc_put_invoke(&writer,
                       frame.request_id,
                       1,
                       frame.method_id,
                       frame.drops_reply,
                       message,
                       wire_writer_size(&inner));
        client_send(&connection->client, memory, wire_writer_size(&writer), -1);
}

static void run_all(void) {
        for (unsigned i = 0; i < 3; i++) {
                world_serve();
                for (size_t k = 0; k < CONNECTIONS_MAX; k++)
                        if (connections[k].client.fd > 0)
                                client_pump(&connections[k].client, 0);
        }
}

static void on_said(unsigned number, const char *digits) {
        Connection *connection = &connections[number];
        static uint8_t bytes[4096];
        size_t n = 0;

        if (connection->client.fd <= 0) {
                world_connect(&connection->client);
                connection->client.is_silent = true;
                connection->client.commands_request = 3; /* in all of the recording */
        }
        for (; digits[2 * n] && digits[2 * n] != '\n'; n++) {
                unsigned byte;

                ck_assert_int_eq(sscanf(digits + 2 * n, "%2x", &byte), 1);
                bytes[n] = (uint8_t)byte;
        }
        say_frame(connection, bytes, n);
        run_all();
}

/*
 * What is said to them
 */

static ClientCommand command_by_name(const char *name) {
        static const char *const names[_CLIENT_COMMAND_N] = {
                [CLIENT_START] = "start", [CLIENT_STOP] = "stop",
                [CLIENT_FLUSH] = "flush", [CLIENT_SETUP_TRACING] = "setup-tracing",
                [CLIENT_SETUP] = "setup", [CLIENT_CLEAR] = "clear",
        };

        for (unsigned i = 0; i < _CLIENT_COMMAND_N; i++)
                if (names[i] && streq(names[i], name))
                        return i;
        ck_abort_msg("no command \"%s\"", name);
}

static void expect_command(Connection *connection, const char *name, uint64_t recorded) {
        const ClientCommand command = command_by_name(name);
        size_t at = connection->n_commands++;
        uint64_t ours;

        ck_assert_msg(at < connection->client.n_commands_ever, "no command %s", name);
        at %= CLIENT_COMMANDS_MAX;
        ck_assert_msg(connection->client.commands[at].command == command,
                      "command %u instead of %s",
                      connection->client.commands[at].command,
                      name);
        ours = connection->client.commands[at].number;
        if (command == CLIENT_SETUP)
                number_note(connection->instances, &connection->n_instances, recorded, ours);
        else if (command == CLIENT_FLUSH)
                number_note(connection->flushes, &connection->n_flushes, recorded, ours);
        else if (command == CLIENT_SETUP_TRACING)
                ck_assert_ptr_nonnull(connection->client.memory);
        else
                ck_assert_uint_eq(
                        ours,
                        number_ours(connection->instances, connection->n_instances, recorded));
}

static void on_heard(unsigned number, const char *line) {
        Connection *connection = &connections[number];
        unsigned long request, about = 0;
        const ClientReply *reply;
        char what[32];

        run_all();
        ck_assert_int_ge(sscanf(line, "%lu %31s %lu", &request, what, &about), 2);
        if (streq(what, "bound")) {
                for (size_t i = 0; i < _CLIENT_METHOD_N; i++)
                        ck_assert_uint_eq(connection->client.methods[i], i + 1);
                return;
        }
        if (!streq(what, "reply")) {
                expect_command(connection, what, about);
                return;
        }
        reply = client_reply(&connection->client, request);
        ck_assert_msg(reply, "no reply to %lu of connection %u", request, number);
        ck_assert(reply->success && !reply->has_more);
        ck_assert_uint_eq(reply->n_data, about);
        connection->n_replies++;
}

static void on_end(unsigned number) {
        ProducerClient *client = &connections[number].client;

        run_all();
        ck_assert_uint_eq(client->n_replies, connections[number].n_replies);
        ck_assert_uint_eq(client->n_commands_ever, connections[number].n_commands);
        client_deinit(client);
        connections[number] = (Connection){};
        world_serve();
}

/*
 * Consumers
 */

/* The producers' commits name the buffers as they were called when it was recorded. */
static void have_next_buffer(uint16_t id) {
        Numbers *numbers = &f.service->buffer_numbers;

        for (Numbers next = *numbers; numbers_next(&next) != id; next = *numbers)
                numbers->n_given++;
}

static void start_session(unsigned number, const char *one, const char *other) {
        static const uint16_t recorded_buffers[SESSIONS_MAX] = { 0, 1, 2, 4, 5 };
        const SessionOptions options = {
                .owner = { .uid = getuid(), .pid = 1 },
                .scope = SESSION_SCOPE_OWN,
        };
        char config[512];

        snprintf(config,
                 sizeof(config),
                 "buffers { size_kb: 256 } data_sources { config { name: \"%s\" } } "
                 "data_sources { config { name: \"%s\" } }",
                 one,
                 other[0] ? other : "none");
        buffers[number] = recorded_buffers[number];
        have_next_buffer(buffers[number]);
        sessions[number] = fixture_start_session_with(&f, &options, config);
}

static void stop_session(unsigned number) {
        session_stop(sessions[number]->session, "requested", f.now);
}

static void on_consumer(const char *line) {
        char what[16], one[32] = "", other[32] = "";
        unsigned number;

        ck_assert_int_ge(sscanf(line, "%15s %u %31s %31s", what, &number, one, other), 2);
        ck_assert_uint_lt(number, SESSIONS_MAX);
        if (streq(what, "start"))
                start_session(number, one, other);
        else if (streq(what, "stop"))
                stop_session(number);
        else
                ck_assert_int_eq(session_flush(sessions[number]->session, 0, 0, NULL, NULL, f.now),
                                 0);
        run_all();
}

static void on_line(const char *line) {
        unsigned number;
        int n = 0;

        if (sscanf(line, "* %n", &n) == 0 && n > 0) {
                on_consumer(line + n);
                return;
        }
        ck_assert_int_eq(sscanf(line, "%u %n", &number, &n), 1);
        ck_assert_uint_lt(number, CONNECTIONS_MAX);
        if (line[n] == '>')
                on_said(number, line + n + 2);
        else if (line[n] == '<')
                on_heard(number, line + n + 2);
        else
                on_end(number);
}

PORT_WORLD_TEST(test_recorded_producers_are_answered_and_asked_as_by_perfetto) {
        static char line[8192];
        FILE *file = fopen(RECORDING, "re");

        ck_assert_ptr_nonnull(file);
        f.service->info.is_private = true; /* its probes ran as root */
        while (fgets(line, sizeof(line), file))
                on_line(line);
        fclose(file);
        run_all();
        for (size_t i = 1; i < SESSIONS_MAX; i++) {
                Bytes trace = fixture_read(&f, sessions[i]);

                ck_assert_int_eq(session_state(sessions[i]->session), SESSION_STOPPED);
                ck_assert_uint_eq(trace_count_text(&trace, "a"), n_packets[i]);
                bytes_deinit(&trace);
        }
        ck_assert_uint_eq(n_packets[1], 2);
        ck_assert_uint_gt(n_packets[2], 10);
}

TEST_MAIN("producer-replay", test_recorded_producers_are_answered_and_asked_as_by_perfetto)
