/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace track event: what one TrackEvent says, before any of its numbers is looked up */

#include "trace/trace-track-event.h"

#include <string.h>

#include "shared/macro.h"

/* perfetto.protos.TrackEvent. */
enum {
        TRACK_EVENT_CATEGORY_IIDS = 3,
        TRACK_EVENT_ANNOTATIONS = 4,
        TRACK_EVENT_LEGACY = 6,
        TRACK_EVENT_TYPE = 9,
        TRACK_EVENT_NAME_IID = 10,
        TRACK_EVENT_TRACK_UUID = 11,
        TRACK_EVENT_CATEGORIES = 22,
        TRACK_EVENT_NAME = 23,
        TRACK_EVENT_COUNTER_VALUE = 30,
        TRACK_EVENT_OLD_FLOW_IDS = 36,
        TRACK_EVENT_OLD_ENDING_FLOW_IDS = 42,
        TRACK_EVENT_DOUBLE_COUNTER_VALUE = 44,
        TRACK_EVENT_FLOW_IDS = 47,
        TRACK_EVENT_ENDING_FLOW_IDS = 48,
};

/* TrackEvent.LegacyEvent. */
enum {
        LEGACY_NAME_IID = 1,
        LEGACY_PHASE = 2,
        LEGACY_DURATION_US = 3,
        LEGACY_UNSCOPED_ID = 6,
        LEGACY_ID_SCOPE = 7,
        LEGACY_LOCAL_ID = 10,
        LEGACY_GLOBAL_ID = 11,
        LEGACY_PID = 18,
        LEGACY_TID = 19,
};

/* DebugAnnotation. */
enum {
        ANNOTATION_STRING = 6,
        ANNOTATION_NAME = 10,
};

typedef struct LegacyPhase {
        uint8_t type;
        bool is_async;
} LegacyPhase;

static const LegacyPhase legacy_phases[] = {
        ['B'] = { TRACE_EVENT_BEGIN },         ['E'] = { TRACE_EVENT_END },
        ['I'] = { TRACE_EVENT_INSTANT },       ['i'] = { TRACE_EVENT_INSTANT },
        ['R'] = { TRACE_EVENT_INSTANT },       ['X'] = { TRACE_EVENT_COMPLETE },
        ['b'] = { TRACE_EVENT_BEGIN, true },   ['e'] = { TRACE_EVENT_END, true },
        ['n'] = { TRACE_EVENT_INSTANT, true },
};

static TraceEventText text_of(const WireField *field) {
        return (TraceEventText){ .data = field->data, .n = field->n_bytes };
}

static void set_name_iid(TraceTrackEvent *event, uint64_t iid) {
        event->name = (TraceEventText){ .iid = iid };
        event->has_name = true;
}

static void set_async_id(TraceTrackEvent *event, TraceAsyncKind kind, uint64_t id) {
        event->async_kind = kind;
        event->async_id = id;
}

static void legacy_take(TraceTrackEvent *event, const WireField *field) {
        switch (field->number) {
        case LEGACY_NAME_IID:
                if (!event->has_name)
                        set_name_iid(event, field->value);
                break;
        case LEGACY_PHASE:
                if (event->type != TRACE_EVENT_NONE || field->value >= ARRAY_SIZE(legacy_phases))
                        break;
                event->type = legacy_phases[field->value].type;
                event->is_async = legacy_phases[field->value].is_async;
                event->is_legacy = true;
                break;
        case LEGACY_DURATION_US: /* negative means "not known" in Chromium */
                if (field->value <= INT64_MAX / 1000)
                        event->duration_ns = (int64_t)field->value * 1000;
                break;
        case LEGACY_UNSCOPED_ID:
                set_async_id(event, TRACE_ASYNC_UNSCOPED, field->value);
                break;
        case LEGACY_LOCAL_ID:
                set_async_id(event, TRACE_ASYNC_LOCAL, field->value);
                break;
        case LEGACY_GLOBAL_ID:
                set_async_id(event, TRACE_ASYNC_GLOBAL, field->value);
                break;
        case LEGACY_PID:
                event->pid = (int32_t)field->value;
                break;
        case LEGACY_TID:
                event->tid = (int32_t)field->value;
                break;
        case LEGACY_ID_SCOPE:
                if (field->type != WIRE_BYTES || field->n_bytes == 0)
                        break;
                event->scope = text_of(field);
                event->has_scope = true;
                break;
        }
}

static void take_legacy(TraceTrackEvent *event, const WireField *legacy) {
        WireReader reader;
        WireField field;

        if (legacy->type != WIRE_BYTES)
                return;
        wire_reader_init_field(&reader, legacy);
        while (wire_read_fast(&reader, &field) > 0)
                legacy_take(event, &field);
}

static void add_category(TraceTrackEvent *event, TraceEventText category) {
        if (event->n_categories < TRACE_EVENT_CATEGORIES_MAX)
                event->categories[event->n_categories++] = category;
}

/* Takes numbers one by one, or several of them in one field. */
static void take_category_iids(TraceTrackEvent *event, const WireField *field) {
        WireReader reader;
        uint64_t iid;

        if (field->type != WIRE_BYTES) {
                add_category(event, (TraceEventText){ .iid = field->value });
                return;
        }
        wire_reader_init_field(&reader, field);
        while (reader.at < reader.end && wire_read_varint(&reader, &iid) == 0)
                add_category(event, (TraceEventText){ .iid = iid });
}

static void add_flow(uint64_t *flows, size_t *n, uint64_t id) {
        if (*n < TRACE_EVENT_FLOWS_MAX)
                flows[(*n)++] = id;
}

static void take_flows(uint64_t *flows, size_t *n, const WireField *field, bool is_fixed) {
        WireReader reader;
        uint64_t id;

        if (field->type != WIRE_BYTES) {
                add_flow(flows, n, field->value);
                return;
        }
        wire_reader_init_field(&reader, field);
        while (is_fixed && reader.end - reader.at >= 8) {
                id = 0;
                for (size_t i = 0; i < 8; i++)
                        id |= (uint64_t)*reader.at++ << (8 * i);
                add_flow(flows, n, id);
        }
        while (!is_fixed && reader.at < reader.end && wire_read_varint(&reader, &id) == 0)
                add_flow(flows, n, id);
}

static void take_type(TraceTrackEvent *event, uint64_t type) {
        if (type == 0 || type > TRACE_EVENT_STATE)
                return;
        event->type = (TraceEventType)type;
        event->is_async = false;
}

static void event_take(TraceTrackEvent *event, const WireField *field) {
        switch (field->number) {
        case TRACK_EVENT_TYPE:
                take_type(event, field->value);
                break;
        case TRACK_EVENT_LEGACY:
                take_legacy(event, field);
                break;
        case TRACK_EVENT_TRACK_UUID:
                event->track_uuid = field->value;
                event->has_track = true;
                break;
        case TRACK_EVENT_NAME_IID:
                set_name_iid(event, field->value);
                break;
        case TRACK_EVENT_NAME:
                if (field->type != WIRE_BYTES)
                        break;
                event->name = text_of(field);
                event->has_name = true;
                break;
        case TRACK_EVENT_CATEGORY_IIDS:
                take_category_iids(event, field);
                break;
        case TRACK_EVENT_CATEGORIES:
                if (field->type == WIRE_BYTES)
                        add_category(event, text_of(field));
                break;
        case TRACK_EVENT_COUNTER_VALUE:
                event->value = (double)(int64_t)field->value;
                break;
        case TRACK_EVENT_DOUBLE_COUNTER_VALUE:
                memcpy(&event->value, &field->value, sizeof(event->value));
                break;
        case TRACK_EVENT_OLD_FLOW_IDS:
                take_flows(event->flows, &event->n_flows, field, false);
                break;
        case TRACK_EVENT_FLOW_IDS:
                take_flows(event->flows, &event->n_flows, field, true);
                break;
        case TRACK_EVENT_OLD_ENDING_FLOW_IDS:
                take_flows(event->ending, &event->n_ending, field, false);
                break;
        case TRACK_EVENT_ENDING_FLOW_IDS:
                take_flows(event->ending, &event->n_ending, field, true);
                break;
        }
}

void trace_track_event_read(TraceTrackEvent *ret, const WireField *payload) {
        WireReader reader;
        WireField field;

        memset(ret, 0, offsetof(TraceTrackEvent, categories));
        ret->duration_ns = -1;
        wire_reader_init_field(&reader, payload);
        while (wire_read_fast(&reader, &field) > 0)
                event_take(ret, &field);
}

/* The name comes before the string. */
static bool annotation_read(WireField *ret, const WireField *annotation, const char *name) {
        bool is_named = false;
        WireReader reader;

        wire_reader_init_field(&reader, annotation);
        while (wire_read_fast(&reader, ret) > 0) {
                if (ret->type != WIRE_BYTES)
                        continue;
                if (ret->number == ANNOTATION_NAME)
                        is_named = ret->n_bytes == strlen(name) &&
                                   memcmp(ret->data, name, ret->n_bytes) == 0;
                else if (ret->number == ANNOTATION_STRING && is_named)
                        return true;
        }
        return false;
}

bool trace_track_event_note(WireField *ret, const WireField *payload, const char *name) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read_fast(&reader, &field) > 0)
                if (field.number == TRACK_EVENT_ANNOTATIONS && field.type == WIRE_BYTES &&
                    annotation_read(ret, &field, name))
                        return true;
        return false;
}
