/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Wire writer: protobuf encoding into memory of the caller */

#include "wire/wire-writer.h"

bool wire_reserve(WireWriter *writer, size_t n_bytes) {
        if (writer->failed)
                return false;
        if ((size_t)(writer->end - writer->at) >= n_bytes)
                return true;
        if (writer->grow && writer->grow(writer, n_bytes) >= 0 &&
            (size_t)(writer->end - writer->at) >= n_bytes)
                return true;
        writer->failed = true;
        return false;
}

static uint8_t *encode_tag(uint8_t *at, uint32_t field, unsigned type) {
        return wire_encode_varint(at, (uint64_t)field << 3 | type);
}

void wire_put_varint(WireWriter *writer, uint64_t value) {
        if (wire_reserve(writer, WIRE_VARINT_MAX))
                writer->at = wire_encode_varint(writer->at, value);
}

void wire_put_uint(WireWriter *writer, uint32_t field, uint64_t value) {
        if (!wire_reserve(writer, WIRE_TAG_MAX + WIRE_VARINT_MAX))
                return;
        writer->at = encode_tag(writer->at, field, WIRE_VARINT);
        writer->at = wire_encode_varint(writer->at, value);
}

void wire_put_int(WireWriter *writer, uint32_t field, int64_t value) {
        wire_put_uint(writer, field, (uint64_t)value);
}

void wire_put_bool(WireWriter *writer, uint32_t field, bool value) {
        wire_put_uint(writer, field, value);
}

void wire_put_fixed64(WireWriter *writer, uint32_t field, uint64_t value) {
        if (!wire_reserve(writer, WIRE_TAG_MAX + sizeof(value)))
                return;
        writer->at = encode_tag(writer->at, field, WIRE_FIXED64);
        for (size_t i = 0; i < sizeof(value); i++)
                *writer->at++ = (uint8_t)(value >> (8 * i)); /* the format is little-endian */
}

void wire_put_double(WireWriter *writer, uint32_t field, double value) {
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        wire_put_fixed64(writer, field, bits);
}

void wire_put_bytes(WireWriter *writer, uint32_t field, const void *data, size_t n_bytes) {
        if (n_bytes > SIZE_MAX / 2 ||
            !wire_reserve(writer, WIRE_TAG_MAX + WIRE_VARINT_MAX + n_bytes)) {
                writer->failed = true;
                return;
        }
        writer->at = encode_tag(writer->at, field, WIRE_BYTES);
        writer->at = wire_encode_varint(writer->at, n_bytes);
        if (n_bytes > 0)
                memcpy(writer->at, data, n_bytes);
        writer->at += n_bytes;
}

void wire_put_string(WireWriter *writer, uint32_t field, const char *text) {
        wire_put_bytes(writer, field, text, strlen(text));
}

void wire_put_raw(WireWriter *writer, const void *data, size_t n_bytes) {
        if (n_bytes == 0 || !wire_reserve(writer, n_bytes))
                return;
        memcpy(writer->at, data, n_bytes);
        writer->at += n_bytes;
}

size_t wire_begin(WireWriter *writer, uint32_t field) {
        if (!wire_reserve(writer, WIRE_TAG_MAX + 1))
                return 0;
        writer->at = encode_tag(writer->at, field, WIRE_BYTES);
        *writer->at++ = 0; /* the length, if it is below 128 */
        return wire_writer_size(writer);
}

void wire_end(WireWriter *writer, size_t begin) {
        size_t n_body, n_extra;

        if (writer->failed)
                return;
        n_body = wire_writer_size(writer) - begin;
        n_extra = wire_varint_size(n_body) - 1;
        if (n_extra > 0) {
                if (!wire_reserve(writer, n_extra))
                        return;
                memmove(writer->start + begin + n_extra, writer->start + begin, n_body);
                writer->at += n_extra;
        }
        wire_encode_varint(writer->start + begin - 1, n_body);
}
