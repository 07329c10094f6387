/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace bundle: events of the kernel from one CPU, in the form that packets have them
 *
 * Switches and wakings come in columns ("compact"): times are differences, and the names of threads are in a table of
 * the bundle. Any other event is a message, namely an envelope with one field, which is the event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "wire/wire-reader.h"

#define TRACE_CPUS_MAX          1024
#define TRACE_COMPACT_COMMS_MAX 1024 /* names in one bundle's table; the writer has at most 256 */

/* Fields of perfetto.protos.FtraceEventBundle. */
enum {
        TRACE_BUNDLE_CPU = 1,
        TRACE_BUNDLE_EVENT = 2,
        TRACE_BUNDLE_LOST = 3,
        TRACE_BUNDLE_COMPACT_SCHED = 4,
        TRACE_BUNDLE_DESCRIPTORS = 11,
};

/* The events that we use, by their field in FtraceEvent. */
enum {
        TRACE_EVENT_SCHED_SWITCH = 4,
        TRACE_EVENT_CPU_FREQUENCY = 11,
        TRACE_EVENT_CPU_IDLE = 13,
        TRACE_EVENT_SCHED_BLOCKED_REASON = 18,
        TRACE_EVENT_SCHED_WAKING = 20,
        TRACE_EVENT_SOFTIRQ_ENTRY = 24,
        TRACE_EVENT_SOFTIRQ_EXIT = 25,
        TRACE_EVENT_IRQ_ENTRY = 36,
        TRACE_EVENT_IRQ_EXIT = 37,
        TRACE_EVENT_WORKQUEUE_EXECUTE_END = 57,
        TRACE_EVENT_WORKQUEUE_EXECUTE_START = 58,
        TRACE_EVENT_TASK_NEWTASK = 235,
        TRACE_EVENT_TASK_RENAME = 236,
        TRACE_EVENT_SCHED_PROCESS_FREE = 240,
        TRACE_EVENT_RSS_STAT = 313,
        TRACE_EVENT_GENERIC = 327,
        TRACE_EVENT_HRTIMER_EXPIRE_ENTRY = 553,
        TRACE_EVENT_HRTIMER_EXPIRE_EXIT = 554,
};

typedef struct TraceBundle {
        uint64_t cpu;
        bool is_lossy; /* the kernel overwrote earlier events */
        bool has_descriptors;
} TraceBundle;

/* Reads the fields that apply to the whole bundle. They may be anywhere in it. */
void trace_bundle_read(TraceBundle *ret, const WireField *bytes);

typedef struct TraceKernelEvent {
        uint64_t at_ns;
        int32_t pid;
        uint32_t flags;
        WireField body; /* number 0: the event has no body */
} TraceKernelEvent;

void trace_kernel_event_read(TraceKernelEvent *ret, const WireField *bytes);

/* No event that we use has more fields than this. */
#define TRACE_KERNEL_FIELDS 8

typedef struct TraceKernelFields {
        uint32_t has_numbers; /* a bit for each field that is present */
        uint64_t numbers[TRACE_KERNEL_FIELDS];
        WireField texts[TRACE_KERNEL_FIELDS]; /* of type WIRE_BYTES if they are present */
} TraceKernelFields;

void trace_kernel_fields_read(TraceKernelFields *ret, const WireField *body);

/* The name of an event that has no number of its own, or that a serialized DescriptorProto describes. Returns false
 * if the event has no name. */
bool trace_kernel_name_read(WireField *ret, const WireField *body);
/* The name that a bundle's description gives to an event's number. */
bool trace_kernel_descriptor_read(uint32_t *ret_number,
                                  WireField *ret_name,
                                  const WireField *bytes);

/*
 * Columns
 */

/* Fields of CompactSched. */
enum {
        TRACE_COMPACT_SWITCH_TIMESTAMP = 1,
        TRACE_COMPACT_SWITCH_PREV_STATE = 2,
        TRACE_COMPACT_SWITCH_NEXT_PID = 3,
        TRACE_COMPACT_SWITCH_NEXT_PRIO = 4,
        TRACE_COMPACT_INTERN_TABLE = 5,
        TRACE_COMPACT_SWITCH_COMM_INDEX = 6,
        TRACE_COMPACT_WAKING_TIMESTAMP = 7,
        TRACE_COMPACT_WAKING_PID = 8,
        TRACE_COMPACT_WAKING_FLAGS = 12,
        _TRACE_COMPACT_FIELDS = 13,
};

typedef struct TraceComm {
        const uint8_t *data;
        size_t n;
} TraceComm;

typedef struct TraceCompactSched {
        WireReader columns[_TRACE_COMPACT_FIELDS];
        uint64_t switch_ns, waking_ns; /* of those before */
        size_t n_comms;
        TraceComm comms[TRACE_COMPACT_COMMS_MAX];
} TraceCompactSched;

typedef struct TraceCompactSwitch {
        uint64_t at_ns;
        int32_t next_tid;
        uint16_t prev_state;
        int16_t next_prio;
        uint32_t comm; /* index into the table; UINT32_MAX: none */
} TraceCompactSwitch;

typedef struct TraceCompactWaking {
        uint64_t at_ns;
        int32_t tid;
        uint8_t flags;
} TraceCompactWaking;

void trace_compact_init(TraceCompactSched *compact, const WireField *bytes);

/* Most varints are no longer than three bytes. */
static inline bool trace_compact_next(TraceCompactSched *compact, uint32_t column, uint64_t *ret) {
        WireReader *reader = &compact->columns[column];

        if (LIKELY(reader->end - reader->at > 1)) {
                if (reader->at[0] < 0x80) {
                        *ret = *reader->at++;
                        return true;
                }
                if (reader->at[1] < 0x80) {
                        *ret = (reader->at[0] & 0x7f) | (uint64_t)reader->at[1] << 7;
                        reader->at += 2;
                        return true;
                }
                if (reader->end - reader->at > 2 && reader->at[2] < 0x80) {
                        *ret = (reader->at[0] & 0x7f) | (uint64_t)(reader->at[1] & 0x7f) << 7 |
                               (uint64_t)reader->at[2] << 14;
                        reader->at += 3;
                        return true;
                }
        }
        return reader->at < reader->end && wire_read_varint(reader, ret) == 0;
}

/* Reads the next one. Returns false at the end. */
static inline bool trace_compact_switch(TraceCompactSched *compact, TraceCompactSwitch *ret) {
        uint64_t step, next, state = 0, priority = 0, comm = UINT64_MAX;

        if (!trace_compact_next(compact, TRACE_COMPACT_SWITCH_TIMESTAMP, &step) ||
            !trace_compact_next(compact, TRACE_COMPACT_SWITCH_NEXT_PID, &next))
                return false;
        trace_compact_next(compact, TRACE_COMPACT_SWITCH_PREV_STATE, &state);
        trace_compact_next(compact, TRACE_COMPACT_SWITCH_NEXT_PRIO, &priority);
        trace_compact_next(compact, TRACE_COMPACT_SWITCH_COMM_INDEX, &comm);
        compact->switch_ns += step;
        ret->at_ns = compact->switch_ns;
        ret->next_tid = (int32_t)next;
        ret->prev_state = (uint16_t)state;
        ret->next_prio = (int16_t)priority;
        ret->comm = comm < compact->n_comms ? (uint32_t)comm : UINT32_MAX;
        return true;
}

static inline bool trace_compact_waking(TraceCompactSched *compact, TraceCompactWaking *ret) {
        uint64_t step, tid, flags = 0;

        if (!trace_compact_next(compact, TRACE_COMPACT_WAKING_TIMESTAMP, &step) ||
            !trace_compact_next(compact, TRACE_COMPACT_WAKING_PID, &tid))
                return false;
        trace_compact_next(compact, TRACE_COMPACT_WAKING_FLAGS, &flags);
        compact->waking_ns += step;
        ret->at_ns = compact->waking_ns;
        ret->tid = (int32_t)tid;
        ret->flags = (uint8_t)flags;
        return true;
}
