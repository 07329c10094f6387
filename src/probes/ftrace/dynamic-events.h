/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dynamic events: kprobes and uprobes that a config defines
 *
 * The kernel has one list of them for everybody (dynamic_events at the top of tracefs), and they outlive who made them.
 * So each recording has a group of its own, desktrace_SLOT, which is taken by a lock on the SLOT-th byte of that file.
 * The kernel takes the lock away from a process that dies, and what is in a group that nobody has locked is stale.
 *
 * A probe without arguments is a slice or an instant of its name in the trace; one with arguments is an event with
 * these as fields. What cannot be defined is told; the others are recorded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/event-select.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/trace-dir.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define DYNAMIC_SLOTS_MAX  64  /* recordings with such events at once */
#define DYNAMIC_EVENTS_MAX 256 /* of one config */
#define DYNAMIC_ARGS_MAX \
        28 /* of one probe: readers know 31 fields, and the kernel adds up to two */

/* perfetto.protos.KprobeEvent.KprobeType, of the trace rather than the config */
enum {
        SLICE_BEGIN = 1,
        SLICE_END = 2,
        SLICE_INSTANT = 3,
};

#define DYNAMIC_EVENT_PREFIX "desktrace_" /* of their groups */

typedef struct DynamicEvent {
        char *name;  /* "desktrace_0/vfs_read" */
        char *label; /* of the slice; NULL: an event with fields */
        unsigned slice_type;
        bool is_kprobe;
} DynamicEvent;

typedef struct DynamicEvents {
        int fd; /* holds the lock */
        unsigned slot;
        DynamicEvent *events;
        size_t n_events;
        uint64_t start_hits, start_misses;
        bool has_start;
} DynamicEvents;

/* Defines what the config asks for. Adds those that are defined to the selection's events, and what cannot be to its
 * unknown ones. *ret is NULL when the config has none. 0, PROBE_E_REFUSED, -ENOMEM. */
int dynamic_events_new(DynamicEvents **ret,
                       const TraceDir *dir,
                       const FtraceConfig *config,
                       EventSelection *selection,
                       char **ret_error);
/* Removes the definitions, which no instance may have enabled any more. */
DynamicEvents *dynamic_events_free(DynamicEvents *events);
DEFINE_CLEANUP(DynamicEvents *, dynamic_events_free)

/* Whether an event of the kernel's list, by its full name, is one that a recording has defined. */
static inline bool dynamic_event_is_ours(const char *name) {
        return strncmp(name, DYNAMIC_EVENT_PREFIX, strlen(DYNAMIC_EVENT_PREFIX)) == 0;
}

/* NULL when it is none of them, or `events` is NULL. */
const DynamicEvent *dynamic_events_find(const DynamicEvents *events, const char *name);

/* Appends FtraceStats.kprobe_stats: how often the kernel came to the kprobes, and could not record it. */
void dynamic_events_encode_stats(DynamicEvents *events,
                                 const TraceDir *dir,
                                 WireWriter *wire,
                                 bool of_start);

/* Removes what dead processes left, after their instances are gone. Returns how many. */
int dynamic_events_remove_stale(const TraceDir *dir);
