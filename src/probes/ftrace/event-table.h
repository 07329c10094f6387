/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event table: the tracepoints that have a message of their own in perfetto.protos.FtraceEvent
 *
 * Readers of traces draw these; all others are written self-describing (event-encoder.h). To know one
 * more event, add its row.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct EventSpec {
        const char *group, *name;
        uint32_t number; /* field of FtraceEvent */
        /* The message's fields by name, in the order of their numbers from 1; "-" where a number is not in use.
         * Behind a name, "$" means a string and "[]" a repeated field. All others are integers, of which "&" marks
         * the address of a function, whose name readers look up in InternedData.kernel_symbols. */
        const char *fields;
} EventSpec;

extern const EventSpec event_specs[];
extern const size_t n_event_specs;

/* Returns NULL when the event has no message of its own. */
const EventSpec *event_spec_find(const char *group, const char *name);

/* How a field of the message is written: `ret_suffix` is set to "", "$", "[]" or "&". Returns the field's number, or
 * 0 if the message has no field of that name. */
uint32_t event_spec_field(const EventSpec *spec, const char *name, const char **ret_suffix);
