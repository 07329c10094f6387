/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time of this turn of the main loop, and when counters are signalled next. */

#include "bus/link/bus.h"

uint64_t bus_now(Bus *bus) {
        uint64_t usec;

        if (sd_event_now(bus->event, CLOCK_BOOTTIME, &usec) < 0)
                return 0; /* only after a fork, which never happens */
        return usec * 1000;
}

void bus_signals_due(Bus *bus) {
        if (bus->counters_due_at == UINT64_MAX)
                bus->counters_due_at =
                        MAX(bus_now(bus), bus->counters_sent_at + BUS_COUNTERS_INTERVAL_NS);
}

void bus_counters_changed(Bus *bus) {
        if (!list_is_empty(&bus->sessions.all))
                bus_signals_due(bus);
}
