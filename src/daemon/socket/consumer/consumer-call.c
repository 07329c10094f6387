/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How calls are read and answered. */

#include "consumer-private.h"

void consumer_call_reply(Consumer *consumer, ConsumerCall *call, const void *data, size_t n_data) {
        call->is_open = false;
        port_reply(consumer->connection, &call->request, false, data, n_data);
}

void consumer_call_open(Consumer *consumer, ConsumerCall *call, const PortRequest *request) {
        if (call->is_open)
                port_fail(consumer->connection, &call->request);
        *call = (ConsumerCall){ .is_open = true, .request = *request };
}

int consumer_read_numbers(const void *data, size_t n_data, uint64_t *ret, size_t n_fields) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n_data);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.type == WIRE_VARINT && field.number < n_fields)
                        ret[field.number] = field.value;
        return r;
}

int consumer_read_bytes(const void *data,
                        size_t n_data,
                        uint32_t number,
                        const uint8_t **ret,
                        size_t *ret_n) {
        WireReader reader;
        WireField field;
        int r;

        *ret = NULL;
        *ret_n = 0;
        wire_reader_init(&reader, data, n_data);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.type == WIRE_BYTES && field.number == number) {
                        *ret = field.data;
                        *ret_n = field.n_bytes;
                }
        return r;
}

int consumer_has_no_session(const Consumer *consumer) {
        return port_refuse(consumer->connection, "this connection has no session");
}
