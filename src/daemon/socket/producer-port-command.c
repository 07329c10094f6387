/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the service asks for goes to the producer as replies to GetAsyncCommand. What is asked for earlier waits, in
 * order. Setup and start of an instance both say its config.
 */

#include <errno.h>

#include "core/service-packets.h"
#include "producer-port-private.h"
#include "shared/fd.h"
#include "wire/wire-writer.h"

/* Fields of perfetto.protos.GetAsyncCommandResponse, and of its parts. */
enum {
        COMMAND_START_SOURCE = 1,
        COMMAND_STOP_SOURCE = 2,
        COMMAND_SETUP_TRACING = 3,
        COMMAND_FLUSH = 5,
        COMMAND_SETUP_SOURCE = 6,
        COMMAND_CLEAR_STATE = 7,

        SOURCE_INSTANCE = 1, /* of setup, start and stop */
        SOURCE_CONFIG = 2,
        TRACING_PAGE_KB = 1,
        FLUSH_INSTANCES = 1,
        FLUSH_REQUEST_ID = 2,
        FLUSH_FLAGS = 3,
        CLEAR_INSTANCES = 1,
};

typedef struct HeldCommand {
        List link;
        int fd;
        size_t n;
        uint8_t data[];
} HeldCommand;

/* An instance that its producer will never hear of. */
typedef struct UnsentSetup {
        List link;
        uint64_t instance;
} UnsentSetup;

static void command_free(ProducerPort *port, HeldCommand *command) {
        list_unlink(&command->link);
        port->n_held--;
        port->n_held_bytes -= command->n;
        port_connection_release(port->connection, sizeof(*command) + command->n);
        fd_close(command->fd);
        free(command);
}

static void command_hold(ProducerPort *port, const Bytes *bytes, int fd) {
        const size_t n = sizeof(HeldCommand) + bytes->n;
        HeldCommand *command = NULL;

        if (port->n_held < PRODUCER_HELD_COMMANDS_MAX &&
            port->n_held_bytes + bytes->n <= PRODUCER_HELD_BYTES_MAX &&
            port_connection_hold(port->connection, n)) {
                command = malloc(n);
                if (!command)
                        port_connection_release(port->connection, n);
        }
        if (!command) {
                fd_close(fd);
                port_connection_break(port->connection, "it does not ask for its commands");
                return;
        }
        command->fd = fd;
        command->n = bytes->n;
        memcpy(command->data, bytes->data, bytes->n);
        list_append(&port->held, &command->link);
        port->n_held++;
        port->n_held_bytes += command->n;
}

/* Takes the descriptor over. */
static void command_send(ProducerPort *port, const Bytes *bytes, int fd) {
        if (port->takes_commands)
                port_reply_with_fd(
                        port->connection, &port->commands, true, bytes->data, bytes->n, fd);
        else
                command_hold(port, bytes, fd);
}

/* Ends what was written, and sends it if there was memory for it. */
static void command_finish(ProducerPort *port, WireWriter *writer, Bytes *bytes, int fd) {
        if (bytes_writer_finish(writer, bytes) < 0) {
                fd_close(fd);
                port_connection_break(port->connection, "there is no memory for its commands");
                return;
        }
        command_send(port, bytes, fd);
}

int producer_on_get_command(void *userdata,
                            const PortRequest *request,
                            const void *data,
                            size_t n) {
        ProducerPort *port = userdata;
        HeldCommand *command;

        if (!port->producer)
                return producer_not_initialized(port);
        port->commands = *request;
        port->takes_commands = true;
        list_for_each (command, &port->held, link) {
                port_reply_with_fd(port->connection,
                                   &port->commands,
                                   true,
                                   command->data,
                                   command->n,
                                   TAKE_FD(command->fd));
                command_free(port, command);
        }
        return 0;
}

void producer_commands_deinit(ProducerPort *port) {
        HeldCommand *command;
        UnsentSetup *setup;

        list_for_each (command, &port->held, link)
                command_free(port, command);
        list_for_each (setup, &port->unsent, link)
                free(setup);
        list_init(&port->unsent);
}

/*
 * Requests
 */

void producer_send_memory(ProducerPort *port, int fd, uint32_t page_bytes) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, COMMAND_SETUP_TRACING);
        if (fd >= 0)
                wire_put_uint(&writer, TRACING_PAGE_KB, page_bytes / 1024);
        wire_end(&writer, command);
        command_finish(port, &writer, &bytes, fd);
}

static int op_setup_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        return producer_make_memory(peer, pages_bytes, page_bytes, ret);
}

static void op_release_memory(void *peer) {
        producer_drop_memory(peer);
}

static void op_next_used(void *peer, size_t from, size_t *ret_begin, size_t *ret_end) {
        producer_next_used(peer, from, ret_begin, ret_end);
}

/* Told when the core has returned. Without memory even for that the instance is given up on like one that is silent. */
static void setup_is_too_long(ProducerPort *port, uint64_t instance) {
        UnsentSetup *setup = calloc(1, sizeof(*setup));

        if (!setup)
                return;
        setup->instance = instance;
        list_append(&port->unsent, &setup->link);
        port_connection_mark(port->connection);
}

void producer_work_commands(ProducerPort *port) {
        UnsentSetup *setup;

        list_for_each (setup, &port->unsent, link) {
                uint64_t instance = setup->instance;

                list_unlink(&setup->link);
                free(setup);
                producer_source_failed(port->producer,
                                       instance,
                                       "its config does not fit into a message of Perfetto's "
                                       "protocol, which is 128 KiB at most",
                                       port_connection_now(port->connection));
        }
}

static void send_source(ProducerPort *port,
                        uint32_t kind,
                        uint64_t instance,
                        const void *config,
                        size_t n_config) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, kind);
        wire_put_uint(&writer, SOURCE_INSTANCE, instance);
        if (config)
                wire_put_bytes(&writer, SOURCE_CONFIG, config, n_config);
        wire_end(&writer, command);
        if (!wire_writer_failed(&writer) && wire_writer_size(&writer) > port_message_max())
                setup_is_too_long(port, instance);
        else
                command_finish(port, &writer, &bytes, -1);
}

static void op_setup_source(void *peer,
                            uint64_t instance,
                            const char *name,
                            const void *config,
                            size_t n_config) {
        send_source(peer, COMMAND_SETUP_SOURCE, instance, config, n_config);
}

static void op_start_source(void *peer, uint64_t instance) {
        _cleanup_(bytes_deinit) Bytes config = {};
        ProducerPort *port = peer;

        if (producer_instance_config(port->producer, instance, &config) < 0)
                port_connection_break(port->connection, "there is no memory for its commands");
        else
                send_source(port, COMMAND_START_SOURCE, instance, config.data, config.n);
}

static void op_stop_source(void *peer, uint64_t instance) {
        send_source(peer, COMMAND_STOP_SOURCE, instance, NULL, 0);
}

static void put_numbers(WireWriter *writer, uint32_t field, const uint64_t *numbers, size_t n) {
        for (size_t i = 0; i < n; i++)
                wire_put_uint(writer, field, numbers[i]);
}

static void op_flush(void *peer,
                     uint64_t flush_id,
                     const uint64_t *instances,
                     size_t n_instances,
                     uint64_t flags) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, COMMAND_FLUSH);
        put_numbers(&writer, FLUSH_INSTANCES, instances, n_instances);
        wire_put_uint(&writer, FLUSH_REQUEST_ID, flush_id);
        wire_put_uint(&writer, FLUSH_FLAGS, flags);
        wire_end(&writer, command);
        command_finish(peer, &writer, &bytes, -1);
}

static void op_clear_incremental_state(void *peer, const uint64_t *instances, size_t n_instances) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, COMMAND_CLEAR_STATE);
        put_numbers(&writer, CLEAR_INSTANCES, instances, n_instances);
        wire_end(&writer, command);
        command_finish(peer, &writer, &bytes, -1);
}

const ProducerOps producer_port_ops = {
        .setup_memory = op_setup_memory,
        .release_memory = op_release_memory,
        .next_used = op_next_used,
        .setup_source = op_setup_source,
        .start_source = op_start_source,
        .stop_source = op_stop_source,
        .flush = op_flush,
        .clear_incremental_state = op_clear_incremental_state,
};
