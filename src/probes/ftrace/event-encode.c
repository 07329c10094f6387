/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Most events are integers and short texts. How long such an event can become is known beforehand, so it asks for room
 * once and is written straight through. Arrays, and texts that are looked up, go the slow way, field by field. What
 * both write is the same.
 */

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "probes/ftrace/array-text.h"
#include "probes/ftrace/event-encoder.h"
#include "shared/load.h"

enum {
        BUNDLE_EVENT = 2,
        EVENT_TIMESTAMP = 1,
        EVENT_PID = 2,
};

#define PLAIN_BYTES_MAX (16u << 10) /* no event asks for more than this beyond what it needs */

/* The kernel's dev_t has 12 bits of major number above 20 bits of minor number. User space mixes the bits. */
static uint64_t load_device(const uint8_t *at) {
        uint32_t device = (uint32_t)array_load(at, 4);

        return makedev(device >> 20, device & ((1u << 20) - 1));
}

static void put_text(WireWriter *wire, uint32_t number, const uint8_t *text, size_t n_max) {
        wire_put_bytes(wire, number, text, strnlen((const char *)text, n_max));
}

static void put_array(WireWriter *wire, const FieldEncoder *field, const uint8_t *at, size_t n) {
        ArrayShape shape = { field->element_size, field->is_signed, field->is_mask };

        if (field->style == FIELD_AS_TEXT)
                array_put_text(wire, field->number, shape, at, n);
        else
                array_put_numbers(wire, field->number, shape, at, n);
}

/* __data_loc and __rel_loc: a word of 16 bits offset below 16 bits length. A length that goes past the record is
 * cut. Returns false when it begins behind it. */
static bool locate(const FieldEncoder *field,
                   const uint8_t *record,
                   uint32_t n_record,
                   uint32_t *ret_offset,
                   uint32_t *ret_n) {
        uint32_t word = (uint32_t)array_load(record + field->offset, 4);
        uint32_t offset = word & 0xffff, n_bytes = word >> 16;

        if (field->kind == FIELD_REL_STRING || field->kind == FIELD_REL_ARRAY)
                offset += field->offset + field->size;
        if (offset > n_record)
                return false;
        *ret_offset = offset;
        *ret_n = MIN(n_bytes, n_record - offset);
        return true;
}

static void
put_dynamic(WireWriter *wire, const FieldEncoder *field, const uint8_t *record, uint32_t n_record) {
        uint32_t offset, n_bytes;

        if (!locate(field, record, n_record, &offset, &n_bytes))
                return;
        if (field_kind_is_text(field->kind))
                put_text(wire, field->number, record + offset, n_bytes);
        else
                put_array(wire, field, record + offset, n_bytes);
}

/* An address that the kernel does not list is shown as a number. */
static void put_pointed(WireWriter *wire,
                        const EventEncoder *encoder,
                        const FieldEncoder *field,
                        uint64_t address) {
        const char *text = kernel_strings_find(encoder->strings, address);
        char digits[24];

        if (!text && snprintf(digits, sizeof(digits), "0x%llx", (unsigned long long)address) > 0)
                text = digits;
        wire_put_string(wire, field->number, text);
}

static void put_unsigned(WireWriter *wire,
                         const EventEncoder *encoder,
                         const FieldEncoder *field,
                         const uint8_t *at,
                         KernelSymbols *symbols) {
        uint64_t value = array_load(at, field->size);

        if (field->style == FIELD_AS_TEXT) {
                put_pointed(wire, encoder, field, value);
                return;
        }
        if (symbols && field->style == FIELD_AS_SYMBOL)
                value = kernel_symbols_use(symbols, value);
        wire_put_uint(wire, field->number, value);
}

static void put_field(WireWriter *wire,
                      const EventEncoder *encoder,
                      const FieldEncoder *field,
                      const uint8_t *record,
                      uint32_t n_record,
                      KernelSymbols *symbols) {
        const uint8_t *at = record + field->offset;

        switch (field->kind) {
        case FIELD_UNSIGNED:
        case FIELD_POINTER:
                put_unsigned(wire, encoder, field, at, symbols);
                break;
        case FIELD_SIGNED:
                wire_put_int(wire, field->number, array_load_signed(at, field->size));
                break;
        case FIELD_DEVICE:
                wire_put_uint(wire, field->number, load_device(at));
                break;
        case FIELD_CHARS:
                put_text(wire, field->number, at, field->size);
                break;
        case FIELD_TAIL:
                put_text(wire, field->number, at, n_record - field->offset);
                break;
        case FIELD_ARRAY:
                put_array(wire, field, at, field->size ?: n_record - field->offset);
                break;
        default:
                put_dynamic(wire, field, record, n_record);
        }
}

static uint64_t symbol_of(uint64_t address, KernelSymbols *symbols) {
        return symbols ? kernel_symbols_use(symbols, address) : address;
}

/* For the steps before STEP_CHARS. */
static inline uint64_t
plain_value(const FieldEncoder *field, const uint8_t *at, KernelSymbols *symbols) {
        switch (field->step) {
        case STEP_UNSIGNED_8:
                return *at;
        case STEP_UNSIGNED_16:
                return load_u16(at);
        case STEP_UNSIGNED_32:
                return load_u32(at);
        case STEP_UNSIGNED_64:
        case STEP_SIGNED_64:
                return load_u64(at);
        case STEP_SIGNED_8:
                return (uint64_t)(int8_t)*at;
        case STEP_SIGNED_16:
                return (uint64_t)(int16_t)load_u16(at);
        case STEP_SIGNED_32:
                return (uint64_t)(int32_t)load_u32(at);
        case STEP_DEVICE:
                return load_device(at);
        default:
                return symbol_of(array_load(at, field->size), symbols);
        }
}

static inline uint8_t *plain_put_tag(uint8_t *to, const uint8_t *tag, size_t n_tag) {
        memcpy(to, tag, FIELD_TAG_MAX); /* all of it, because that is a single store */
        return to + n_tag;
}

static uint8_t *
plain_put_text(uint8_t *to, const FieldEncoder *field, const uint8_t *text, size_t n_max) {
        size_t n = strnlen((const char *)text, n_max);

        to = plain_put_tag(to, field->tag, field->n_tag);
        to = wire_encode_varint(to, n);
        return mempcpy(to, text, n);
}

static uint8_t *
plain_put_texts(uint8_t *to, const FieldEncoder *field, const uint8_t *record, uint32_t n_record) {
        uint32_t offset = field->offset, n_bytes = field->size;

        if (field->step == STEP_TAIL)
                n_bytes = n_record - offset;
        else if (field->step == STEP_LOCATION &&
                 !locate(field, record, n_record, &offset, &n_bytes))
                return to;
        return plain_put_text(to, field, record + offset, n_bytes);
}

/* Writes the length of a message before it. If that takes more than one byte, the message is moved up. */
static inline uint8_t *plain_end(uint8_t *body, uint8_t *end) {
        size_t n = (size_t)(end - body), n_more;

        if (LIKELY(n < 0x80)) {
                body[-1] = (uint8_t)n;
                return end;
        }
        n_more = wire_varint_size(n) - 1;
        memmove(body + n_more, body, n);
        wire_encode_varint(body - 1, n);
        return end + n_more;
}

static uint8_t *plain_put(uint8_t *to,
                          const EventEncoder *encoder,
                          uint64_t timestamp,
                          const uint8_t *record,
                          uint32_t n_record,
                          KernelSymbols *symbols) {
        const FieldEncoder *field = encoder->fields, *end = field + encoder->n_fields;
        uint8_t *event, *body;

        *to++ = BUNDLE_EVENT << 3 | WIRE_BYTES;
        event = ++to;
        *to++ = EVENT_TIMESTAMP << 3 | WIRE_VARINT;
        to = wire_encode_varint(to, timestamp);
        *to++ = EVENT_PID << 3 | WIRE_VARINT;
        to = wire_encode_varint(to, load_u32(record + RECORD_PID_OFFSET));
        to = plain_put_tag(to, encoder->tag, encoder->n_tag);
        body = ++to;
        if (encoder->constant)
                to = mempcpy(to, encoder->constant, encoder->n_constant);
        for (; field < end; field++) {
                if (UNLIKELY(field->step >= STEP_CHARS)) {
                        to = plain_put_texts(to, field, record, n_record);
                        continue;
                }
                to = plain_put_tag(to, field->tag, field->n_tag);
                to = wire_encode_varint(to, plain_value(field, record + field->offset, symbols));
        }
        return plain_end(event, plain_end(body, to));
}

/* The slow path, for events that are not plain. */
static void put_event(const EventEncoder *encoder,
                      WireWriter *wire,
                      uint64_t timestamp,
                      const uint8_t *record,
                      uint32_t n_record,
                      KernelSymbols *symbols) {
        size_t event, body;

        event = wire_begin(wire, BUNDLE_EVENT);
        wire_put_uint(wire, EVENT_TIMESTAMP, timestamp);
        wire_put_uint(wire, EVENT_PID, load_u32(record + RECORD_PID_OFFSET));
        body = wire_begin(wire, encoder->number);
        if (encoder->constant)
                wire_put_raw(wire, encoder->constant, encoder->n_constant);
        for (size_t i = 0; i < encoder->n_fields; i++)
                put_field(wire, encoder, &encoder->fields[i], record, n_record, symbols);
        wire_end(wire, body);
        wire_end(wire, event);
}

bool event_encode(const EventEncoder *encoder,
                  WireWriter *wire,
                  uint64_t timestamp,
                  const uint8_t *record,
                  uint32_t n_record,
                  KernelSymbols *symbols) {
        uint64_t n_room;

        if (n_record < encoder->n_bytes_min)
                return false;
        /* Readers have a fast path for this order: timestamp, pid (0 is the idle task and must be written), event. */
        n_room = encoder->n_room + (uint64_t)encoder->n_texts * n_record;
        if (UNLIKELY(!encoder->is_plain || n_room > PLAIN_BYTES_MAX))
                put_event(encoder, wire, timestamp, record, n_record, symbols);
        else if (wire_reserve(wire, n_room))
                wire->at = plain_put(wire->at, encoder, timestamp, record, n_record, symbols);
        return true;
}
