/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace track descriptor: what a TrackDescriptor says, before anything is made of it */

#include "trace/trace-track-descriptor.h"

#include "shared/macro.h"

/* perfetto.protos.TrackDescriptor. */
enum {
        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_THREAD = 4,
        TRACK_PARENT_UUID = 5,
        TRACK_COUNTER = 8,
        TRACK_IS_SEPARATE = 9, /* disallow_merging_with_system_tracks */
        TRACK_STATIC_NAME = 10,
        TRACK_ATRACE_NAME = 13,
        TRACK_DESCRIPTION = 14,
        TRACK_MERGING = 15, /* sibling_merge_behavior */
        TRACK_MERGING_KEY = 16,
        TRACK_STATE = 18,
};

#define MERGING_NONE 2

/* ProcessDescriptor. */
enum {
        PROCESS_PID = 1,
        PROCESS_COMMAND = 2,
        PROCESS_NAME = 6,
        PROCESS_START = 7,
};

/* ThreadDescriptor. */
enum {
        THREAD_PID = 1,
        THREAD_TID = 2,
        THREAD_NAME = 5,
};

/* CounterDescriptor. */
enum {
        COUNTER_CATEGORY = 2,
        COUNTER_UNIT = 3,
        COUNTER_UNIT_MULTIPLIER = 4,
        COUNTER_IS_INCREMENTAL = 5,
        COUNTER_UNIT_NAME = 6,
};

const char *trace_unit_name(uint64_t unit) {
        static const char *const names[] = { NULL, "ns", [TRACE_UNIT_COUNT] = "count", "bytes" };

        return unit < ARRAY_SIZE(names) ? names[unit] : NULL;
}

static void take_process(TraceTrackDescriptor *track, const WireField *message) {
        WireReader reader;
        WireField field;

        track->has_process = true;
        track->pid = 0;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == PROCESS_PID)
                        track->pid = (int32_t)field.value;
                else if (field.number == PROCESS_NAME && field.type == WIRE_BYTES)
                        track->process_name = field;
                else if (field.number == PROCESS_START && field.type == WIRE_VARINT)
                        track->process_start_ns = field.value;
                else if (field.number == PROCESS_COMMAND && field.type == WIRE_BYTES &&
                         track->command.type != WIRE_BYTES)
                        track->command = field;
        }
}

static void take_thread(TraceTrackDescriptor *track, const WireField *message) {
        WireReader reader;
        WireField field;

        track->has_thread = true;
        track->pid = track->tid = 0;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == THREAD_PID)
                        track->pid = (int32_t)field.value;
                else if (field.number == THREAD_TID)
                        track->tid = (int32_t)field.value;
                else if (field.number == THREAD_NAME && field.type == WIRE_BYTES)
                        track->thread_name = field;
        }
}

static void counter_take(TraceTrackDescriptor *track, const WireField *field) {
        switch (field->number) {
        case COUNTER_UNIT:
                if (field->type == WIRE_VARINT)
                        track->unit = field->value;
                break;
        case COUNTER_UNIT_MULTIPLIER:
                if (field->type == WIRE_VARINT)
                        track->unit_multiplier = (int64_t)field->value;
                break;
        case COUNTER_IS_INCREMENTAL:
                if (field->type == WIRE_VARINT)
                        track->is_incremental = field->value != 0;
                break;
        case COUNTER_UNIT_NAME:
                if (field->type == WIRE_BYTES)
                        track->unit_name = *field;
                break;
        case COUNTER_CATEGORY:
                if (field->type == WIRE_BYTES && track->category.type != WIRE_BYTES)
                        track->category = *field;
                break;
        }
}

static void take_counter(TraceTrackDescriptor *track, const WireField *message) {
        WireReader reader;
        WireField field;

        track->is_counter = true;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                counter_take(track, &field);
}

static void take_number(TraceTrackDescriptor *track, const WireField *field) {
        switch (field->number) {
        case TRACK_UUID:
                track->uuid = field->value;
                break;
        case TRACK_PARENT_UUID:
                track->parent_uuid = field->value;
                break;
        case TRACK_IS_SEPARATE:
                track->is_separate = field->value != 0;
                break;
        case TRACK_MERGING:
                track->is_alone = field->value == MERGING_NONE;
                break;
        }
}

static void take_bytes(TraceTrackDescriptor *track, const WireField *field) {
        switch (field->number) {
        case TRACK_NAME:
        case TRACK_STATIC_NAME:
        case TRACK_ATRACE_NAME:
                track->name = *field;
                break;
        case TRACK_PROCESS:
                take_process(track, field);
                break;
        case TRACK_THREAD:
                take_thread(track, field);
                break;
        case TRACK_COUNTER:
                take_counter(track, field);
                break;
        case TRACK_DESCRIPTION:
                track->description = *field;
                break;
        case TRACK_MERGING_KEY:
                track->key = *field;
                break;
        case TRACK_STATE:
                track->is_state = true;
                break;
        }
}

void trace_track_descriptor_read(TraceTrackDescriptor *ret, const WireField *payload) {
        WireReader reader;
        WireField field;

        *ret = (TraceTrackDescriptor){ 0 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES)
                        take_bytes(ret, &field);
                else
                        take_number(ret, &field);
}
