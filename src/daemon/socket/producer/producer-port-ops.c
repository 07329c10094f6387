/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Requests of the core to a producer. Each becomes one command; setting up and starting an instance both carry its
 * config.
 */

#include "core/model/bytes-writer.h"
#include "producer-port-private.h"
#include "wire/wire-writer.h"

/* Fields of perfetto.protos.GetAsyncCommandResponse, and of its parts. */
enum {
        COMMAND_START_SOURCE = 1,
        COMMAND_STOP_SOURCE = 2,
        COMMAND_FLUSH = 5,
        COMMAND_SETUP_SOURCE = 6,
        COMMAND_CLEAR_STATE = 7,

        SOURCE_INSTANCE = 1, /* of setup, start and stop */
        SOURCE_CONFIG = 2,
        FLUSH_INSTANCES = 1,
        FLUSH_REQUEST_ID = 2,
        FLUSH_FLAGS = 3,
        CLEAR_INSTANCES = 1,
};

static int op_setup_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        return producer_make_memory(peer, pages_bytes, page_bytes, ret);
}

static void op_release_memory(void *peer) {
        producer_drop_memory(peer);
}

static void op_next_used(void *peer, size_t from, size_t *ret_begin, size_t *ret_end) {
        producer_next_used(peer, from, ret_begin, ret_end);
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
                producer_setup_is_too_long(port, instance);
        else
                producer_command_finish(port, &writer, &bytes, -1);
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
        producer_command_finish(peer, &writer, &bytes, -1);
}

static void op_clear_incremental_state(void *peer, const uint64_t *instances, size_t n_instances) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        WireWriter writer;
        size_t command;

        bytes_writer_init(&writer, &bytes);
        command = wire_begin(&writer, COMMAND_CLEAR_STATE);
        put_numbers(&writer, CLEAR_INSTANCES, instances, n_instances);
        wire_end(&writer, command);
        producer_command_finish(peer, &writer, &bytes, -1);
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
