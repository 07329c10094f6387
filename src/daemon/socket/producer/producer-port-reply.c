/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replies of the producer port, and complaints about what a producer sent. */

#include "producer-port-private.h"
#include "wire/wire-reader.h"

void producer_reply_done(const ProducerPort *port, const PortRequest *request) {
        port_reply(port->connection, request, false, NULL, 0);
}

bool producer_read_numbers(const void *data, size_t n, uint64_t *ret, size_t n_fields) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.type == WIRE_VARINT && field.number < n_fields)
                        ret[field.number] = field.value;
        return r == 0;
}

int producer_not_initialized(const ProducerPort *port) {
        return port_refuse(port->connection, "InitializeConnection comes first");
}

int producer_read_call(const ProducerPort *port,
                       const void *data,
                       size_t n,
                       uint64_t *ret,
                       size_t n_fields) {
        if (!port->producer)
                return producer_not_initialized(port);
        if (!producer_read_numbers(data, n, ret, n_fields))
                return port_refuse(port->connection, "it cannot be decoded");
        return 0;
}

void producer_source_came(ProducerPort *port, const char *source) {
        if (!port->observer)
                return;
        port->observer->source_came(port->observed, source);
        port->has_changed_sources = true;
        port_connection_mark(port->connection);
}

void producer_source_went(ProducerPort *port, const char *source) {
        if (!port->observer)
                return;
        port->observer->source_went(port->observed, source);
        port->has_changed_sources = true;
        port_connection_mark(port->connection);
}
