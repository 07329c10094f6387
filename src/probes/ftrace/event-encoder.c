/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event encoder: turns a tracepoint's record into a perfetto.protos.FtraceEvent */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/event-encoder.h"
#include "probes/ftrace/event-table.h"

enum {
        GENERIC_FIELD_ID = 1,
        GENERIC_EVENT_DESCRIPTOR = 2,
        GENERIC_GROUP_NAME = 3,
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_FIELD = 2,
        FIELD_NAME = 1,
        FIELD_NUMBER = 3,
        FIELD_TYPE = 5,
        TYPE_INT64 = 3,
        TYPE_UINT64 = 4,
        TYPE_STRING = 9,
        KPROBE_NAME = 1,
        KPROBE_TYPE = 2,
};

#define EVENT_PRINT  3u   /* FtraceEvent.print */
#define EVENT_KPROBE 542u /* FtraceEvent.kprobe_event */

/* FieldDescriptorProto.Type of a field of a generic event. */
static uint32_t field_type(const FieldEncoder *field) {
        if (field->style == FIELD_AS_TEXT || field_kind_is_text(field->kind))
                return TYPE_STRING;
        return field->kind == FIELD_SIGNED ? TYPE_INT64 : TYPE_UINT64;
}

/* Whether a field of the kernel can be written as the type that the message has for it. */
static bool field_fits(const EventField *field, const char *suffix) {
        if (streq(suffix, "$"))
                return field_kind_is_text(field->kind) || field->kind == FIELD_POINTER;
        if (streq(suffix, "[]"))
                return field_kind_is_array(field->kind);
        return field_kind_is_number(field->kind);
}

/* Pointers in syscalls/ lead to user space, about which nothing is known. */
static FieldStyle
field_style(const EventFormat *format, const EventField *field, const char *suffix) {
        if (streq(suffix, "&"))
                return FIELD_AS_SYMBOL;
        if (field->kind == FIELD_POINTER)
                return streq(suffix, "$") ||
                                       (streq(suffix, "?") && !streq(format->group, "syscalls"))
                               ? FIELD_AS_TEXT
                               : FIELD_AS_IS;
        return field_kind_is_array(field->kind) && streq(suffix, "?") ? FIELD_AS_TEXT : FIELD_AS_IS;
}

/* The number of a field, and how it is written: as in the event table, or "?" for generic events. */
static uint32_t
field_number(const EventSpec *spec, const EventField *field, size_t i, const char **ret_suffix) {
        uint32_t number;

        *ret_suffix = "?";
        if (!spec)
                return i < EVENT_GENERIC_FIELDS_MAX ? (uint32_t)i + 1 : 0;
        number = event_spec_field(spec, field->name, ret_suffix);
        return number > 0 && field_fits(field, *ret_suffix) ? number : 0;
}

static uint8_t tag_encode(uint8_t *to, uint32_t number, unsigned type) {
        return (uint8_t)(wire_encode_varint(to, (uint64_t)number << 3 | type) - to);
}

/* Indexed by the size of an integer, which is 1, 2, 4 or 8. */
static FieldStep integer_step(FieldStep first, size_t size) {
        return first + (size == 1 ? 0u : size == 2 ? 1u : size == 4 ? 2u : 3u);
}

static FieldStep field_step(const FieldEncoder *field) {
        switch (field->kind) {
        case FIELD_UNSIGNED:
        case FIELD_POINTER:
                if (field->style == FIELD_AS_TEXT)
                        return STEP_SLOW;
                return integer_step(field->style == FIELD_AS_SYMBOL ? STEP_SYMBOL_8
                                                                    : STEP_UNSIGNED_8,
                                    field->size);
        case FIELD_SIGNED:
                return integer_step(STEP_SIGNED_8, field->size);
        case FIELD_DEVICE:
                return STEP_DEVICE;
        case FIELD_CHARS:
                return STEP_CHARS;
        case FIELD_TAIL:
                return STEP_TAIL;
        case FIELD_LOC_STRING:
        case FIELD_REL_STRING:
                return STEP_LOCATION;
        default:
                return STEP_SLOW;
        }
}

/* The most bytes that a field can take, except for a text that may be anywhere in the record. */
static uint32_t field_room(const FieldEncoder *field) {
        return FIELD_TAG_MAX + WIRE_VARINT_MAX + (field->step == STEP_CHARS ? field->size : 0u);
}

static void encoder_add_field(EventEncoder *encoder,
                              const EventField *field,
                              uint32_t number,
                              FieldStyle style) {
        FieldEncoder *to = &encoder->fields[encoder->n_fields++];

        *to = (FieldEncoder){
                .number = number,
                .offset = (uint16_t)field->offset,
                .size = (uint16_t)field->size,
                .kind = field->kind,
                .style = style,
                .element_size = field->element_size,
                .is_signed = field->is_signed,
                .is_mask = field->is_mask,
        };
        to->step = field_step(to);
        to->n_tag = tag_encode(to->tag, number, to->step < STEP_CHARS ? WIRE_VARINT : WIRE_BYTES);
        encoder->n_room += field_room(to);
        encoder->n_texts += to->step == STEP_TAIL || to->step == STEP_LOCATION;
        encoder->is_plain = encoder->is_plain && to->step != STEP_SLOW;
}

static void
encoder_add_fields(EventEncoder *encoder, const EventFormat *format, const EventSpec *spec) {
        for (size_t i = 0; i < format->n_fields; i++) {
                const EventField *field = &format->fields[i];
                const char *suffix;
                uint32_t number = field_number(spec, field, i, &suffix);

                encoder->n_bytes_min = MAX(encoder->n_bytes_min, field->offset + field->size);
                if (field->is_pid && encoder->n_pids < EVENT_PIDS_MAX)
                        encoder->pid_offsets[encoder->n_pids++] = (uint16_t)field->offset;
                if (number > 0 && !encoder->constant)
                        encoder_add_field(
                                encoder, field, number, field_style(format, field, suffix));
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
                wire_put_uint(wire, FIELD_TYPE, field_type(&encoder->fields[i]));
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

/* A kprobe_event says which probe it is, and has nothing of the record. */
static int encoder_set_slice(EventEncoder *encoder, const EncoderOptions *options) {
        WireWriter wire;

        wire_writer_init(&wire, NULL, 0);
        wire.grow = grow_descriptor;
        wire_put_string(&wire, KPROBE_NAME, options->slice_name);
        wire_put_uint(&wire, KPROBE_TYPE, options->slice_type);
        encoder->constant = wire.start;
        encoder->n_constant = wire_writer_size(&wire);
        encoder->number = EVENT_KPROBE;
        encoder->is_generic = false;
        return wire_writer_failed(&wire) ? -ENOMEM : 0;
}

/* Only for an event whose text fills the whole rest of the record. */
static void encoder_set_print_filter(EventEncoder *encoder,
                                     const EventFormat *format,
                                     const PrintFilter *filter) {
        const EventField *text = event_format_find(format, "buf");

        if (!filter || encoder->number != EVENT_PRINT || !text || text->kind != FIELD_TAIL)
                return;
        encoder->print_filter = filter;
        encoder->text_offset = text->offset;
}

/* After these events, the task of the pid has to be looked up again. */
static bool makes_task(const char *event) {
        return streq(event, "task_newtask") || streq(event, "task_rename") ||
               streq(event, "sched_process_exec");
}

int event_encoder_new_with(EventEncoder **ret,
                           const EventFormat *format,
                           const EncoderOptions *options) {
        _cleanup_(event_encoder_freep) EventEncoder *encoder = NULL;
        const EventSpec *spec = event_spec_find(format->group, format->name);
        int r = 0;

        encoder = calloc(1, sizeof(*encoder));
        if (!encoder)
                return -ENOMEM;
        *encoder = (EventEncoder){
                .id = format->id,
                .is_generic = !spec,
                .number = spec ? spec->number : EVENT_GENERIC_BASE + format->id,
                .n_bytes_min = RECORD_COMMON_BYTES,
                .makes_task = makes_task(format->name),
                .strings = options->strings,
                .group = strdup(format->group),
                .name = strdup(format->name),
                .fields = calloc(MAX(format->n_fields, (size_t)1), sizeof(FieldEncoder)),
        };
        if (!encoder->group || !encoder->name || !encoder->fields)
                return -ENOMEM;
        if (options->slice_name)
                r = encoder_set_slice(encoder, options);
        encoder->is_plain = true;
        encoder->n_room = EVENT_HEAD_MAX + (uint32_t)encoder->n_constant;
        encoder->n_tag = tag_encode(encoder->tag, encoder->number, WIRE_BYTES);
        encoder_add_fields(encoder, format, spec);
        encoder_set_print_filter(encoder, format, options->print_filter);
        if (r == 0 && encoder->is_generic)
                r = encoder_describe(encoder, format);
        if (r < 0)
                return r;
        *ret = TAKE(encoder);
        return 0;
}

EventEncoder *event_encoder_free(EventEncoder *encoder) {
        if (!encoder)
                return NULL;
        free(encoder->descriptor);
        free(encoder->constant);
        free(encoder->fields);
        free(encoder->group);
        free(encoder->name);
        free(encoder);
        return NULL;
}
