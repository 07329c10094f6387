/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace filter: writing never overtakes reading, as fields are copied as they are encoded, and a message that
 * shrinks keeps its length field, padded with redundant bytes (which protobuf allows)
 */

#include <errno.h>

#include "packet/trace-filter.h"
#include "wire/wire-reader.h"

#define TRACE_MESSAGE 0 /* the root of the program */
#define TRACE_PACKET  1 /* field of perfetto.protos.Trace */

struct TraceFilter {
        FilterProgram *program;
        StringRules *strings;
        uint32_t packet_message;
        TraceFilterStats stats;
};

int trace_filter_new(TraceFilter **ret, FilterProgram *program, StringRules *strings) {
        const FilterAction packet = filter_program_find(program, TRACE_MESSAGE, TRACE_PACKET);
        TraceFilter *filter;

        if (packet.kind != FILTER_NESTED)
                return -EINVAL;
        filter = calloc(1, sizeof(*filter));
        if (!filter)
                return -ENOMEM;
        filter->program = program;
        filter->strings = strings;
        filter->packet_message = packet.argument;
        *ret = filter;
        return 0;
}

TraceFilter *trace_filter_free(TraceFilter *filter) {
        if (!filter)
                return NULL;
        filter_program_free(filter->program);
        string_rules_free(filter->strings);
        free(filter);
        return NULL;
}

const TraceFilterStats *trace_filter_stats(const TraceFilter *filter) {
        return &filter->stats;
}

uint64_t trace_filter_cost(const TraceFilter *filter) {
        return filter->strings ? string_rules_cost(filter->strings) : 0;
}

typedef struct FilterRun {
        TraceFilter *filter;
        uint8_t *out;
        unsigned depth;
} FilterRun;

static void run_copy(FilterRun *run, const uint8_t *data, size_t n) {
        memmove(run->out, data, n);
        run->out += n;
}

/* Also of a tag that is longer than it need be. */
static size_t tag_size(const uint8_t *at) {
        size_t n = 1;

        while (*at++ & 0x80)
                n++;
        return n;
}

static int run_message(FilterRun *run, uint32_t message, const uint8_t *data, size_t n);

static int run_nested(FilterRun *run, uint32_t message, const WireField *field) {
        const size_t n_header = (size_t)(field->data - field->raw);
        const size_t n_tag = tag_size(field->raw);
        uint8_t *header = run->out;
        int r;

        if (run->depth == TRACE_FILTER_DEPTH_MAX)
                return -EBADMSG;
        run_copy(run, field->raw, n_header);
        run->depth++;
        r = run_message(run, message, field->data, field->n_bytes);
        run->depth--;
        if (r < 0)
                return r;
        wire_put_padded_varint(
                header + n_tag, n_header - n_tag, (uint64_t)(run->out - header) - n_header);
        return 0;
}

static int run_field(FilterRun *run, uint32_t message, const WireField *field) {
        const FilterAction action =
                filter_program_find(run->filter->program, message, field->number);
        const bool is_bytes = field->type == WIRE_BYTES;
        uint8_t *text;

        switch (action.kind) {
        case FILTER_KEEP:
                run_copy(run, field->raw, field->n_raw);
                return 0;
        case FILTER_NESTED:
                return is_bytes ? run_nested(run, action.argument, field) : 0;
        case FILTER_STRING:
                if (!is_bytes)
                        return 0;
                run_copy(run, field->raw, field->n_raw);
                text = run->out - field->n_bytes;
                if (run->filter->strings)
                        string_rules_apply(run->filter->strings,
                                           (char *)text,
                                           field->n_bytes,
                                           action.argument);
                return 0;
        case FILTER_DROP:
        default:
                return 0;
        }
}

static int run_message(FilterRun *run, uint32_t message, const uint8_t *data, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                r = run_field(run, message, &field);
                if (r < 0)
                        return r;
        }
        return r;
}

int trace_filter_apply(TraceFilter *filter, uint8_t *packet, size_t *n_bytes) {
        FilterRun run = { .filter = filter, .out = packet };
        int r;

        if (filter->strings)
                string_rules_begin(filter->strings);
        filter->stats.n_packets++;
        filter->stats.n_bytes_in += *n_bytes;
        r = run_message(&run, filter->packet_message, packet, *n_bytes);
        if (r < 0) {
                filter->stats.n_errors++;
                return TRACE_FILTER_E_DROPPED;
        }
        *n_bytes = (size_t)(run.out - packet);
        filter->stats.n_bytes_out += *n_bytes;
        return *n_bytes > 0 ? 0 : TRACE_FILTER_E_DROPPED;
}
