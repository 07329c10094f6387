/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A packet sink that keeps what it gets, and verbs to look into it.
 */

#include <errno.h>
#include <stdlib.h>

#include "host/packet-writer.h"
#include "shared/bytes.h"
#include "wire/wire-reader.h"

typedef struct PacketList {
        PacketSink sink;
        Bytes *packets;
        size_t n, n_allocated;
        bool refuses; /* drops what it is given */
} PacketList;

static inline int packet_list_write(PacketSink *sink, const void *packet, size_t n_bytes) {
        PacketList *list = (PacketList *)sink;

        if (list->refuses)
                return -ENOBUFS;
        if (list->n == list->n_allocated) {
                list->n_allocated = list->n_allocated * 2 + 16;
                list->packets = reallocarray(list->packets, list->n_allocated, sizeof(Bytes));
                if (!list->packets)
                        abort();
        }
        list->packets[list->n] = (Bytes){};
        return bytes_append(&list->packets[list->n++], packet, n_bytes);
}

#define PACKET_LIST_INIT                              \
        {                                             \
                .sink = {.write = packet_list_write } \
        }

static inline void packet_list_deinit(PacketList *list) {
        for (size_t i = 0; i < list->n; i++)
                bytes_deinit(&list->packets[i]);
        free(list->packets);
        *list = (PacketList)PACKET_LIST_INIT;
}

/* The `skip`-th field of a number in a message; false when there is none. */
static inline bool message_field(WireReader message, uint32_t number, size_t skip, WireField *ret) {
        while (wire_read(&message, ret) == 1)
                if (ret->number == number && skip-- == 0)
                        return true;
        return false;
}

static inline bool
message_submessage(WireReader message, uint32_t number, size_t skip, WireReader *ret) {
        WireField field;

        if (!message_field(message, number, skip, &field))
                return false;
        wire_reader_init_field(ret, &field);
        return true;
}

static inline uint64_t message_uint(WireReader message, uint32_t number) {
        WireField field;

        return message_field(message, number, 0, &field) ? field.value : UINT64_MAX;
}

static inline bool message_has_text(WireReader message, uint32_t number, const char *text) {
        WireField field;

        for (size_t i = 0; message_field(message, number, i, &field); i++)
                if (field.n_bytes == strlen(text) && memcmp(field.data, text, field.n_bytes) == 0)
                        return true;
        return false;
}

static inline size_t message_count(WireReader message, uint32_t number) {
        WireField field;
        size_t n = 0;

        while (wire_read(&message, &field) == 1)
                n += field.number == number;
        return n;
}

/* The values of a packed field. Returns how many there are; up to `n_max` are stored. */
static inline size_t
message_packed(WireReader message, uint32_t number, uint64_t *ret, size_t n_max) {
        WireReader values;
        uint64_t value;
        size_t n = 0;

        if (!message_submessage(message, number, 0, &values))
                return 0;
        while (values.at < values.end && wire_read_varint(&values, &value) == 0) {
                if (n < n_max)
                        ret[n] = value;
                n++;
        }
        return n;
}

/* The payload of field `number` in the i-th packet. */
static inline bool
packet_list_payload(const PacketList *list, size_t i, uint32_t number, WireReader *ret) {
        WireReader packet;

        wire_reader_init(&packet, list->packets[i].data, list->packets[i].n);
        return message_submessage(packet, number, 0, ret);
}

/* The payload of the `skip`-th packet that has field `number`. */
static inline bool
packet_list_find(const PacketList *list, uint32_t number, size_t skip, WireReader *ret) {
        for (size_t i = 0; i < list->n; i++)
                if (packet_list_payload(list, i, number, ret) && skip-- == 0)
                        return true;
        return false;
}
