/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dynamic events: kprobes and uprobes that a config defines
 *
 * They are in a group that belongs to the recording (dynamic-slot.h). A probe without arguments is a slice or an
 * instant, which has its name in the trace. A probe with arguments is an event with these as fields. Probes that cannot
 * be defined are reported, and the others are recorded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/dynamic-slot.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/trace-dir.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define DYNAMIC_EVENTS_MAX 256 /* of one config */
#define DYNAMIC_ARGS_MAX \
        28 /* of one probe: readers accept 31 fields, and the kernel adds up to two */

/* perfetto.protos.KprobeEvent.KprobeType, as the trace has it, not the config */
enum {
        SLICE_BEGIN = 1,
        SLICE_END = 2,
        SLICE_INSTANT = 3,
};

typedef struct DynamicEvent {
        char *name;  /* "desktrace_0/vfs_read" */
        char *label; /* of the slice; NULL: it is an event with fields */
        unsigned slice_type;
        bool is_kprobe;
} DynamicEvent;

typedef struct DynamicEvents {
        DynamicSlot slot;
        DynamicEvent *events;
        size_t n_events;
        uint64_t start_hits, start_misses;
        bool has_start;
} DynamicEvents;

/* Defines the config's probes. Adds those that could be defined to the selection's events, and the others to its
 * unknown ones. `*ret` is NULL if the config has none. Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int dynamic_events_new(DynamicEvents **ret,
                       const TraceDir *dir,
                       const FtraceConfig *config,
                       EventSelection *selection,
                       char **ret_error);
/* Removes the definitions, none of which may still be enabled in an instance. */
DynamicEvents *dynamic_events_free(DynamicEvents *events);
DEFINE_CLEANUP(DynamicEvents *, dynamic_events_free)

/* Whether an event of the kernel's list, given by its full name, was defined by a recording. */
static inline bool dynamic_event_is_ours(const char *name) {
        return strncmp(name, DYNAMIC_EVENT_PREFIX, strlen(DYNAMIC_EVENT_PREFIX)) == 0;
}

/* Returns NULL if it is not one of them, or if `events` is NULL. */
const DynamicEvent *dynamic_events_find(const DynamicEvents *events, const char *name);

/* Appends FtraceStats.kprobe_stats: how often the kprobes were hit, and how often the kernel could not record a hit. */
void dynamic_events_encode_stats(DynamicEvents *events,
                                 const TraceDir *dir,
                                 WireWriter *wire,
                                 bool of_start);
