/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a config to its trace filter, and from whole packets to filtered ones. */

#include <errno.h>
#include <stdio.h>

#include "core/model/session-filter.h"
#include "wire/wire-reader.h"

typedef Perfetto__Protos__TraceConfig__TraceFilter FilterPb;
typedef Perfetto__Protos__TraceConfig__TraceFilter__StringFilterChain ChainPb;
typedef Perfetto__Protos__TraceConfig__TraceFilter__StringFilterRule RulePb;

/* As many semantic types as a rule can name; higher ones are not listed. */
static int rule_from_pb(StringRules *rules, const RulePb *pb, char *ret_why) {
        uint32_t types[STRING_TYPES_MAX];
        StringRule rule = {
                .policy = (StringPolicy)pb->policy,
                .pattern = pb->regex_pattern,
                .atrace_start = pb->atrace_payload_starts_with,
                .name = pb->name,
                .types = types,
        };

        for (size_t i = 0; i < pb->n_semantic_type && rule.n_types < STRING_TYPES_MAX; i++)
                types[rule.n_types++] = (uint32_t)pb->semantic_type[i];
        return string_rules_add(rules, &rule, ret_why);
}

static int rules_add_chain(StringRules *rules, const ChainPb *chain, char *ret_why) {
        for (size_t i = 0; chain && i < chain->n_rules; i++) {
                char why[PATTERN_WHY_BYTES] = "";
                int r = rule_from_pb(rules, chain->rules[i], why);

                if (r == -EINVAL)
                        snprintf(ret_why,
                                 SESSION_FILTER_WHY_BYTES,
                                 N_("string_filter_chain rule %zu: %s"),
                                 i,
                                 why);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int program_from_pb(FilterProgram **ret, const FilterPb *pb, char *ret_why) {
        const ProtobufCBinaryData *code = pb->has_bytecode_v2 ? &pb->bytecode_v2 : &pb->bytecode;
        const char *why = N_("it has no bytecode");
        int r;

        r = filter_program_new(ret,
                               code->data,
                               code->len,
                               pb->bytecode_overlay_v54.data,
                               pb->bytecode_overlay_v54.len,
                               &why);
        if (r == -EINVAL)
                snprintf(ret_why, SESSION_FILTER_WHY_BYTES, N_("the bytecode is invalid: %s"), why);
        return r;
}

int session_filter_new(TraceFilter **ret,
                       const Perfetto__Protos__TraceConfig *config,
                       char ret_why[static SESSION_FILTER_WHY_BYTES]) {
        _cleanup_(filter_program_freep) FilterProgram *program = NULL;
        _cleanup_(string_rules_freep) StringRules *rules = NULL;
        const FilterPb *pb = config->trace_filter;
        int r;

        *ret = NULL;
        if (!pb)
                return 0;
        r = program_from_pb(&program, pb, ret_why);
        if (r == 0)
                r = string_rules_new(&rules);
        if (r == 0)
                r = rules_add_chain(rules, pb->string_filter_chain, ret_why);
        if (r == 0)
                r = rules_add_chain(rules, pb->string_filter_chain_v54, ret_why);
        if (r < 0)
                return r;

        r = trace_filter_new(ret, program, rules);
        if (r == -EINVAL)
                snprintf(ret_why,
                         SESSION_FILTER_WHY_BYTES,
                         N_("the bytecode does not say what is allowed in Trace.packet"));
        if (r < 0)
                return r;
        program = NULL;
        rules = NULL;
        return 0;
}

/* The frame's length keeps its size, padded, so that the packet stays in its place. */
static size_t frame_shrink(uint8_t *frame, size_t n_header, size_t n_packet) {
        wire_put_padded_varint(frame + 1, n_header - 1, n_packet);
        return n_header + n_packet;
}

void session_filter_apply(TraceFilter *filter, Bytes *packets, size_t from) {
        uint8_t *to = packets->data + from;
        WireReader reader;
        WireField frame;

        wire_reader_init(&reader, to, packets->n - from);
        while (wire_read(&reader, &frame) > 0) {
                uint8_t *packet = packets->data + (frame.data - packets->data);
                size_t n_header = (size_t)(frame.data - frame.raw), n = frame.n_bytes;

                if (trace_filter_apply(filter, packet, &n) != 0)
                        continue;
                memmove(to, frame.raw, n_header);
                memmove(to + n_header, packet, n);
                to += frame_shrink(to, n_header, n);
        }
        packets->n = (size_t)(to - packets->data);
}
