/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compact sched: the context switches and wake-ups of one CPU as packed columns
 *
 * perfetto.protos.FtraceEventBundle.CompactSched: each column is one array of varints, timestamps are differences, and
 * thread names are indices into a table of the bundle. A switch takes about 10 bytes instead of about 70. Of the thread
 * that leaves the CPU, only the state is kept: the switch before says which thread it was.
 *
 * The columns are encoded as the events come in, so that closing a bundle only copies them. Nearly all events are about
 * threads that the bundle already knows, and those are taken in runs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/event-format.h"
#include "probes/ftrace/page.h"
#include "shared/macro.h"
#include "wire/wire-writer.h"

#define COMPACT_EVENTS_MAX 2048 /* of each kind in one bundle */
#define COMPACT_COMMS_MAX  64   /* names in one bundle */
#define COMPACT_TASKS      128  /* remembered, by the low bits of their pids */
#define COMM_BYTES         16   /* the kernel's TASK_COMM_LEN */

typedef struct CompactField {
        uint16_t offset, size;
} CompactField;

/* Where the running kernel has these fields. An id of 0 means that the event is not enabled, or not as expected; it
 * is then written in full. */
typedef struct CompactLayout {
        uint16_t switch_id, waking_id;
        uint32_t n_switch_bytes, n_waking_bytes;
        CompactField prev_state, next_pid, next_prio, next_comm;
        CompactField pid, target_cpu, prio, comm;
} CompactLayout;

typedef struct CompactColumn {
        uint8_t *start, *at;
} CompactColumn;

/* A thread that the current bundle has named. Looking it up here saves encoding its pid and searching for its name. */
typedef struct CompactTask {
        uint64_t key; /* the bundle's number above the pid */
        uint64_t comm[2];
        uint32_t pid_varint; /* its bytes */
        uint8_t n_pid_varint;
        uint8_t comm_index;
} CompactTask;

typedef struct CompactSched {
        uint8_t *memory; /* of all columns */
        CompactColumn switch_timestamp, switch_prev_state, switch_next_pid, switch_next_prio,
                switch_comm;
        CompactColumn waking_timestamp, waking_pid, waking_cpu, waking_prio, waking_comm,
                waking_flags;
        uint32_t n_switches, n_wakings;
        uint32_t switch_words, waking_words; /* length of the last record of each kind */
        uint64_t last_switch, last_waking;

        char comms[COMPACT_COMMS_MAX][COMM_BYTES];
        uint8_t n_comms;
        uint8_t slots[2 * COMPACT_COMMS_MAX]; /* hash table for comms: index + 1 */

        uint32_t n_bundles;
        CompactTask tasks[COMPACT_TASKS];
} CompactSched;

int compact_sched_init(CompactSched *sched);
void compact_sched_deinit(CompactSched *sched);

/* These take a field layout from the kernel's format, and leave the id 0 if it is not as expected. */
void compact_layout_set_switch(CompactLayout *layout, const EventFormat *format);
void compact_layout_set_waking(CompactLayout *layout, const EventFormat *format);

/* The caller has checked compact_sched_is_full() and that the record has the layout's length. These return the
 * thread that runs next, or that is woken. */
int32_t compact_sched_add_switch(CompactSched *sched,
                                 const CompactLayout *layout,
                                 const PageRecord *record);
int32_t compact_sched_add_waking(CompactSched *sched,
                                 const CompactLayout *layout,
                                 const PageRecord *record);

/* Takes as many records as it can: switches and wake-ups of threads that the bundle has named in the same way
 * before. The record after them is left to the caller. */
void compact_sched_run(CompactSched *sched, const CompactLayout *layout, PageReader *reader);

static inline bool compact_sched_is_full(const CompactSched *sched) {
        return sched->n_switches >= COMPACT_EVENTS_MAX || sched->n_wakings >= COMPACT_EVENTS_MAX ||
               sched->n_comms >= COMPACT_COMMS_MAX;
}

static inline bool compact_sched_is_empty(const CompactSched *sched) {
        return sched->n_switches == 0 && sched->n_wakings == 0;
}

/* Appends FtraceEventBundle.compact_sched, unless it is empty, and empties it. */
void compact_sched_encode(CompactSched *sched, WireWriter *wire);
