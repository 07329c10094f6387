/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Commands of the service reach the producer as replies to GetAsyncCommand. They wait, in order, until the producer
 * makes that call.
 */

#include <assert.h>

#include "core/model/bytes-writer.h"
#include "producer-port-private.h"
#include "shared/fd.h"
#include "wire/wire-writer.h"

/* Fields of perfetto.protos.GetAsyncCommandResponse, and of its parts; producer-port-ops.c has the others. */
enum {
        COMMAND_SETUP_TRACING = 3,
        TRACING_PAGE_KB = 1,
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

void producer_command_finish(ProducerPort *port, WireWriter *writer, Bytes *bytes, int fd) {
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
        assert(port->n_held == 0 && port->n_held_bytes == 0);
        list_for_each (setup, &port->unsent, link)
                free(setup);
        list_init(&port->unsent);
}

void producer_send_memory(ProducerPort *port, int fd, uint32_t page_bytes) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, COMMAND_SETUP_TRACING);
        if (fd >= 0)
                wire_put_uint(&writer, TRACING_PAGE_KB, page_bytes / 1024);
        wire_end(&writer, command);
        producer_command_finish(port, &writer, &bytes, fd);
}

void producer_setup_is_too_long(ProducerPort *port, uint64_t instance) {
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
