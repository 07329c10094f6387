/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event set: the encoders of the events that one instance records, by the kernel's event id
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/compact-sched.h"
#include "probes/ftrace/event-encoder.h"

typedef struct EventSet {
        EventEncoder **by_id;
        size_t n_ids;
        size_t n_events;
        CompactLayout compact;
} EventSet;

void event_set_deinit(EventSet *set);

/* The same event may be added again. With `compact`, sched_switch and sched_waking go into columns if the kernel has
 * them in the expected form. Returns 0 or -ENOMEM. */
int event_set_add_with(EventSet *set,
                       const EventFormat *format,
                       bool compact,
                       const EncoderOptions *options);

static inline int event_set_add(EventSet *set, const EventFormat *format, bool compact) {
        return event_set_add_with(set, format, compact, &(EncoderOptions){});
}

static inline const EventEncoder *event_set_find(const EventSet *set, uint16_t id) {
        return id < set->n_ids ? set->by_id[id] : NULL;
}
