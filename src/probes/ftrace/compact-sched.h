/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compact sched: context switches and wake-ups of one CPU as packed columns
 *
 * perfetto.protos.FtraceEventBundle.CompactSched: for each column one array of varints, timestamps as
 * differences, thread names as indices into a table of the bundle. A switch takes about 10 bytes instead of
 * about 70. Only the state of the thread that leaves the CPU is kept: who it was, the switch before says.
 *
 * The columns are encoded as the events come in; closing a bundle only copies them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/event-format.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define COMPACT_EVENTS_MAX 2048 /* of each kind in one bundle */
#define COMPACT_COMMS_MAX  64   /* names in one bundle */
#define COMM_BYTES         16   /* the kernel's TASK_COMM_LEN */

typedef struct CompactField {
        uint16_t offset, size;
} CompactField;

/* Where the running kernel has the fields. Ids of 0 mean: not enabled, or not as expected; such events
 * are written in full. */
typedef struct CompactLayout {
        uint16_t switch_id, waking_id;
        uint32_t n_switch_bytes, n_waking_bytes;
        CompactField prev_state, next_pid, next_prio, next_comm;
        CompactField pid, target_cpu, prio, comm;
} CompactLayout;

typedef struct CompactColumn {
        uint8_t *start, *at;
} CompactColumn;

typedef struct CompactSched {
        uint8_t *memory; /* of all columns */
        CompactColumn switch_timestamp, switch_prev_state, switch_next_pid, switch_next_prio,
                switch_comm;
        CompactColumn waking_timestamp, waking_pid, waking_cpu, waking_prio, waking_comm,
                waking_flags;
        uint32_t n_switches, n_wakings;
        uint64_t last_switch, last_waking;

        char comms[COMPACT_COMMS_MAX][COMM_BYTES];
        uint8_t n_comms;
        uint8_t slots[2 * COMPACT_COMMS_MAX]; /* open hash of comms: index + 1 */
} CompactSched;

int compact_sched_init(CompactSched *sched);
void compact_sched_deinit(CompactSched *sched);

/* Take a field layout from the kernel's format; leave the id 0 when it is not as expected. */
void compact_layout_set_switch(CompactLayout *layout, const EventFormat *format);
void compact_layout_set_waking(CompactLayout *layout, const EventFormat *format);

/* The caller has checked compact_sched_is_full() and that the record is of the layout's length. Return the
 * thread that runs next, or is woken. */
int32_t compact_sched_add_switch(CompactSched *sched,
                                 const CompactLayout *layout,
                                 uint64_t timestamp,
                                 const uint8_t *record);
int32_t compact_sched_add_waking(CompactSched *sched,
                                 const CompactLayout *layout,
                                 uint64_t timestamp,
                                 const uint8_t *record);

static inline bool compact_sched_is_full(const CompactSched *sched) {
        return sched->n_switches >= COMPACT_EVENTS_MAX || sched->n_wakings >= COMPACT_EVENTS_MAX ||
               sched->n_comms >= COMPACT_COMMS_MAX;
}

static inline bool compact_sched_is_empty(const CompactSched *sched) {
        return sched->n_switches == 0 && sched->n_wakings == 0;
}

/* Appends FtraceEventBundle.compact_sched, unless it is empty, and empties it. */
void compact_sched_encode(CompactSched *sched, WireWriter *wire);
