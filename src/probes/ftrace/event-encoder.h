/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event encoder: from a tracepoint's record to a perfetto.protos.FtraceEvent
 *
 * Compiled once for each enabled event, from the running kernel's format and, when there is one, the row
 * of the event table. An event without a row is generic: its message has the kernel's id + 65536 as field
 * number, its fields are numbered in the kernel's order, and a descriptor of it goes with each bundle
 * in which it occurs, so that a reader needs nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/event-format.h"
#include "probes/ftrace/kernel-strings.h"
#include "probes/ftrace/kernel-symbols.h"
#include "probes/ftrace/print-filter.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

/* Numbers of generic events. Kernel ids are 16 bits and the same for all tracefs instances, so no two
 * events of a trace share one. */
#define EVENT_GENERIC_BASE       65536u
#define EVENT_GENERIC_FIELDS_MAX 31 /* readers refuse descriptors with field numbers from 32 on */
#define EVENT_HEAD_MAX           64 /* bytes before the fields, with room for the lengths to grow */
#define EVENT_PIDS_MAX           4  /* pid_t fields of one event that are looked at */

/* What an event is written as, if not as the event table says. A zeroed one is the default. Pointers must outlive the
 * encoder, but for the name. */
typedef struct EncoderOptions {
        const KernelStrings *strings;    /* texts that records point to; or NULL */
        const PrintFilter *print_filter; /* of ftrace/print; or NULL */
        const char
                *slice_name; /* kprobe_event of this name, without the record's fields; or NULL */
        unsigned slice_type; /* perfetto.protos.KprobeEvent.KprobeType */
} EncoderOptions;

typedef enum FieldStyle {
        FIELD_AS_IS,
        FIELD_AS_SYMBOL, /* the address of a function: a number of KernelSymbols, if it has one */
        FIELD_AS_TEXT,   /* an array, or the address of a text */
} FieldStyle;

#define FIELD_TAG_MAX 4 /* bytes; the largest numbers are those of generic events */

/* How a field is written when there is room for all of the event. Integers are by their bits. */
typedef enum FieldStep {
        STEP_UNSIGNED_8,
        STEP_UNSIGNED_16,
        STEP_UNSIGNED_32,
        STEP_UNSIGNED_64,
        STEP_SIGNED_8,
        STEP_SIGNED_16,
        STEP_SIGNED_32,
        STEP_SIGNED_64,
        STEP_SYMBOL_8, /* the address of a function */
        STEP_SYMBOL_16,
        STEP_SYMBOL_32,
        STEP_SYMBOL_64,
        STEP_DEVICE,
        STEP_CHARS, /* from here on texts */
        STEP_TAIL,
        STEP_LOCATION, /* of a text elsewhere in the record */
        STEP_SLOW,     /* nobody knows how long it becomes: it asks for room itself */
} FieldStep;

typedef struct FieldEncoder {
        FieldStep step;
        uint8_t tag[FIELD_TAG_MAX]; /* encoded */
        uint8_t n_tag;
        uint32_t number;
        uint16_t offset, size;
        FieldKind kind;
        FieldStyle style;
        uint8_t element_size;
        bool is_signed, is_mask;
} FieldEncoder;

typedef struct EventEncoder {
        char *group, *name;
        uint16_t id;
        bool is_generic;
        uint32_t number;      /* field of FtraceEvent */
        uint32_t n_bytes_min; /* a shorter record is not this event */
        FieldEncoder *fields;
        size_t n_fields;

        /* A plain event reserves room once: these bytes, and those of the record for each text in it. */
        bool is_plain;
        uint8_t tag[FIELD_TAG_MAX]; /* of the event's message */
        uint8_t n_tag;
        uint32_t n_room, n_texts;

        uint16_t pid_offsets[EVENT_PIDS_MAX];
        size_t n_pids;
        bool makes_task; /* its pids are of new tasks, or of tasks with a new name */
        const KernelStrings *strings;
        const PrintFilter *print_filter;
        uint32_t text_offset; /* of the print_filter's text */

        /* The same for each record, before the fields; or NULL. */
        uint8_t *constant;
        size_t n_constant;

        /* Generic only: encoded FtraceEventBundle.GenericEventDescriptor. */
        uint8_t *descriptor;
        size_t n_descriptor;
} EventEncoder;

/* 0, -ENOMEM. */
int event_encoder_new_with(EventEncoder **ret,
                           const EventFormat *format,
                           const EncoderOptions *options);

static inline int event_encoder_new(EventEncoder **ret, const EventFormat *format) {
        return event_encoder_new_with(ret, format, &(EncoderOptions){});
}

EventEncoder *event_encoder_free(EventEncoder *encoder);
DEFINE_CLEANUP(EventEncoder *, event_encoder_free)

/* Appends FtraceEventBundle.event. False when the record is too short to be this event. With `symbols`, addresses of
 * functions are written as numbers of those. */
bool event_encode(const EventEncoder *encoder,
                  WireWriter *wire,
                  uint64_t timestamp,
                  const uint8_t *record,
                  uint32_t n_record,
                  KernelSymbols *symbols);

/* Whether the config leaves this record out, which must be as long as event_encode() wants it. */
static inline bool
event_is_filtered(const EventEncoder *encoder, const uint8_t *record, uint32_t n_record) {
        return UNLIKELY(encoder->print_filter) && n_record >= encoder->text_offset &&
               !print_filter_allows(encoder->print_filter,
                                    record + encoder->text_offset,
                                    n_record - encoder->text_offset);
}
