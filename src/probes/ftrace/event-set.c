/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event set: the encoders of the events that one instance records, by the kernel's event id */

#include <errno.h>
#include <stdlib.h>

#include "probes/ftrace/event-set.h"

void event_set_deinit(EventSet *set) {
        for (size_t i = 0; i < set->n_ids; i++)
                event_encoder_free(set->by_id[i]);
        free(set->by_id);
        *set = (EventSet){};
}

static int set_reserve(EventSet *set, uint16_t id) {
        size_t n = (size_t)id + 1;
        EventEncoder **by_id;

        if (n <= set->n_ids)
                return 0;
        n = ALIGN_UP(n, 256);
        by_id = reallocarray(set->by_id, n, sizeof(*by_id));
        if (!by_id)
                return -ENOMEM;
        for (size_t i = set->n_ids; i < n; i++)
                by_id[i] = NULL;
        set->by_id = by_id;
        set->n_ids = n;
        return 0;
}

int event_set_add_with(EventSet *set,
                       const EventFormat *format,
                       bool compact,
                       const EncoderOptions *options) {
        int r;

        r = set_reserve(set, format->id);
        if (r < 0)
                return r;
        if (set->by_id[format->id])
                return 0;
        r = event_encoder_new_with(&set->by_id[format->id], format, options);
        if (r < 0)
                return r;
        set->n_events++;
        if (compact && streq(format->group, "sched") && streq(format->name, "sched_switch"))
                compact_layout_set_switch(&set->compact, format);
        if (compact && streq(format->group, "sched") && streq(format->name, "sched_waking"))
                compact_layout_set_waking(&set->compact, format);
        return 0;
}
