/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "trace.h"
#include "wire/wire-reader.h"

static void copy_text(char *ret, size_t n_ret, const WireField *field) {
        snprintf(ret, n_ret, "%.*s", (int)field->n_bytes, (const char *)field->data);
}

static double as_double(uint64_t bits) {
        double value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

/* All fields of a message, one after the other. */
#define for_each_field(reader, field, data, n) \
        for (wire_reader_init(reader, data, n); next(reader, field);)

static bool next(WireReader *reader, WireField *field) {
        int r = wire_read(reader, field);

        if (r < 0)
                ck_abort_msg("not a message");
        return r > 0;
}

static const char *interned(const TraceSequence *sequence, unsigned kind, uint64_t iid) {
        if (iid == 0 || iid >= TRACE_NAMES_MAX || !sequence->names[kind][iid])
                ck_abort_msg("number %" PRIu64 " of kind %u means nothing", iid, kind);
        return sequence->names[kind][iid];
}

static void forget_names(TraceSequence *sequence) {
        for (unsigned kind = 0; kind < 3; kind++)
                for (unsigned i = 0; i < TRACE_NAMES_MAX; i++) {
                        free(sequence->names[kind][i]);
                        sequence->names[kind][i] = NULL;
                }
}

static void read_interned(TraceSequence *sequence, const WireField *data) {
        WireReader reader, entry_reader;
        WireField entry, field;

        for_each_field(&reader, &entry, data->data, data->n_bytes) {
                uint64_t iid = 0;

                for_each_field(&entry_reader, &field, entry.data, entry.n_bytes) {
                        if (field.number == 1)
                                iid = field.value;
                        else
                                sequence->names[entry.number - 1][iid] =
                                        strndup((const char *)field.data, field.n_bytes);
                }
        }
}

static void read_defaults(TraceSequence *sequence, const WireField *defaults) {
        WireReader reader, inner;
        WireField field, event;

        for_each_field(&reader, &field, defaults->data, defaults->n_bytes) {
                if (field.number == 58)
                        ck_assert_uint_eq(field.value, 64);
                if (field.number != 11)
                        continue;
                for_each_field(&inner, &event, field.data, field.n_bytes) {
                        ck_assert_uint_eq(event.number, 11);
                        sequence->default_uuid = event.value;
                }
        }
}

static void read_clocks(TraceSequence *sequence, const WireField *snapshot) {
        WireReader reader, inner;
        WireField clock, field;
        uint64_t boottime = 0, own = 0;

        for_each_field(&reader, &clock, snapshot->data, snapshot->n_bytes) {
                uint64_t values[8] = { 0 };

                if (clock.number != 1)
                        continue;
                for_each_field(&inner, &field, clock.data, clock.n_bytes) values[field.number] =
                        field.value;
                if (values[1] == 6)
                        boottime = values[2];
                if (values[1] == 64) {
                        own = values[2];
                        ck_assert_uint_eq(values[3], 1);
                        ck_assert_uint_eq(values[4], 1);
                }
        }
        ck_assert_uint_ne(boottime, 0);
        ck_assert_uint_eq(boottime, own);
        sequence->ns = own;
}

static void
read_annotation(const TraceSequence *sequence, TraceEvent *event, const WireField *annotation) {
        char name[64] = "", value[256] = "";
        size_t n = strlen(event->args);
        WireReader reader;
        WireField field;

        for_each_field(&reader, &field, annotation->data, annotation->n_bytes) switch (
                field.number) {
        case 1:
                snprintf(name, sizeof(name), "%s", interned(sequence, 2, field.value));
                break;
        case 2:
                snprintf(value, sizeof(value), "%s", field.value ? "true" : "false");
                break;
        case 3:
                snprintf(value, sizeof(value), "%" PRIu64, field.value);
                break;
        case 4:
                snprintf(value, sizeof(value), "%" PRId64, (int64_t)field.value);
                break;
        case 5:
                snprintf(value, sizeof(value), "%g", as_double(field.value));
                break;
        case 6:
                event->n_text = field.n_bytes;
                copy_text(value, sizeof(value), &field);
                break;
        case 7:
                snprintf(value, sizeof(value), "0x%" PRIx64, field.value);
                break;
        case 10:
                copy_text(name, sizeof(name), &field);
                break;
        default:
                ck_abort_msg("annotation field %u", field.number);
        }
        snprintf(
                event->args + n, sizeof(event->args) - n, "%s%s=%.200s", n ? " " : "", name, value);
}

static void
read_event_field(const TraceSequence *sequence, TraceEvent *event, const WireField *field) {
        size_t n = strlen(event->args);

        switch (field->number) {
        case 3:
                snprintf(event->category,
                         sizeof(event->category),
                         "%s",
                         interned(sequence, 0, field->value));
                break;
        case 4:
                read_annotation(sequence, event, field);
                break;
        case 9:
                event->type = (unsigned)field->value;
                break;
        case 10:
                snprintf(event->name,
                         sizeof(event->name),
                         "%s",
                         interned(sequence, 1, field->value));
                break;
        case 11:
                event->uuid = field->value;
                break;
        case 23:
                copy_text(event->name, sizeof(event->name), field);
                break;
        case 30:
                event->int_value = (int64_t)field->value;
                break;
        case 44:
                event->double_value = as_double(field->value);
                break;
        case 47:
        case 48:
                snprintf(event->args + n,
                         sizeof(event->args) - n,
                         "%s%s=%" PRIu64,
                         n ? " " : "",
                         field->number == 47 ? "flow" : "flow_end",
                         field->value);
                break;
        default:
                ck_abort_msg("track event field %u", field->number);
        }
}

static void read_event(Trace *trace, unsigned number, const WireField *body, size_t n_packet) {
        TraceSequence *sequence = &trace->sequences[number];
        TraceEvent *event;
        WireReader reader;
        WireField field;

        if (trace->only_last)
                trace->n_events = 0;
        if (!sequence->valid || trace->n_events == TRACE_EVENTS_MAX)
                ck_abort_msg("an event that could not be shown");
        event = &trace->events[trace->n_events++];
        *event = (TraceEvent){
                .uuid = sequence->default_uuid,
                .ns = sequence->ns,
                .n_packet = n_packet,
                .sequence = number,
        };
        for_each_field(&reader, &field, body->data, body->n_bytes)
                read_event_field(sequence, event, &field);
}

static void read_thread(TraceTrack *track, const WireField *thread) {
        WireReader reader;
        WireField field;

        for_each_field(&reader, &field, thread->data, thread->n_bytes) {
                if (field.number == 1)
                        track->pid = (int)field.value;
                if (field.number == 2)
                        track->tid = (int)field.value;
                if (field.number == 5)
                        copy_text(track->thread_name, sizeof(track->thread_name), &field);
        }
}

static void read_process(TraceTrack *track, const WireField *process) {
        WireReader reader;
        WireField field;

        for_each_field(&reader, &field, process->data, process->n_bytes) {
                if (field.number == 1)
                        track->process_pid = (int)field.value;
                track->n_cmdline += field.number == 2;
        }
}

static void read_track_field(TraceTrack *track, const WireField *field) {
        WireReader reader;
        WireField inner;

        switch (field->number) {
        case 2:
                copy_text(track->name, sizeof(track->name), field);
                break;
        case 3:
                read_process(track, field);
                break;
        case 4:
                read_thread(track, field);
                break;
        case 5:
                track->parent = field->value;
                break;
        case 8:
                track->is_counter = true;
                for_each_field(&reader, &inner, field->data, field->n_bytes) if (inner.number == 6)
                        copy_text(track->unit, sizeof(track->unit), &inner);
                break;
        }
}

static void read_track(Trace *trace, const WireField *descriptor) {
        TraceTrack *track;
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, descriptor->data, descriptor->n_bytes);
        ck_assert(next(&reader, &field) && field.number == 1);
        track = trace_track(trace, field.value);
        if (!track) {
                ck_assert_uint_lt(trace->n_tracks, TRACE_TRACKS_MAX);
                track = &trace->tracks[trace->n_tracks++];
                track->uuid = field.value;
        }
        track->n_described++;
        track->n_cmdline = 0;
        while (next(&reader, &field))
                read_track_field(track, &field);
}

static void read_flags(TraceSequence *sequence, uint64_t flags) {
        if (flags & 1) {
                forget_names(sequence);
                sequence->valid = true;
                sequence->n_starts++;
        }
        if (flags & 2 && !sequence->valid)
                ck_abort_msg("needs state that was never given");
}

void trace_packet(Trace *trace, unsigned number, const uint8_t *packet, size_t n_bytes) {
        TraceSequence *sequence = &trace->sequences[number];
        WireField field, event = { 0 }, descriptor = { 0 };
        WireReader reader;

        for_each_field(&reader, &field, packet, n_bytes) switch (field.number) {
        case 42:
                sequence->n_lost++;
                break;
        case 87:
                sequence->n_first++;
                break;
        }
        for_each_field(&reader, &field, packet, n_bytes) switch (field.number) {
        case 6:
                read_clocks(sequence, &field);
                break;
        case 8:
                sequence->ns += field.value;
                break;
        case 11:
                event = field;
                break;
        case 12:
                read_interned(sequence, &field);
                break;
        case 13:
                read_flags(sequence, field.value);
                break;
        case 59:
                read_defaults(sequence, &field);
                break;
        case 60:
                descriptor = field;
                break;
        }
        if (event.number)
                read_event(trace, number, &event, n_bytes);
        if (descriptor.number)
                read_track(trace, &descriptor);
}

Trace *trace_free(Trace *trace) {
        for (unsigned i = 0; i < 64; i++)
                forget_names(&trace->sequences[i]);
        free(trace);
        return NULL;
}

TraceTrack *trace_track(Trace *trace, uint64_t uuid) {
        for (size_t i = 0; i < trace->n_tracks; i++)
                if (trace->tracks[i].uuid == uuid)
                        return &trace->tracks[i];
        return NULL;
}

TraceTrack *trace_track_named(Trace *trace, const char *name) {
        for (size_t i = 0; i < trace->n_tracks; i++)
                if (strcmp(trace->tracks[i].name, name) == 0 ||
                    strcmp(trace->tracks[i].thread_name, name) == 0)
                        return &trace->tracks[i];
        return NULL;
}

TraceEvent *trace_event(Trace *trace, unsigned type, const char *name) {
        for (size_t i = 0; i < trace->n_events; i++)
                if (trace->events[i].type == type && strcmp(trace->events[i].name, name) == 0)
                        return &trace->events[i];
        return NULL;
}

unsigned trace_n_events(const Trace *trace, unsigned type, const char *name) {
        unsigned n = 0;

        for (size_t i = 0; i < trace->n_events; i++)
                n += trace->events[i].type == type && strcmp(trace->events[i].name, name) == 0;
        return n;
}
