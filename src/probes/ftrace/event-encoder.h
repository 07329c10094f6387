/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event encoder: turns a tracepoint's record into a perfetto.protos.FtraceEvent
 *
 * It is compiled once for each enabled event, from the running kernel's format and the event's row in the event table.
 * An event without a row is generic. Its message has the kernel's id + 65536 as its field number, its fields are
 * numbered in the kernel's order, and each bundle in which it occurs carries a descriptor of it, so a reader needs
 * nothing else.
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

/* Numbers of generic events. Kernel ids have 16 bits and are the same in all tracefs instances, so no two events of
 * a trace share a number. */
#define EVENT_GENERIC_BASE       65536u
#define EVENT_GENERIC_FIELDS_MAX 31 /* readers refuse descriptors with field numbers from 32 on */
#define EVENT_HEAD_MAX           64 /* bytes before the fields, with room for the lengths to grow */
#define EVENT_PIDS_MAX           4  /* pid_t fields of one event that we look at */

/* How an event is written, if not as the event table says. A zeroed one is the default. All pointers but the name's
 * must outlive the encoder. */
typedef struct EncoderOptions {
        const KernelStrings *strings;    /* the texts that records point to; or NULL */
        const PrintFilter *print_filter; /* of ftrace/print; or NULL */
        const char *slice_name; /* writes a kprobe_event of this name, without fields; or NULL */
        unsigned slice_type;    /* perfetto.protos.KprobeEvent.KprobeType */
} EncoderOptions;

typedef enum FieldStyle {
        FIELD_AS_IS,
        FIELD_AS_SYMBOL, /* the address of a function: a number of KernelSymbols, if it has one */
        FIELD_AS_TEXT,   /* an array, or the address of a text */
} FieldStyle;

#define FIELD_TAG_MAX 4 /* bytes; the numbers of generic events are the largest */

/* How to write a field when there is room for the whole event. Integers are named by their bits. */
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
        STEP_CHARS, /* texts from here on */
        STEP_TAIL,
        STEP_LOCATION, /* of a text elsewhere in the record */
        STEP_SLOW,     /* of unknown length: this step asks for room itself */
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

        /* A plain event reserves room once: this many bytes, plus those of the record for each of its texts. */
        bool is_plain;
        uint8_t tag[FIELD_TAG_MAX]; /* of the event's message */
        uint8_t n_tag;
        uint32_t n_room, n_texts;

        uint16_t pid_offsets[EVENT_PIDS_MAX];
        size_t n_pids;
        bool makes_task; /* its pids belong to new tasks, or to tasks with a new name */
        const KernelStrings *strings;
        const PrintFilter *print_filter;
        uint32_t text_offset; /* of the print_filter's text */

        /* What is the same for each record, and comes before the fields; or NULL. */
        uint8_t *constant;
        size_t n_constant;

        /* For generic events: the encoded FtraceEventBundle.GenericEventDescriptor. */
        uint8_t *descriptor;
        size_t n_descriptor;
} EventEncoder;

/* Returns 0 or -ENOMEM. */
int event_encoder_new_with(EventEncoder **ret,
                           const EventFormat *format,
                           const EncoderOptions *options);

static inline int event_encoder_new(EventEncoder **ret, const EventFormat *format) {
        return event_encoder_new_with(ret, format, &(EncoderOptions){});
}

EventEncoder *event_encoder_free(EventEncoder *encoder);
DEFINE_CLEANUP(EventEncoder *, event_encoder_free)

/* Appends FtraceEventBundle.event. Returns false when the record is too short to be this event. With `symbols`,
 * addresses of functions are written as those symbols' numbers. */
bool event_encode(const EventEncoder *encoder,
                  WireWriter *wire,
                  uint64_t timestamp,
                  const uint8_t *record,
                  uint32_t n_record,
                  KernelSymbols *symbols);

/* Whether the config leaves out this record, which must be as long as event_encode() wants it. */
static inline bool
event_is_filtered(const EventEncoder *encoder, const uint8_t *record, uint32_t n_record) {
        return UNLIKELY(encoder->print_filter) && n_record >= encoder->text_offset &&
               !print_filter_allows(encoder->print_filter,
                                    record + encoder->text_offset,
                                    n_record - encoder->text_offset);
}
