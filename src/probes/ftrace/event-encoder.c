/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "probes/ftrace/event-encoder.h"
#include "probes/ftrace/event-table.h"

enum {
        BUNDLE_EVENT = 2,
        EVENT_TIMESTAMP = 1,
        EVENT_PID = 2,
        GENERIC_FIELD_ID = 1,
        GENERIC_EVENT_DESCRIPTOR = 2,
        GENERIC_GROUP_NAME = 3,
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_FIELD = 2,
        FIELD_NAME = 1,
        FIELD_NUMBER = 3,
        FIELD_TYPE = 5,
};

/* FieldDescriptorProto.Type, for the kinds of fields of generic events. */
static const uint8_t field_types[_FIELD_KIND_N] = {
        [FIELD_UNSIGNED] = 4 /* uint64 */,   [FIELD_SIGNED] = 3 /* int64 */,
        [FIELD_DEVICE] = 4 /* uint64 */,     [FIELD_CHARS] = 9 /* string */,
        [FIELD_TAIL] = 9 /* string */,       [FIELD_LOC_STRING] = 9 /* string */,
        [FIELD_REL_STRING] = 9 /* string */, [FIELD_LOC_BYTES] = 12 /* bytes */,
        [FIELD_REL_BYTES] = 12 /* bytes */,  [FIELD_BYTES] = 12 /* bytes */,
        [FIELD_WORDS] = 12 /* bytes */,
};

/* What a kernel's field may be written as: its kind, by the message's type of it. */
static bool field_fits(const EventField *field, const char *suffix) {
        if (streq(suffix, "$"))
                return field_kind_is_text(field->kind);
        if (streq(suffix, "[]"))
                return field->kind == FIELD_WORDS;
        return field_kind_is_number(field->kind);
}

static uint32_t field_number(const EventSpec *spec, const EventField *field, size_t i) {
        const char *suffix;
        uint32_t number;

        if (!spec)
                return i < EVENT_GENERIC_FIELDS_MAX ? (uint32_t)i + 1 : 0;
        number = event_spec_field(spec, field->name, &suffix);
        return number > 0 && field_fits(field, suffix) ? number : 0;
}

static void encoder_add_field(EventEncoder *encoder, const EventField *field, uint32_t number) {
        encoder->fields[encoder->n_fields++] = (FieldEncoder){
                .number = number,
                .offset = (uint16_t)field->offset,
                .size = (uint16_t)field->size,
                .kind = field->kind,
                .is_address = field->is_address && !encoder->is_generic,
        };
}

static void
encoder_add_fields(EventEncoder *encoder, const EventFormat *format, const EventSpec *spec) {
        for (size_t i = 0; i < format->n_fields; i++) {
                const EventField *field = &format->fields[i];
                uint32_t number = field_number(spec, field, i);

                encoder->n_bytes_min = MAX(encoder->n_bytes_min, field->offset + field->size);
                if (field->is_pid && encoder->n_pids < EVENT_PIDS_MAX)
                        encoder->pid_offsets[encoder->n_pids++] = (uint16_t)field->offset;
                if (number > 0)
                        encoder_add_field(encoder, field, number);
        }
}

static int grow_descriptor(WireWriter *wire, size_t n_more) {
        size_t n_used = wire_writer_size(wire), n = (n_used + n_more) * 2;
        uint8_t *memory;

        memory = realloc(wire->start, n);
        if (!memory)
                return -ENOMEM;
        wire->start = memory;
        wire->at = memory + n_used;
        wire->end = memory + n;
        return 0;
}

static void
encode_descriptor(WireWriter *wire, const EventEncoder *encoder, const EventFormat *format) {
        size_t begin, field;

        wire_put_uint(wire, GENERIC_FIELD_ID, encoder->number);
        begin = wire_begin(wire, GENERIC_EVENT_DESCRIPTOR);
        wire_put_string(wire, DESCRIPTOR_NAME, encoder->name);
        for (size_t i = 0; i < encoder->n_fields; i++) {
                field = wire_begin(wire, DESCRIPTOR_FIELD);
                wire_put_string(wire, FIELD_NAME, format->fields[i].name);
                wire_put_uint(wire, FIELD_NUMBER, encoder->fields[i].number);
                wire_put_uint(wire, FIELD_TYPE, field_types[encoder->fields[i].kind]);
                wire_end(wire, field);
        }
        wire_end(wire, begin);
        wire_put_string(wire, GENERIC_GROUP_NAME, encoder->group);
}

static int encoder_describe(EventEncoder *encoder, const EventFormat *format) {
        WireWriter wire;

        wire_writer_init(&wire, NULL, 0);
        wire.grow = grow_descriptor;
        encode_descriptor(&wire, encoder, format);
        encoder->descriptor = wire.start;
        encoder->n_descriptor = wire_writer_size(&wire);
        return wire_writer_failed(&wire) ? -ENOMEM : 0;
}

int event_encoder_new(EventEncoder **ret, const EventFormat *format) {
        _cleanup_(event_encoder_freep) EventEncoder *encoder = NULL;
        const EventSpec *spec = event_spec_find(format->group, format->name);
        int r;

        encoder = calloc(1, sizeof(*encoder));
        if (!encoder)
                return -ENOMEM;
        *encoder = (EventEncoder){
                .id = format->id,
                .is_generic = !spec,
                .number = spec ? spec->number : EVENT_GENERIC_BASE + format->id,
                .n_bytes_min = RECORD_COMMON_BYTES,
                .makes_task = streq(format->name, "task_newtask"),
                .group = strdup(format->group),
                .name = strdup(format->name),
                .fields = calloc(MAX(format->n_fields, (size_t)1), sizeof(FieldEncoder)),
        };
        if (!encoder->group || !encoder->name || !encoder->fields)
                return -ENOMEM;
        encoder_add_fields(encoder, format, spec);
        if (encoder->is_generic) {
                r = encoder_describe(encoder, format);
                if (r < 0)
                        return r;
        }
        *ret = TAKE(encoder);
        return 0;
}

EventEncoder *event_encoder_free(EventEncoder *encoder) {
        if (!encoder)
                return NULL;
        free(encoder->descriptor);
        free(encoder->fields);
        free(encoder->group);
        free(encoder->name);
        free(encoder);
        return NULL;
}

static uint64_t load_unsigned(const uint8_t *at, uint16_t size) {
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;

        switch (size) {
        case 1:
                return *at;
        case 2:
                memcpy(&u16, at, sizeof(u16));
                return u16;
        case 4:
                memcpy(&u32, at, sizeof(u32));
                return u32;
        default:
                memcpy(&u64, at, sizeof(u64));
                return u64;
        }
}

static int64_t load_signed(const uint8_t *at, uint16_t size) {
        uint64_t value = load_unsigned(at, size);
        unsigned n_unused = 64 - 8 * size;

        return (int64_t)(value << n_unused) >> n_unused;
}

/* The kernel's dev_t has 12 bits of major above 20 of minor; user space's is mixed. */
static uint64_t load_device(const uint8_t *at) {
        uint32_t device = (uint32_t)load_unsigned(at, 4);

        return makedev(device >> 20, device & ((1u << 20) - 1));
}

static void put_text(WireWriter *wire, uint32_t number, const uint8_t *text, size_t n_max) {
        wire_put_bytes(wire, number, text, strnlen((const char *)text, n_max));
}

/* __data_loc and __rel_loc: a word of 16 bits offset below 16 bits length. A length that goes past the
 * record is cut. */
static void
put_dynamic(WireWriter *wire, const FieldEncoder *field, const uint8_t *record, uint32_t n_record) {
        uint32_t word = (uint32_t)load_unsigned(record + field->offset, 4);
        uint32_t offset = word & 0xffff, n_bytes = word >> 16;

        if (field->kind == FIELD_REL_STRING || field->kind == FIELD_REL_BYTES)
                offset += field->offset + field->size;
        if (offset > n_record)
                return;
        n_bytes = MIN(n_bytes, n_record - offset);
        if (field_kind_is_text(field->kind))
                put_text(wire, field->number, record + offset, n_bytes);
        else
                wire_put_bytes(wire, field->number, record + offset, n_bytes);
}

static void put_words(WireWriter *wire, const FieldEncoder *field, const uint8_t *at) {
        for (uint16_t i = 0; i + sizeof(long) <= field->size; i += sizeof(long))
                wire_put_uint(wire, field->number, load_unsigned(at + i, sizeof(long)));
}

static void put_field(WireWriter *wire,
                      const EventEncoder *encoder,
                      const FieldEncoder *field,
                      const uint8_t *record,
                      uint32_t n_record,
                      KernelSymbols *symbols) {
        const uint8_t *at = record + field->offset;
        uint64_t value;

        switch (field->kind) {
        case FIELD_UNSIGNED:
                value = load_unsigned(at, field->size);
                if (symbols && field->is_address)
                        value = kernel_symbols_use(symbols, value);
                wire_put_uint(wire, field->number, value);
                break;
        case FIELD_SIGNED:
                wire_put_int(wire, field->number, load_signed(at, field->size));
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
        case FIELD_WORDS:
                if (!encoder->is_generic) {
                        put_words(wire, field, at);
                        break;
                }
                __attribute__((__fallthrough__));
        case FIELD_BYTES:
                wire_put_bytes(wire, field->number, at, field->size);
                break;
        default:
                put_dynamic(wire, field, record, n_record);
        }
}

bool event_encode(const EventEncoder *encoder,
                  WireWriter *wire,
                  uint64_t timestamp,
                  const uint8_t *record,
                  uint32_t n_record,
                  KernelSymbols *symbols) {
        size_t event, body;

        if (n_record < encoder->n_bytes_min)
                return false;
        /* Readers have a fast path for this order: timestamp, pid (0 is the idle task and must be
         * said), event. */
        event = wire_begin(wire, BUNDLE_EVENT);
        wire_put_uint(wire, EVENT_TIMESTAMP, timestamp);
        wire_put_uint(wire, EVENT_PID, load_unsigned(record + RECORD_PID_OFFSET, 4));
        body = wire_begin(wire, encoder->number);
        for (size_t i = 0; i < encoder->n_fields; i++)
                put_field(wire, encoder, &encoder->fields[i], record, n_record, symbols);
        wire_end(wire, body);
        wire_end(wire, event);
        return true;
}
