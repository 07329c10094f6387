/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace track descriptor: what a TrackDescriptor says, before anything is made of it
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire-reader.h"

#define TRACE_UNIT_COUNT 2 /* nothing but a number */

typedef struct TraceTrackDescriptor {
        uint64_t uuid, parent_uuid;
        bool has_process, has_thread;
        int32_t pid, tid; /* a thread has both */
        uint64_t process_start_ns;
        bool is_counter, is_incremental;
        bool is_state; /* its events say which of several states something is in */
        bool is_alone; /* not merged with siblings */
        bool is_separate; /* belongs to a thread, but is not the track that everybody else uses for it */
        uint64_t unit; /* trace_unit_name() */
        int64_t unit_multiplier;
        /* Fields that are present have the type WIRE_BYTES. */
        WireField name, description, key;
        WireField process_name, command, thread_name; /* command: the first of the arguments */
        WireField unit_name, category;
} TraceTrackDescriptor;

void trace_track_descriptor_read(TraceTrackDescriptor *ret, const WireField *payload);

/* The name of a unit that has a number. NULL if it has none. */
const char *trace_unit_name(uint64_t unit);
