/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signals sources that have changed, and drops sources that no producer offers any longer. */

#include "bus/object/bus-emit.h"
#include "bus/object/bus-source.h"

void bus_sources_signal(Bus *bus) {
        BusSource *source;
        size_t n = 0;

        list_for_each (source, &bus->dirty_sources, dirty_link) {
                if (n++ == SOURCE_SIGNALS_MAX) {
                        bus_signals_due(bus);
                        return;
                }
                list_unlink(&source->dirty_link);
                bus_emit_source(source);
                bus_source_note_told(source);
                if (!source->is_permanent && source->n_producers == 0)
                        bus_source_drop(source);
        }
}
