/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Protobuf fields: for packets of one's own and for DT_RAW()
 *
 *      uint8_t memory[256];
 *      dt_proto packet;
 *      size_t event;
 *
 *      dt_proto_init(&packet, memory, sizeof(memory));
 *      dt_proto_uint(&packet, 8, now_ns);                      // TracePacket.timestamp
 *      event = dt_proto_begin(&packet, 11);                    // TracePacket.track_event
 *      dt_proto_uint(&packet, 9, 3);                           // TrackEvent.type = TYPE_INSTANT
 *      dt_proto_string(&packet, 23, "here");                   // TrackEvent.name
 *      dt_proto_end(&packet, event);
 *      if (!dt_proto_failed(&packet))
 *              dt_writer_write(writer, packet.start, dt_proto_size(&packet));
 *
 * With something interned, where `state` says whether this packet starts incremental state:
 *
 *      bool begins = dt_writer_begins(writer);
 *      uint64_t number = 0;
 *      int r = dt_writer_intern(writer, 2, name, strlen(name), &number); // InternedData.event_names
 *
 *      dt_proto_uint(&packet, 13, begins ? 1 : 2);             // TracePacket.sequence_flags
 *      if (r == DT_INTERNED_NEW) {
 *              size_t data = dt_proto_begin(&packet, 12);      // TracePacket.interned_data
 *              size_t entry = dt_proto_begin(&packet, 2);
 *
 *              dt_proto_uint(&packet, 1, number);              // iid
 *              dt_proto_string(&packet, 2, name);
 *              dt_proto_end(&packet, entry);
 *              dt_proto_end(&packet, data);
 *      }
 *      …
 *      if (number)
 *              dt_proto_uint(&packet, 10, number);             // TrackEvent.name_iid
 *      else
 *              dt_proto_string(&packet, 23, name);
 *
 * A writer encodes into memory of the caller and never allocates. What does not fit makes it fail, which is sticky:
 * later calls do nothing, so the one check is at the end. Fields have numbers and types as in Perfetto's .proto files,
 * by the wire format of protobuf.dev/programming-guides/encoding. All of it is inline, without an ABI of its own. A
 * writer belongs to one thread; safe in signal handlers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dt_proto {
        uint8_t *start; /* the encoded bytes; there are dt_proto_size() */
        uint8_t *at;
        uint8_t *end;
        bool has_failed;
} dt_proto;

#define DT_PROTO_VARINT_MAX 10 /* bytes of the longest number */
#define DT_PROTO_FIELD_MAX  536870911

/* Starts at the beginning of `memory`, which stays the caller's and must outlive the writer. */
static inline void dt_proto_init(dt_proto *proto, void *memory, size_t n_bytes) {
        proto->start = proto->at = proto->end = (uint8_t *)memory;
        if (n_bytes > 0)
                proto->end += n_bytes;
        proto->has_failed = false;
}

/* The number of encoded bytes; only meaningful if the writer has not failed. */
static inline size_t dt_proto_size(const dt_proto *proto) {
        return (size_t)(proto->at - proto->start);
}

/* Whether something did not fit, or a field was invalid. */
static inline bool dt_proto_failed(const dt_proto *proto) {
        return proto->has_failed;
}

/* For the functions below: whether `n_bytes` fit; if not, the writer has failed. */
static inline bool dt_proto_reserve(dt_proto *proto, size_t n_bytes) {
        if (!proto->has_failed && (size_t)(proto->end - proto->at) < n_bytes)
                proto->has_failed = true;
        return !proto->has_failed;
}

/* Appends bytes that are already encoded fields, or part of a packed one. */
static inline void dt_proto_raw(dt_proto *proto, const void *data, size_t n_bytes) {
        if (n_bytes == 0 || !dt_proto_reserve(proto, n_bytes))
                return;
        memcpy(proto->at, data, n_bytes);
        proto->at += n_bytes;
}

/* A bare number: an element of a packed field. */
static inline void dt_proto_varint(dt_proto *proto, uint64_t value) {
        uint8_t bytes[DT_PROTO_VARINT_MAX];
        size_t n = 0;

        for (; value >= 0x80; value >>= 7)
                bytes[n++] = (uint8_t)(value | 0x80);
        bytes[n++] = (uint8_t)value;
        dt_proto_raw(proto, bytes, n);
}

/* For the functions below: what a field begins with. `type` is one of the wire format's. */
static inline void dt_proto_tag(dt_proto *proto, uint32_t field, unsigned type) {
        if (field == 0 || field > DT_PROTO_FIELD_MAX)
                proto->has_failed = true;
        dt_proto_varint(proto, (uint64_t)field << 3 | type);
}

/* uint32, uint64, enums. */
static inline void dt_proto_uint(dt_proto *proto, uint32_t field, uint64_t value) {
        dt_proto_tag(proto, field, 0);
        dt_proto_varint(proto, value);
}

/* int32, int64. */
static inline void dt_proto_int(dt_proto *proto, uint32_t field, int64_t value) {
        dt_proto_uint(proto, field, (uint64_t)value);
}

/* sint32, sint64. */
static inline void dt_proto_sint(dt_proto *proto, uint32_t field, int64_t value) {
        dt_proto_uint(proto, field, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static inline void dt_proto_bool(dt_proto *proto, uint32_t field, bool value) {
        dt_proto_uint(proto, field, value ? 1 : 0);
}

/* fixed64, sfixed64. */
static inline void dt_proto_fixed64(dt_proto *proto, uint32_t field, uint64_t value) {
        uint8_t bytes[8];

        for (unsigned i = 0; i < 8; i++)
                bytes[i] = (uint8_t)(value >> 8 * i);
        dt_proto_tag(proto, field, 1);
        dt_proto_raw(proto, bytes, sizeof(bytes));
}

/* fixed32, sfixed32. */
static inline void dt_proto_fixed32(dt_proto *proto, uint32_t field, uint32_t value) {
        uint8_t bytes[4];

        for (unsigned i = 0; i < 4; i++)
                bytes[i] = (uint8_t)(value >> 8 * i);
        dt_proto_tag(proto, field, 5);
        dt_proto_raw(proto, bytes, sizeof(bytes));
}

static inline void dt_proto_double(dt_proto *proto, uint32_t field, double value) {
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        dt_proto_fixed64(proto, field, bits);
}

static inline void dt_proto_float(dt_proto *proto, uint32_t field, float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        dt_proto_fixed32(proto, field, bits);
}

/* bytes, and messages that are already encoded. */
static inline void
dt_proto_bytes(dt_proto *proto, uint32_t field, const void *data, size_t n_bytes) {
        dt_proto_tag(proto, field, 2);
        dt_proto_varint(proto, n_bytes);
        dt_proto_raw(proto, data, n_bytes);
}

/* Text must be UTF-8. */
static inline void dt_proto_string(dt_proto *proto, uint32_t field, const char *text) {
        dt_proto_bytes(proto, field, text, strlen(text));
}

/* Opens a message or a packed field; pass the result to dt_proto_end() to close it. They nest. */
static inline size_t dt_proto_begin(dt_proto *proto, uint32_t field) {
        uint8_t length = 0; /* one byte, if it is below 128 */

        dt_proto_tag(proto, field, 2);
        dt_proto_raw(proto, &length, 1);
        return dt_proto_size(proto);
}

static inline void dt_proto_end(dt_proto *proto, size_t begin) {
        size_t n_body, n_more = 0;

        if (proto->has_failed)
                return;
        n_body = dt_proto_size(proto) - begin;
        for (size_t rest = n_body >> 7; rest > 0; rest >>= 7)
                n_more++;
        if (!dt_proto_reserve(proto, n_more))
                return;
        /* The contents move up if the length takes more than one byte. */
        memmove(proto->start + begin + n_more, proto->start + begin, n_body);
        proto->at = proto->start + begin - 1;
        dt_proto_varint(proto, n_body);
        proto->at += n_body;
}

#ifdef __cplusplus
}
#endif
