/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point record: one hit of a probe, from the kernel's ring
 *
 * All probes of a recording have the same fields, whatever they record, because the kernel switches off one event with
 * many probes much faster than many events. A hit is copied out of the ring's page, by the offsets in the events'
 * formats, and never from beyond the record, whatever the bytes say.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/ftrace/event-format.h"
#include "probes/ftrace/page.h"
#include "probes/points/point.h"

typedef enum PointRecordKind {
        POINT_RECORD_ENTRY, /* of a function */
        POINT_RECORD_RETURN,
        POINT_RECORD_WAIT, /* a thread begins to wait in poll() or its kin */
        POINT_RECORD_WAKE, /* it resumes */
} PointRecordKind;

typedef struct PointRecord {
        uint64_t at_ns;
        pid_t tid;
        PointRecordKind kind;
        uint32_t site;  /* which probe */
        uint64_t stack; /* the stack pointer */
        uint64_t numbers[POINT_NUMBERS_MAX];
        char text[POINT_TEXT_BYTES]; /* "" if the record has no text, or it could not be read */
} PointRecord;

/* Where the fields are, which is the same for all events of a kind. */
typedef struct PointLayout {
        uint32_t site, stack;
        uint32_t numbers[POINT_NUMBERS_MAX];
        uint32_t text;
        bool has_numbers; /* the events of returns have none */
} PointLayout;

/* The names of the arguments in a definition: "id=\3:u32 sp=%sp:u64 …". */
#define POINT_FIELD_SITE  "site"
#define POINT_FIELD_STACK "stack"
#define POINT_FIELD_TEXT  "text"

/* From an event's format. Returns 0, or -EBADMSG when its fields are not those that were defined. */
int point_layout_init(PointLayout *ret, const EventFormat *format, bool is_return);

/* For entries, returns and waits; of the latter only the thread counts. Returns false for a record that is cut off. */
bool point_record_decode(PointRecord *ret, const PointLayout *layout, const PageRecord *record);
bool point_record_decode_wait(PointRecord *ret, PointRecordKind kind, const PageRecord *record);

/* A number of a record, in the argument's type. */
int64_t point_number(const PointRecord *record, const PointArgument *argument);

/* Whether the point means this hit. */
bool point_matches(const Point *point, const PointRecord *record);
