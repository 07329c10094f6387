/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Array text: the arrays in a tracepoint's record, as text for people
 *
 * Messages of generic events only have numbers and texts, and readers show bytes as if they were text. So an address
 * becomes "aa:bb:cc:00:11:22", a list of numbers "1 2 3", and a set of CPUs "0-3,8", as everywhere in /sys.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-writer.h"

#define ARRAY_TEXT_BYTES_MAX 512 /* longer texts end in "..." */

typedef struct ArrayShape {
        uint8_t element_size; /* 1, 2, 4 or 8 */
        bool is_signed;
        bool is_mask;
} ArrayShape;

/* Appends a field with the text of these `n_bytes` of elements. An incomplete last element is left out. */
void array_put_text(WireWriter *wire,
                    uint32_t number,
                    ArrayShape shape,
                    const uint8_t *data,
                    size_t n_bytes);

/* Appends one varint for each element. */
void array_put_numbers(WireWriter *wire,
                       uint32_t number,
                       ArrayShape shape,
                       const uint8_t *data,
                       size_t n_bytes);

/* Reads an integer of a record, which need not be aligned. */
uint64_t array_load(const uint8_t *at, size_t size);
int64_t array_load_signed(const uint8_t *at, size_t size);
