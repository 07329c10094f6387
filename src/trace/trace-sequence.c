/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace/trace-sequence.h"

#include <errno.h>
#include <string.h>

/* InternedData: fields whose entries are an iid and a text. */
static const uint32_t interned_fields[] = {
        [TRACE_INTERNED_CATEGORY] = 1,       [TRACE_INTERNED_EVENT_NAME] = 2,
        [TRACE_INTERNED_ARG_NAME] = 3,       [TRACE_INTERNED_ARG_STRING] = 29,
        [TRACE_INTERNED_KERNEL_SYMBOL] = 26, [TRACE_INTERNED_FUNCTION_NAME] = 5,
        [TRACE_INTERNED_MAPPING_PATH] = 17,
};

enum {
        DEFAULTS_TRACK_EVENT = 11,
        DEFAULTS_CLOCK = 58,
        TRACK_EVENT_DEFAULTS_UUID = 11,
};

TraceSequence *trace_sequence_free(TraceSequence *sequence) {
        if (!sequence)
                return NULL;

        for (size_t i = 0; i < _TRACE_INTERNED_N; i++)
                trace_map_deinit(&sequence->interned[i]);
        trace_map_deinit(&sequence->counters);
        free(sequence);
        return NULL;
}

void trace_sequence_clear(TraceSequence *sequence) {
        for (size_t i = 0; i < _TRACE_INTERNED_N; i++)
                trace_map_clear(&sequence->interned[i]);
        trace_map_clear(&sequence->counters);
        sequence->default_clock = 0;
        sequence->default_track = 0;
        sequence->has_default_track = false;
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

void trace_sequence_take_defaults(TraceSequence *sequence, const WireField *defaults) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, defaults);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == DEFAULTS_CLOCK)
                        sequence->default_clock = (uint32_t)field.value;
                else if (field.number == DEFAULTS_TRACK_EVENT && field.type == WIRE_BYTES)
                        take_track_event_defaults(sequence, &field);
        }
}

static int interned_take(TraceMap *map, TracePool *pool, const WireField *entry) {
        WireField text = { 0 }, field;
        uint64_t iid = 0;
        WireReader reader;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        iid = field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        text = field;
        }
        return trace_map_set(map, iid, trace_pool_add(pool, text.data, text.n_bytes));
}

int trace_sequence_take_interned(TraceSequence *sequence,
                                 TracePool *pool,
                                 const WireField *interned) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, interned);
        while (wire_read(&reader, &field) > 0)
                for (size_t i = 0; i < _TRACE_INTERNED_TEXTS_N && field.type == WIRE_BYTES; i++)
                        if (field.number == interned_fields[i] &&
                            interned_take(&sequence->interned[i], pool, &field))
                                return -ENOMEM;
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
        /* That one bit pattern is not a number. */
        if (bits != TRACE_MAP_NONE)
                trace_map_set(&sequence->counters, track_uuid, bits);
        return sum;
}
