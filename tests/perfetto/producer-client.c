/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "producer-client.h"
#include "shared/fd.h"

static const char *const method_names[_CLIENT_METHOD_N] = {
        [CLIENT_INITIALIZE] = "InitializeConnection",
        [CLIENT_REGISTER_SOURCE] = "RegisterDataSource",
        [CLIENT_UNREGISTER_SOURCE] = "UnregisterDataSource",
        [CLIENT_COMMIT] = "CommitData",
        [CLIENT_GET_COMMAND] = "GetAsyncCommand",
        [CLIENT_REGISTER_WRITER] = "RegisterTraceWriter",
        [CLIENT_UNREGISTER_WRITER] = "UnregisterTraceWriter",
        [CLIENT_SOURCE_STARTED] = "NotifyDataSourceStarted",
        [CLIENT_SOURCE_STOPPED] = "NotifyDataSourceStopped",
        [CLIENT_TRIGGERS] = "ActivateTriggers",
        [CLIENT_SYNC] = "Sync",
        [CLIENT_UPDATE_SOURCE] = "UpdateDataSource",
};

void client_init(ProducerClient *client, int fd) {
        *client = (ProducerClient){ .fd = fd, .received_fd = -1 };
}

static void client_unmap(ProducerClient *client) {
        if (client->memory)
                munmap(client->memory, client->area.n_bytes);
        client->memory = NULL;
}

void client_deinit(ProducerClient *client) {
        client_unmap(client);
        client->fd = fd_close(client->fd);
        client->received_fd = fd_close(client->received_fd);
        bytes_deinit(&client->received);
        bytes_deinit(&client->commit);
}

/*
 * Out
 */

void client_send(ProducerClient *client, const void *data, size_t n, int fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { (void *)data, n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        if (fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
        }
        while (!client->is_closed && piece.iov_len > 0) {
                ssize_t n_sent = sendmsg(client->fd, &message, MSG_NOSIGNAL);

                if (n_sent < 0 && errno != EINTR)
                        client->is_closed = true;
                if (n_sent <= 0)
                        continue;
                piece.iov_base = (uint8_t *)piece.iov_base + n_sent;
                piece.iov_len -= (size_t)n_sent;
                message.msg_controllen = 0;
        }
}

static uint8_t frame[IPC_FRAME_BYTES_MAX + 64];

static void client_send_frame(ProducerClient *client, const WireWriter *writer, int fd) {
        if (!wire_writer_failed(writer))
                client_send(client, writer->start, wire_writer_size(writer), fd);
}

static uint64_t client_call_with_fd(ProducerClient *client,
                                    ClientMethod method,
                                    bool wants_reply,
                                    const void *data,
                                    size_t n,
                                    int fd) {
        WireWriter writer;

        if (!client->methods[method])
                return 0;
        wire_writer_init(&writer, frame, sizeof(frame));
        ipc_put_invoke(&writer,
                       ++client->n_requests,
                       client->service_id,
                       client->methods[method],
                       !wants_reply,
                       data,
                       n);
        client_send_frame(client, &writer, fd);
        return client->n_requests;
}

uint64_t client_call(ProducerClient *client,
                     ClientMethod method,
                     bool wants_reply,
                     const void *data,
                     size_t n) {
        return client_call_with_fd(client, method, wants_reply, data, n, -1);
}

void client_bind(ProducerClient *client) {
        WireWriter writer;

        wire_writer_init(&writer, frame, sizeof(frame));
        ipc_put_bind(&writer, ++client->n_requests, "ProducerPort");
        client_send_frame(client, &writer, -1);
}

static void client_map(ProducerClient *client, int fd, size_t n_bytes, uint32_t page_bytes) {
        void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (memory == MAP_FAILED) {
                client->is_closed = true;
                return;
        }
        client_unmap(client);
        client->memory = memory;
        client->next_page = 0;
        smb_area_create_plain(&client->area, memory, n_bytes, page_bytes);
}

uint64_t client_initialize(ProducerClient *client, const ClientOptions *options) {
        uint8_t message[512];
        WireWriter writer;
        uint64_t request;
        int fd = options->memory_fd > 0 ? options->memory_fd : -1;

        wire_writer_init(&writer, message, sizeof(message));
        wire_put_uint(&writer, 1, options->page_bytes);
        wire_put_uint(&writer, 2, options->memory_bytes);
        wire_put_string(&writer, 3, options->name);
        wire_put_uint(&writer, 4, options->scraping ?: 1);
        if (fd >= 0)
                wire_put_bool(&writer, 6, true);
        wire_put_string(&writer, 8, "desktrace's test client");
        request = client_call_with_fd(
                client, CLIENT_INITIALIZE, true, message, wire_writer_size(&writer), fd);
        client->commands_request = client_call(client, CLIENT_GET_COMMAND, true, NULL, 0);
        return request;
}

uint64_t client_describe_source(ProducerClient *client,
                                ClientMethod method,
                                const char *name,
                                uint64_t id,
                                const char *category) {
        size_t descriptor, track_event, categories;
        uint8_t message[1024];
        WireWriter writer;

        wire_writer_init(&writer, message, sizeof(message));
        descriptor = wire_begin(&writer, 1);
        wire_put_string(&writer, 1, name);
        wire_put_bool(&writer, 2, true);
        wire_put_bool(&writer, 3, true);
        wire_put_bool(&writer, 4, true);
        if (category) {
                track_event = wire_begin(&writer, 6);
                categories = wire_begin(&writer, 1);
                wire_put_string(&writer, 1, category);
                wire_end(&writer, categories);
                wire_end(&writer, track_event);
        }
        wire_put_uint(&writer, 7, id);
        wire_end(&writer, descriptor);
        return client_call(client, method, true, message, wire_writer_size(&writer));
}

uint64_t client_register_source(ProducerClient *client, const char *name, uint64_t id) {
        return client_describe_source(client, CLIENT_REGISTER_SOURCE, name, id, NULL);
}

void client_number(ProducerClient *client, ClientMethod method, uint64_t number) {
        uint8_t message[16];
        WireWriter writer;

        wire_writer_init(&writer, message, sizeof(message));
        wire_put_uint(&writer, 1, number);
        client_call(client, method, false, message, wire_writer_size(&writer));
}

/* Whether there is room in the commit; a writer behind its end. */
static bool commit_writer(ProducerClient *client, WireWriter *ret, size_t n_more) {
        if (bytes_reserve(&client->commit, n_more) < 0)
                return false;
        wire_writer_init(ret, client->commit.data + client->commit.n, n_more);
        return true;
}

uint64_t client_commit(ProducerClient *client, uint64_t flush_id, bool wants_reply) {
        WireWriter writer;
        uint64_t request;

        if (!commit_writer(client, &writer, 16))
                return 0;
        if (flush_id)
                wire_put_uint(&writer, 3, flush_id);
        client->commit.n += wire_writer_size(&writer);
        request = client_call(
                client, CLIENT_COMMIT, wants_reply, client->commit.data, client->commit.n);
        bytes_clear(&client->commit);
        return request;
}

void client_commit_bytes(ProducerClient *client,
                         uint16_t target_buffer,
                         const void *chunk,
                         size_t n,
                         bool is_incomplete) {
        WireWriter writer;
        size_t move;

        if (!commit_writer(client, &writer, n + 64))
                return;
        move = wire_begin(&writer, 1);
        wire_put_uint(&writer, 1, UINT32_MAX);
        wire_put_uint(&writer, 3, target_buffer);
        wire_put_bytes(&writer, 4, chunk, n);
        if (is_incomplete)
                wire_put_bool(&writer, 5, true);
        wire_end(&writer, move);
        client->commit.n += wire_writer_size(&writer);
}

/*
 * In
 */

static uint64_t message_number(const void *data, size_t n, uint32_t number) {
        WireReader reader;
        WireField field;
        uint64_t value = 0;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0)
                if (field.number == number && field.type == WIRE_VARINT)
                        value = field.value;
        return value;
}

static ClientInstance *instance_by_id(ProducerClient *client, uint64_t id) {
        for (size_t i = 0; i < client->n_instances; i++)
                if (client->instances[i].id == id)
                        return &client->instances[i];
        return NULL;
}

ClientInstance *client_instance(ProducerClient *client, const char *name) {
        for (size_t i = client->n_instances; i > 0; i--)
                if (streq(client->instances[i - 1].name, name))
                        return &client->instances[i - 1];
        return NULL;
}

static void on_setup(ProducerClient *client, const WireField *command) {
        ClientInstance *instance = &client->instances[client->n_instances % CLIENT_INSTANCES_MAX];
        WireReader reader;
        WireField field;

        *instance = (ClientInstance){ .id = message_number(command->data, command->n_bytes, 1) };
        wire_reader_init_field(&reader, command);
        while (wire_read(&reader, &field) > 0) {
                WireReader config;
                WireField at;

                if (field.number != 2 || field.type != WIRE_BYTES)
                        continue;
                instance->target_buffer = (uint16_t)message_number(field.data, field.n_bytes, 2);
                wire_reader_init_field(&config, &field);
                while (wire_read(&config, &at) > 0)
                        if (at.number == 1 && at.n_bytes < sizeof(instance->name))
                                memcpy(instance->name, at.data, at.n_bytes);
        }
        if (client->n_instances < CLIENT_INSTANCES_MAX)
                client->n_instances++;
}

static void on_setup_tracing(ProducerClient *client, const WireField *command) {
        uint32_t page_kb = (uint32_t)message_number(command->data, command->n_bytes, 1);
        _cleanup_(fd_closep) int fd = TAKE_FD(client->received_fd);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0)
                client_map(client, fd, (size_t)st.st_size, page_kb * 1024);
}

static void on_flush(ProducerClient *client, const WireField *command) {
        client->last_flush = message_number(command->data, command->n_bytes, 2);
        client->last_flush_flags = message_number(command->data, command->n_bytes, 3);
        if (!client->is_silent)
                client_commit(client, client->last_flush, false);
}

static void on_instance(ProducerClient *client, ClientCommand command, uint64_t id) {
        ClientInstance *instance = instance_by_id(client, id);

        if (!instance)
                return;
        if (command == CLIENT_CLEAR)
                instance->n_clears++;
        else if (command == CLIENT_START)
                instance->is_started = true;
        else
                instance->is_stopped = true;
        if (client->is_silent || command == CLIENT_CLEAR)
                return;
        if (command == CLIENT_STOP)
                client_commit(client, 0, false);
        client_number(client,
                      command == CLIENT_START ? CLIENT_SOURCE_STARTED : CLIENT_SOURCE_STOPPED,
                      id);
}

static void note_command(ProducerClient *client, const WireField *command) {
        const size_t at = client->n_commands_ever++ % CLIENT_COMMANDS_MAX;
        const uint32_t number = command->number == CLIENT_FLUSH ? 2 : 1;

        client->n_commands[command->number]++;
        client->commands[at].command = command->number;
        client->commands[at].number = message_number(command->data, command->n_bytes, number);
}

static void on_command(ProducerClient *client, const IpcFrame *reply) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, reply->data, reply->n_data);
        if (wire_read(&reader, &field) <= 0 || field.number >= _CLIENT_COMMAND_N)
                return;
        note_command(client, &field);
        if (field.number == CLIENT_SETUP)
                on_setup(client, &field);
        else if (field.number == CLIENT_SETUP_TRACING)
                on_setup_tracing(client, &field);
        else if (field.number == CLIENT_FLUSH)
                on_flush(client, &field);
        else
                on_instance(client, field.number, message_number(field.data, field.n_bytes, 1));
}

static void on_bind_reply(ProducerClient *client, const IpcFrame *reply) {
        WireReader reader;
        IpcMethod method;

        client->is_bound = reply->success;
        client->service_id = reply->service_id;
        wire_reader_init(&reader, reply->data, reply->n_data);
        while (ipc_read_method(&reader, &method) > 0)
                for (size_t i = 0; i < _CLIENT_METHOD_N; i++)
                        if (strlen(method_names[i]) == method.n_name &&
                            memcmp(method_names[i], method.name, method.n_name) == 0)
                                client->methods[i] = method.id;
}

static void on_reply(ProducerClient *client, const IpcFrame *from) {
        ClientReply *reply = &client->replies[client->n_replies++ % CLIENT_REPLIES_MAX];

        *reply = (ClientReply){ from->request_id, from->success, from->has_more, from->n_data };
        if (from->n_data > 0)
                memcpy(reply->data, from->data, MIN(from->n_data, sizeof(reply->data)));
}

const ClientReply *client_reply(const ProducerClient *client, uint64_t request) {
        for (size_t i = 0; i < MIN(client->n_replies, (size_t)CLIENT_REPLIES_MAX); i++)
                if (client->replies[i].request == request)
                        return &client->replies[i];
        return NULL;
}

static void client_take_frame(ProducerClient *client, const uint8_t *data, size_t n) {
        IpcFrame reply;

        if (ipc_frame_read(&reply, data, n) < 0)
                client->is_closed = true;
        else if (reply.kind == IPC_BIND_REPLY)
                on_bind_reply(client, &reply);
        else if (reply.kind == IPC_INVOKE_REPLY && reply.success &&
                 reply.request_id == client->commands_request) {
                on_command(client, &reply);
                client->is_closed |= !reply.has_more; /* no further command would be heard */
        } else
                on_reply(client, &reply);
}

static void client_take_frames(ProducerClient *client) {
        _cleanup_(bytes_deinit) Bytes bytes = client->received;
        size_t n_frame, at = 0;

        client->received = (Bytes){};
        while (ipc_frame_next(bytes.data + at, bytes.n - at, &n_frame) > 0) {
                client_take_frame(
                        client, bytes.data + at + IPC_LENGTH_BYTES, n_frame - IPC_LENGTH_BYTES);
                at += n_frame;
        }
        bytes_append(&client->received, bytes.data + at, bytes.n - at);
}

static ssize_t client_receive(ProducerClient *client, void *data, size_t n) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { data, n };
        struct msghdr message = {
                .msg_iov = &piece,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        ssize_t n_read = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

        if (n_read > 0 && message.msg_controllen > 0 && control.header.cmsg_type == SCM_RIGHTS) {
                fd_close(client->received_fd);
                memcpy(&client->received_fd, CMSG_DATA(&control.header), sizeof(int));
        }
        if (n_read == 0 || (n_read < 0 && errno != EAGAIN && errno != EINTR))
                client->is_closed = true;
        return n_read;
}

bool client_pump(ProducerClient *client, int timeout_ms) {
        struct pollfd ready = { .fd = client->fd, .events = POLLIN };
        uint8_t piece[8192];
        ssize_t n;

        if (client->is_closed)
                return false;
        if (timeout_ms > 0)
                poll(&ready, 1, timeout_ms);
        while ((n = client_receive(client, piece, sizeof(piece))) > 0) {
                bytes_append(&client->received, piece, (size_t)n);
                client_take_frames(client);
        }
        return !client->is_closed;
}
