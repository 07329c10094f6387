/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/macro.h"
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

/* What is interned, by its field of InternedData; -1: not a kind that the library writes. */
static int interned_kind(unsigned field) {
        static const uint8_t fields[TRACE_KINDS] = { 1, 2, 3, 4, 20, 29 };

        for (unsigned i = 0; i < TRACE_KINDS; i++)
                if (fields[i] == field)
                        return (int)i;
        ck_abort_msg("interned data field %u", field);
        return -1;
}

static const char *interned(const TraceSequence *sequence, unsigned kind, uint64_t iid) {
        if (iid == 0 || iid >= TRACE_NAMES_MAX || !sequence->names[kind][iid])
                ck_abort_msg("number %" PRIu64 " of kind %u means nothing", iid, kind);
        return sequence->names[kind][iid];
}

static void forget_names(TraceSequence *sequence) {
        for (unsigned kind = 0; kind < TRACE_KINDS; kind++)
                for (unsigned i = 0; i < TRACE_NAMES_MAX; i++) {
                        free(sequence->names[kind][i]);
                        sequence->names[kind][i] = NULL;
                }
}

/* Texts with an "@" between them, a number behind a colon; a field 1 is the number that it is interned under. */
static uint64_t read_entry(const WireField *entry, char *text, size_t n_text) {
        WireReader reader;
        WireField field;
        uint64_t iid = 0;

        text[0] = '\0';
        for_each_field(&reader, &field, entry->data, entry->n_bytes) {
                size_t n = strlen(text);

                if (field.number == 1)
                        iid = field.value;
                else if (field.type == WIRE_BYTES)
                        snprintf(text + n,
                                 n_text - n,
                                 "%s%.*s",
                                 n ? "@" : "",
                                 (int)field.n_bytes,
                                 (const char *)field.data);
                else
                        snprintf(text + n, n_text - n, ":%" PRIu64, field.value);
        }
        return iid;
}

static void read_interned(TraceSequence *sequence, const WireField *data) {
        WireReader reader;
        WireField entry;

        for_each_field(&reader, &entry, data->data, data->n_bytes) {
                int kind = interned_kind(entry.number);
                char text[5000];
                uint64_t iid = read_entry(&entry, text, sizeof(text));

                ck_assert(iid > 0 && iid < TRACE_NAMES_MAX && !sequence->names[kind][iid]);
                sequence->names[kind][iid] = strdup(text);
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

static void append(TraceEvent *event, const char *format, ...) _printf_(2, 3);

static void append(TraceEvent *event, const char *format, ...) {
        size_t n = strlen(event->args);
        va_list args;

        va_start(args, format);
        vsnprintf(event->args + n, sizeof(event->args) - n, format, args);
        va_end(args);
}

/* A blank between two. */
static void append_blank(TraceEvent *event) {
        size_t n = strlen(event->args);

        if (n > 0 && !strchr("{[", event->args[n - 1]))
                append(event, " ");
}

static void read_annotation(const TraceSequence *, TraceEvent *, const WireField *, char closes);

/* The entries of a dictionary, or the values of an array. */
static void read_nested(const TraceSequence *sequence,
                        TraceEvent *event,
                        const WireField *annotation,
                        unsigned number,
                        const char *brackets) {
        WireReader reader;
        WireField field;

        append(event, "%c", brackets[0]);
        for_each_field(&reader, &field, annotation->data, annotation->n_bytes) if (field.number ==
                                                                                   number)
                read_annotation(sequence, event, &field, brackets[1]);
        append(event, "%c", brackets[1]);
}

static void read_value(const TraceSequence *sequence, TraceEvent *event, const WireField *field) {
        switch (field->number) {
        case 2:
                append(event, "%s", field->value ? "true" : "false");
                break;
        case 3:
                append(event, "%" PRIu64, field->value);
                break;
        case 4:
                append(event, "%" PRId64, (int64_t)field->value);
                break;
        case 5:
                append(event, "%g", as_double(field->value));
                break;
        case 6:
                event->n_text = field->n_bytes;
                append(event,
                       "%.*s",
                       (int)MIN(field->n_bytes, (size_t)200),
                       (const char *)field->data);
                break;
        case 7:
                append(event, "0x%" PRIx64, field->value);
                break;
        case 17:
                append(event, "#%s", interned(sequence, TRACE_VALUES, field->value));
                break;
        default:
                ck_abort_msg("annotation field %u", field->number);
        }
}

/* Values in an array have no names. */
static void read_annotation(const TraceSequence *sequence,
                            TraceEvent *event,
                            const WireField *annotation,
                            char closes) {
        WireField field, value = { 0 };
        char name[64] = "";
        WireReader reader;

        for_each_field(&reader, &field, annotation->data, annotation->n_bytes) {
                if (field.number == 1)
                        snprintf(name,
                                 sizeof(name),
                                 "%s",
                                 interned(sequence, TRACE_ARG_NAMES, field.value));
                else if (field.number == 10)
                        copy_text(name, sizeof(name), &field);
                else
                        value = field;
        }
        append_blank(event);
        if (closes == ']')
                ck_assert_str_eq(name, "");
        else
                append(event, "%s=", name);
        if (value.number == 11)
                read_nested(sequence, event, annotation, 11, "{}");
        else if (value.number == 12)
                read_nested(sequence, event, annotation, 12, "[]");
        else
                read_value(sequence, event, &value);
}

static void read_log(const TraceSequence *sequence, TraceEvent *event, const WireField *message) {
        uint64_t values[4] = { 0 };
        WireReader reader;
        WireField field;

        for_each_field(&reader, &field, message->data, message->n_bytes) values[field.number] =
                field.value;
        append(event, "log=%" PRIu64 ":%s", values[3], interned(sequence, TRACE_LOGS, values[2]));
}

/* A place that has no number. */
static void read_place(TraceEvent *event, const WireField *place) {
        char text[64];

        ck_assert_uint_eq(read_entry(place, text, sizeof(text)), 0);
        append(event, "here=%s", text);
}

/* What is no annotation; false when it is something else. */
static bool
read_attribute(const TraceSequence *sequence, TraceEvent *event, const WireField *field) {
        switch (field->number) {
        case 12:
                append(event, "count=%" PRId64, (int64_t)field->value);
                return true;
        case 21:
                read_log(sequence, event, field);
                return true;
        case 22:
                append(event, "also=%.*s", (int)field->n_bytes, (const char *)field->data);
                return true;
        case 31:
        case 45:
                append(event, "on=%" PRIx64, field->value);
                return true;
        case 33:
                read_place(event, field);
                return true;
        case 34:
                append(event, "here=%s", interned(sequence, TRACE_LOCATIONS, field->value));
                return true;
        case 46:
                append(event, "count=%g", as_double(field->value));
                return true;
        case 47:
                append(event, "flow=%" PRIu64, field->value);
                return true;
        case 48:
                append(event, "flow_end=%" PRIu64, field->value);
                return true;
        case 52:
                append(event, "correlation=%" PRIu64, field->value);
                return true;
        case 53:
                append(event, "correlation=%.*s", (int)field->n_bytes, (const char *)field->data);
                return true;
        default:
                return false;
        }
}

static void
read_event_field(const TraceSequence *sequence, TraceEvent *event, const WireField *field) {
        switch (field->number) {
        case 3:
                if (event->category[0]) {
                        append_blank(event);
                        append(event,
                               "also=%s",
                               interned(sequence, TRACE_CATEGORIES, field->value));
                        break;
                }
                snprintf(event->category,
                         sizeof(event->category),
                         "%s",
                         interned(sequence, TRACE_CATEGORIES, field->value));
                break;
        case 4:
                read_annotation(sequence, event, field, 0);
                break;
        case 9:
                event->type = (unsigned)field->value;
                break;
        case 10:
                snprintf(event->name,
                         sizeof(event->name),
                         "%s",
                         interned(sequence, TRACE_NAMES, field->value));
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
        default:
                append_blank(event);
                if (!read_attribute(sequence, event, field))
                        append(event, "field%u=%" PRIu64, field->number, field->value);
        }
}

/* Makes the value of a counter of differences what it stands for. */
static void add_up(Trace *trace, TraceEvent *event) {
        TraceTrack *track = trace_track(trace, event->uuid);

        if (event->type != 4 || !track || !track->is_incremental)
                return;
        ck_assert_uint_eq(track->sequence, event->sequence);
        track->sum += event->double_value + (double)event->int_value;
        event->double_value = track->sum;
        event->int_value = (int64_t)track->sum;
}

/* A track shows states, the values of a counter, or neither, and says so. */
static void check_kind(Trace *trace, const TraceEvent *event) {
        const TraceTrack *track = trace_track(trace, event->uuid);

        if (!track)
                return;
        ck_assert_int_eq(track->is_states, event->type == 5);
        ck_assert_int_eq(track->is_counter, event->type == 4);
}

static void read_event(Trace *trace, unsigned number, const WireField *body, size_t n_packet) {
        TraceSequence *sequence = trace_sequence(trace, number);
        TraceEvent *event;
        WireReader reader;
        WireField field;

        trace->n_seen++;
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
        add_up(trace, event);
        check_kind(trace, event);
}

/* Adds "prefix" "number=value" to what is known of a track. */
static void add_detail(TraceTrack *track, const char *prefix, const WireField *field) {
        size_t n = strlen(track->details);
        char *at = track->details + n;

        if (n > 0)
                *at++ = ' ';
        n = sizeof(track->details) - (size_t)(at - track->details);
        if (field->type == WIRE_BYTES)
                snprintf(at,
                         n,
                         "%s%u=%.*s",
                         prefix,
                         field->number,
                         (int)field->n_bytes,
                         (const char *)field->data);
        else
                snprintf(at, n, "%s%u=%" PRId64, prefix, field->number, (int64_t)field->value);
}

static void read_counter(TraceTrack *track, const WireField *counter) {
        WireReader reader;
        WireField field;

        track->is_counter = true;
        for_each_field(&reader, &field, counter->data, counter->n_bytes) {
                track->is_incremental |= field.number == 5 && field.value;
                if (field.number == 6)
                        copy_text(track->unit, sizeof(track->unit), &field);
                else
                        add_detail(track, "8.", &field);
        }
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
                else if (field.number != 2)
                        add_detail(track, "3.", &field);
                track->n_cmdline += field.number == 2;
        }
}

static void read_track_field(TraceTrack *track, const WireField *field) {
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
        case 18:
                track->is_states = true;
                break;
        case 8:
                read_counter(track, field);
                break;
        default:
                add_detail(track, "", field);
                break;
        }
}

static void read_track(Trace *trace, unsigned sequence, const WireField *descriptor) {
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
        track->details[0] = '\0';
        track->is_incremental = false;
        track->sequence = sequence;
        /* Not when it is said again. */
        if (track->n_starts != trace_sequence(trace, sequence)->n_starts)
                track->sum = 0;
        track->n_starts = trace_sequence(trace, sequence)->n_starts;
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
        TraceSequence *sequence = trace_sequence(trace, number);
        WireField field, event = { 0 }, descriptor = { 0 };
        bool own_time = false;
        uint64_t time = 0;
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
                time = field.value;
                break;
        case 58:
                ck_assert_uint_eq(field.value, 6);
                own_time = true;
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
        if (!own_time)
                sequence->ns += time;
        if (event.number)
                read_event(trace, number, &event, n_bytes);
        if (event.number && own_time)
                trace->events[trace->n_events - 1].ns = time;
        if (descriptor.number)
                read_track(trace, number, &descriptor);
}

Trace *trace_free(Trace *trace) {
        if (!trace)
                return NULL;
        for (unsigned i = 0; i < TRACE_SEQUENCES_MAX; i++) {
                if (!trace->sequences[i])
                        continue;
                forget_names(trace->sequences[i]);
                free(trace->sequences[i]);
        }
        free(trace);
        return NULL;
}

TraceSequence *trace_sequence(Trace *trace, unsigned number) {
        ck_assert_uint_lt(number, TRACE_SEQUENCES_MAX);
        if (!trace->sequences[number])
                trace->sequences[number] = calloc(1, sizeof(*trace->sequences[number]));
        return trace->sequences[number];
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
