/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace sequence: what the packets of one writer refer to */

#include "trace/trace-sequence.h"

#include <errno.h>
#include <string.h>

/* InternedData: the fields whose entries are an iid and a text. */
static const uint32_t interned_fields[] = {
        [TRACE_INTERNED_CATEGORY] = 1,       [TRACE_INTERNED_EVENT_NAME] = 2,
        [TRACE_INTERNED_ARG_NAME] = 3,       [TRACE_INTERNED_ARG_STRING] = 29,
        [TRACE_INTERNED_KERNEL_SYMBOL] = 26, [TRACE_INTERNED_FUNCTION_NAME] = 5,
        [TRACE_INTERNED_MAPPING_PATH] = 17,
};

enum {
        DEFAULTS_TRACK_EVENT = 11,
        DEFAULTS_CLOCK = 58,
        DEFAULTS_STACK_SAMPLE = 100,
        TRACK_EVENT_DEFAULTS_UUID = 11,
        STACK_DEFAULTS_SOURCE = 1,
        STACK_DEFAULTS_COUNTER = 2,
        COUNTER_NAME = 2,
        COUNTER_UNIT = 3,
        COUNTER_UNIT_TEXT = 4,
};

static void sequence_free(TraceSequence *sequence) {
        for (size_t i = 0; i < _TRACE_INTERNED_N; i++)
                trace_map_deinit(&sequence->interned[i]);
        trace_map_deinit(&sequence->counters);
        free(sequence);
}

void trace_sequences_deinit(TraceSequences *sequences) {
        for (size_t i = 0; i < sequences->n; i++)
                sequence_free(sequences->all[i]);
        free(sequences->all);
        trace_map_deinit(&sequences->by_id);
        *sequences = (TraceSequences){ 0 };
}

TraceSequence *trace_sequences_get(TraceSequences *sequences, uint32_t id) {
        TraceSequence *sequence;
        uint64_t number;

        if (sequences->recent && sequences->recent->id == id)
                return sequences->recent;
        number = trace_map_find(&sequences->by_id, id);
        if (LIKELY(number != TRACE_MAP_NONE))
                return sequences->recent = sequences->all[number];
        if (sequences->n == TRACE_SEQUENCES_MAX || trace_reserve((void **)&sequences->all,
                                                                 &sequences->n_allocated,
                                                                 sequences->n + 1,
                                                                 sizeof(*sequences->all)))
                return NULL;
        sequence = calloc(1, sizeof(*sequence));
        if (!sequence)
                return NULL;
        sequence->id = id;
        sequence->number = sequences->n;
        sequence->lane = SIZE_MAX;
        if (trace_map_set(&sequences->by_id, id, sequences->n)) {
                sequence_free(sequence);
                return NULL;
        }
        sequences->all[sequences->n++] = sequence;
        return sequence;
}

void trace_sequence_clear(TraceSequences *sequences, TraceSequence *sequence) {
        for (size_t i = 0; i < _TRACE_INTERNED_N; i++) {
                if (i < _TRACE_INTERNED_TEXTS_N)
                        sequences->n_interned -= sequence->interned[i].n;
                trace_map_clear(&sequence->interned[i]);
        }
        trace_map_clear(&sequence->counters);
        sequence->default_clock = 0;
        sequence->default_track = 0;
        sequence->has_default_track = false;
        sequence->stack_source = sequence->stack_counter = sequence->stack_unit = 0;
        sequence->is_valid = true;
}

static void take_track_event_defaults(TraceSequence *sequence, const WireField *defaults) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, defaults);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACK_EVENT_DEFAULTS_UUID) {
                        sequence->default_track = field.value;
                        sequence->has_default_track = true;
                }
}

/* The names that trace processors give to perfetto.protos.StackSample.Unit. */
static const char *unit_name(uint64_t unit) {
        static const char *const names[] = {
                "",
                "ns",
                "cycles",
                "instructions",
                "bytes",
                "page-faults",
                "cache-misses",
                "cache-references",
                "branch-misses",
                "count",
        };

        return names[unit < ARRAY_SIZE(names) ? unit : 0];
}

void trace_sequence_read_counter(TraceSequences *sequences,
                                 const WireField *descriptor,
                                 uint32_t *ret_name,
                                 uint32_t *ret_unit) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, descriptor);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == COUNTER_UNIT && field.type != WIRE_BYTES) {
                        const char *unit = unit_name(field.value);

                        *ret_unit = sequences->add_text(sequences->texts, unit, strlen(unit));
                }
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == COUNTER_NAME)
                        *ret_name =
                                sequences->add_text(sequences->texts, field.data, field.n_bytes);
                else if (field.number == COUNTER_UNIT_TEXT)
                        *ret_unit =
                                sequences->add_text(sequences->texts, field.data, field.n_bytes);
        }
}

static void take_stack_sample_defaults(TraceSequences *sequences,
                                       TraceSequence *sequence,
                                       const WireField *defaults) {
        WireReader reader;
        WireField field;

        if (!(sequences->kinds & 1u << TRACE_INTERNED_FUNCTION_NAME))
                return;
        wire_reader_init_field(&reader, defaults);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == STACK_DEFAULTS_SOURCE)
                        sequence->stack_source =
                                sequences->add_text(sequences->texts, field.data, field.n_bytes);
                else if (field.number == STACK_DEFAULTS_COUNTER)
                        trace_sequence_read_counter(
                                sequences, &field, &sequence->stack_counter, &sequence->stack_unit);
        }
}

static void
take_defaults(TraceSequences *sequences, TraceSequence *sequence, const WireField *defaults) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, defaults);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == DEFAULTS_CLOCK)
                        sequence->default_clock = (uint32_t)field.value;
                else if (field.number == DEFAULTS_TRACK_EVENT && field.type == WIRE_BYTES)
                        take_track_event_defaults(sequence, &field);
                else if (field.number == DEFAULTS_STACK_SAMPLE && field.type == WIRE_BYTES)
                        take_stack_sample_defaults(sequences, sequence, &field);
        }
}

static int interned_take(TraceSequences *sequences, TraceMap *map, const WireField *entry) {
        WireField text = { .data = (const uint8_t *)"" }, field;
        size_t n_before = map->n;
        uint64_t iid = 0;
        WireReader reader;
        int r;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        iid = field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        text = field;
        }
        if (sequences->n_interned >= TRACE_INTERNED_MAX)
                return -E2BIG;
        r = trace_map_set(map, iid, sequences->add_text(sequences->texts, text.data, text.n_bytes));
        sequences->n_interned += map->n - n_before;
        return r;
}

/* Returns _TRACE_INTERNED_TEXTS_N if the field is not an interned text. */
static size_t interned_kind(const WireField *field) {
        size_t kind = 0;

        if (field->type != WIRE_BYTES)
                return _TRACE_INTERNED_TEXTS_N;
        while (kind < _TRACE_INTERNED_TEXTS_N && field->number != interned_fields[kind])
                kind++;
        return kind;
}

static int
take_interned(TraceSequences *sequences, TraceSequence *sequence, const WireField *interned) {
        WireReader reader;
        WireField field;
        int r = 0;

        wire_reader_init_field(&reader, interned);
        while (r == 0 && wire_read(&reader, &field) > 0) {
                size_t kind = interned_kind(&field);

                if (kind != _TRACE_INTERNED_TEXTS_N && sequences->kinds & 1u << kind)
                        r = interned_take(sequences, &sequence->interned[kind], &field);
        }
        return r;
}

int trace_sequence_take(TraceSequences *sequences,
                        TraceSequence *sequence,
                        const TracePacket *packet) {
        if (packet->is_cleared)
                trace_sequence_clear(sequences, sequence);
        if (packet->defaults.type == WIRE_BYTES)
                take_defaults(sequences, sequence, &packet->defaults);
        if (packet->interned.type == WIRE_BYTES)
                return take_interned(sequences, sequence, &packet->interned);
        return 0;
}

bool trace_sequence_find(const TraceSequence *sequence,
                         TraceInterned kind,
                         uint64_t iid,
                         uint32_t *ret) {
        uint64_t number = trace_map_find(&sequence->interned[kind], iid);

        *ret = number == TRACE_MAP_NONE ? 0 : (uint32_t)number;
        return number != TRACE_MAP_NONE;
}

double trace_sequence_add_up(TraceSequence *sequence, uint64_t track_uuid, double difference) {
        uint64_t bits = trace_map_find(&sequence->counters, track_uuid);
        double sum = 0;

        if (bits != TRACE_MAP_NONE)
                memcpy(&sum, &bits, sizeof(sum));
        sum += difference;
        memcpy(&bits, &sum, sizeof(bits));
        /* The one bit pattern that is not a number. */
        if (bits != TRACE_MAP_NONE)
                trace_map_set(&sequence->counters, track_uuid, bits);
        return sum;
}
