/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first byte says how many words of bytecode follow, four bytes each, which get their checksum here; then comes a
 * packet. A filter never makes a packet longer, and what comes out of one that drops nothing but fields is a message.
 */

#include "../unit/core/filter-bytecode.h"
#include "fuzz.h"
#include "packet/trace-filter.h"
#include "wire/wire-reader.h"

static const uint32_t head[] = { OP(1, OP_NESTED), 1, OP_END };

#define WORDS_MAX 96

static void check_message(const uint8_t *message, size_t n) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, message, n);
        while ((r = wire_read(&reader, &field)) > 0)
                continue;
        FUZZ_CHECK(r == 0);
}

static void check_packet(TraceFilter *filter, const uint8_t *data, size_t n_data) {
        uint8_t *packet = malloc(n_data + 1); /* of its own, for the sanitizers */
        size_t n = n_data;

        if (!packet)
                return;
        if (n > 0)
                memcpy(packet, data, n);
        if (trace_filter_apply(filter, packet, &n) == 0) {
                FUZZ_CHECK(n > 0 && n <= n_data);
                check_message(packet, n);
        }
        free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        static const StringRule rule = { .policy = STRING_MATCH_REDACT, .pattern = "a*(b+).*" };
        FuzzInput input = { data, n_bytes };
        uint32_t words[WORDS_MAX];
        size_t n_words = sizeof(head) / sizeof(head[0]);
        size_t n = n_words + fuzz_take(&input) % (WORDS_MAX - n_words);
        uint8_t code[WORDS_MAX * WIRE_VARINT_MAX];
        char why[PATTERN_WHY_BYTES];
        FilterProgram *program;
        TraceFilter *filter;
        StringRules *rules;
        const char *refusal;

        memcpy(words, head, sizeof(head));
        while (n_words < n) {
                words[n_words] = fuzz_take_16(&input);
                words[n_words++] |= (uint32_t)fuzz_take_16(&input) << 16;
        }
        n = bytecode_put(code, sizeof(code), words, n_words);
        if (filter_program_new(&program, code, n, NULL, 0, &refusal) != 0)
                return 0;
        FUZZ_CHECK(string_rules_new(&rules) == 0);
        FUZZ_CHECK(string_rules_add(rules, &rule, why) == 0);
        FUZZ_CHECK(trace_filter_new(&filter, program, rules) == 0);
        check_packet(filter, input.at, input.n_left);
        trace_filter_free(filter);
        return 0;
}
