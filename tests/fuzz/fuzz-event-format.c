/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A format file up to the first NUL, behind a byte of which the lowest bit chooses the kernel's word size; what follows
 * are records, each with a length before it. Whatever the format says, nothing is read outside of a record, and what is
 * written is a message, the same in both ways of writing it.
 */

#include "fuzz.h"
#include "probes/ftrace/event-encoder.h"
#include "wire/wire-reader.h"

#define RECORD_BYTES_MAX 255

/* Also what is in it, two levels deep: event, body. */
static void check_message(const uint8_t *message, size_t n, unsigned depth) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, message, n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (depth > 0 && field.type == WIRE_BYTES)
                        check_message(field.data, field.n_bytes, depth - 1);
        FUZZ_CHECK(r == 0);
}

/* Field by field it is the same. */
static void
check_slow_way(EventEncoder encoder, const uint8_t *record, uint32_t n, const WireWriter *same) {
        static uint8_t memory[256u << 10];
        WireWriter wire;

        encoder.is_plain = false;
        wire_writer_init(&wire, memory, sizeof(memory));
        FUZZ_CHECK(event_encode(&encoder, &wire, 1, record, n, NULL));
        FUZZ_CHECK(wire_writer_size(&wire) == wire_writer_size(same));
        FUZZ_CHECK(memcmp(memory, same->start, wire_writer_size(same)) == 0);
}

static void encode(const EventEncoder *encoder, const uint8_t *data, uint32_t n) {
        static uint8_t memory[256u << 10];
        uint8_t *record = malloc(n + 1u); /* of its own, for the sanitizers */
        WireWriter wire;

        if (!record)
                return;
        memcpy(record, data, n);
        wire_writer_init(&wire, memory, sizeof(memory));
        if (event_encode(encoder, &wire, 1, record, n, NULL)) {
                FUZZ_CHECK(!wire_writer_failed(&wire));
                check_message(memory, wire_writer_size(&wire), 2);
                check_slow_way(*encoder, record, n, &wire);
        } else
                FUZZ_CHECK(n < encoder->n_bytes_min && wire_writer_size(&wire) == 0);
        free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        unsigned long_size = fuzz_take(&input) & 1 ? 4 : 8;
        const uint8_t *text = input.at, *end;
        EventEncoder *encoder;
        EventFormat *format;
        const uint8_t *record;
        size_t n;

        end = input.n_left > 0 ? memchr(text, '\0', input.n_left) : NULL;
        n = end ? (size_t)(end - text) : input.n_left;
        if (event_format_parse_words(&format, "group", (const char *)text, n, long_size) != 0)
                return 0;
        FUZZ_CHECK(event_encoder_new(&encoder, format) == 0);
        FUZZ_CHECK(encoder->n_fields <= format->n_fields);
        event_format_free(format);
        input.at += n + (end != NULL);
        input.n_left -= n + (end != NULL);
        while (input.n_left > 0) {
                n = fuzz_take_bytes(&input, fuzz_take(&input) % RECORD_BYTES_MAX, &record);
                encode(encoder, record, (uint32_t)n);
        }
        event_encoder_free(encoder);
        return 0;
}
