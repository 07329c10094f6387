/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Input record: one report or read from the kernel's ring
 *
 * It is copied out of the ring's page, by the offsets in the events' formats, and never from beyond the record,
 * whatever the bytes say.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/ftrace/event-format.h"
#include "probes/ftrace/page.h"
#include "probes/input/input-events.h"
#include "probes/input/input-pairing.h"

typedef struct InputRecord {
        uint64_t at_ns;
        pid_t tid;
        unsigned event;                    /* INPUT_EVENT_… */
        char handler[INPUT_HANDLER_BYTES]; /* "event3" */
        char name[INPUT_NAME_BYTES];       /* of a report's device */
        uint64_t n;                        /* values in a report, or bytes in a read */
} InputRecord;

/* Where the fields of the events are. */
typedef struct InputLayout {
        uint16_t ids[INPUT_EVENTS_N];
        EventField handler, device, count; /* of a report */
        EventField rdev, bytes;            /* of a read */
} InputLayout;

/* From the event's format. Returns 0, or -EBADMSG when its fields are not those that were defined. */
int input_layout_set(InputLayout *layout, unsigned event, const EventFormat *format);

/* Returns false for a record of another event, a read that got nothing, and a record that is cut off. */
bool input_record_decode(InputRecord *ret, const InputLayout *layout, const PageRecord *record);
