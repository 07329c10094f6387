/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace track event: what one TrackEvent says, before any of its numbers is looked up
 *
 * In many events, Chromium writes a phase of its older format instead of a type (TrackEvent.LegacyEvent). Among those
 * are slices that come with their duration, and asynchronous ones, which are linked by an id and have no other track.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-reader.h"

#define TRACE_SLICE_DEPTH_MAX      512 /* nested slices; deeper ones are left out */
#define TRACE_EVENT_CATEGORIES_MAX 16  /* in one event; further ones are not read */
#define TRACE_EVENT_FLOWS_MAX      64  /* likewise, for flows that go on and for flows that end */

typedef enum TraceEventType {
        TRACE_EVENT_NONE,
        TRACE_EVENT_BEGIN,
        TRACE_EVENT_END,
        TRACE_EVENT_INSTANT,
        TRACE_EVENT_COUNTER,
        TRACE_EVENT_STATE,    /* its name is the new state; without a name, the state ends */
        TRACE_EVENT_COMPLETE, /* a slice that comes with its duration; not in TrackEvent */
        _TRACE_EVENT_TYPE_N,
} TraceEventType;

/* A text, or the number of a text that the sequence has described. */
typedef struct TraceEventText {
        const uint8_t *data; /* NULL: it is given by its number */
        size_t n;
        uint64_t iid;
} TraceEventText;

typedef enum TraceAsyncKind {
        TRACE_ASYNC_NONE,
        TRACE_ASYNC_UNSCOPED,
        TRACE_ASYNC_LOCAL, /* of its process */
        TRACE_ASYNC_GLOBAL,
} TraceAsyncKind;

typedef struct TraceTrackEvent {
        TraceEventType type;
        bool has_track, has_name, has_scope;
        bool is_legacy; /* its type is a phase of Chromium's older format */
        bool is_async;  /* by async_id */
        TraceAsyncKind async_kind;
        int32_t pid, tid; /* of another thread, in Chromium's older format; 0: none */
        uint64_t track_uuid, async_id;
        int64_t duration_ns; /* of TRACE_EVENT_COMPLETE; -1: not known */
        double value;        /* of TRACE_EVENT_COUNTER */
        TraceEventText name, scope;
        size_t n_categories, n_flows, n_ending;
        /* Only this many of them are valid. */
        TraceEventText categories[TRACE_EVENT_CATEGORIES_MAX];
        uint64_t flows[TRACE_EVENT_FLOWS_MAX];
        uint64_t ending[TRACE_EVENT_FLOWS_MAX];
} TraceTrackEvent;

void trace_track_event_read(TraceTrackEvent *ret, const WireField *payload);

/* The string of the annotation with this name. Only for annotations that are not interned, as in the service's own
 * events. Returns false if the event has none. */
bool trace_track_event_note(WireField *ret, const WireField *payload, const char *name);
