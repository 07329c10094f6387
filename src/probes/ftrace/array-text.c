/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Array text: the arrays in a tracepoint's record, as text for people */

#include <stdio.h>
#include <string.h>

#include "probes/ftrace/array-text.h"
#include "shared/macro.h"

#define ELEMENT_BYTES_MAX \
        24 /* the text of one element: a separator and a number, or two numbers and a dash */

typedef struct Text {
        char bytes[ARRAY_TEXT_BYTES_MAX];
        size_t n;
} Text;

uint64_t array_load(const uint8_t *at, size_t size) {
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;

        switch (size) {
        case 1:
                return *at;
        case 2:
                memcpy(&u16, at, sizeof(u16));
                return u16;
        case 4:
                memcpy(&u32, at, sizeof(u32));
                return u32;
        default:
                memcpy(&u64, at, sizeof(u64));
                return u64;
        }
}

int64_t array_load_signed(const uint8_t *at, size_t size) {
        unsigned n_unused = (unsigned)(64 - 8 * size);

        return (int64_t)(array_load(at, size) << n_unused) >> n_unused;
}

/* Returns false if the text is full, which is marked in the text. */
static bool text_has_room(Text *text) {
        if (text->n + ELEMENT_BYTES_MAX + 4 <= sizeof(text->bytes))
                return true;
        memcpy(text->bytes + text->n, "...", 3);
        text->n += 3;
        return false;
}

static void text_add_element(Text *text, ArrayShape shape, const uint8_t *at) {
        char *to = text->bytes + text->n;
        size_t n_max = sizeof(text->bytes) - text->n;
        int n;

        if (shape.element_size == 1)
                n = snprintf(to, n_max, "%s%02x", text->n ? ":" : "", *at);
        else if (shape.is_signed)
                n = snprintf(to,
                             n_max,
                             "%s%lld",
                             text->n ? " " : "",
                             (long long)array_load_signed(at, shape.element_size));
        else
                n = snprintf(to,
                             n_max,
                             "%s%llu",
                             text->n ? " " : "",
                             (unsigned long long)array_load(at, shape.element_size));
        text->n += (size_t)n;
}

static void text_add_range(Text *text, size_t first, size_t last) {
        char *to = text->bytes + text->n;
        size_t n_max = sizeof(text->bytes) - text->n;
        const char *comma = text->n ? "," : "";
        int n = first == last ? snprintf(to, n_max, "%s%zu", comma, first)
                              : snprintf(to, n_max, "%s%zu-%zu", comma, first, last);

        text->n += (size_t)n;
}

/* The kernel's bitmaps are arrays of longs. */
static bool mask_has(const uint8_t *data, size_t word_size, size_t bit) {
        size_t n_bits = 8 * word_size;

        return array_load(data + bit / n_bits * word_size, word_size) >> bit % n_bits & 1;
}

static void text_add_mask(Text *text, ArrayShape shape, const uint8_t *data, size_t n_bytes) {
        size_t n_bits = 8 * n_bytes, first;

        for (size_t bit = 0; bit < n_bits; bit++) {
                if (!mask_has(data, shape.element_size, bit))
                        continue;
                first = bit;
                while (bit + 1 < n_bits && mask_has(data, shape.element_size, bit + 1))
                        bit++;
                if (!text_has_room(text))
                        return;
                text_add_range(text, first, bit);
        }
}

void array_put_text(WireWriter *wire,
                    uint32_t number,
                    ArrayShape shape,
                    const uint8_t *data,
                    size_t n_bytes) {
        Text text;

        text.n = 0;
        n_bytes -= n_bytes % shape.element_size;
        if (shape.is_mask)
                text_add_mask(&text, shape, data, n_bytes);
        else
                for (size_t i = 0; i < n_bytes && text_has_room(&text); i += shape.element_size)
                        text_add_element(&text, shape, data + i);
        wire_put_bytes(wire, number, text.bytes, text.n);
}

void array_put_numbers(WireWriter *wire,
                       uint32_t number,
                       ArrayShape shape,
                       const uint8_t *data,
                       size_t n_bytes) {
        for (size_t i = 0; i + shape.element_size <= n_bytes; i += shape.element_size)
                if (shape.is_signed)
                        wire_put_int(wire, number, array_load_signed(data + i, shape.element_size));
                else
                        wire_put_uint(wire, number, array_load(data + i, shape.element_size));
}
