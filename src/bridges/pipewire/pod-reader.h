/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Pod reader: values as PipeWire sends them
 *
 * Sans-I/O, and allocates nothing. A pod is a size, a type and a body, padded to 8 bytes; structs and objects are pods
 * in a row. Everything is in the byte order of the machine. The input may be anything: nothing outside of it is read,
 * and bytes that are no pod end the row.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PodType {
        POD_INT = 4,
        POD_LONG = 5,
        POD_FLOAT = 6,
        POD_DOUBLE = 7,
        POD_STRING = 8,
        POD_FRACTION = 11,
        POD_STRUCT = 14,
        POD_OBJECT = 15,
} PodType;

typedef struct PodReader {
        const uint8_t *at;
        size_t n;
} PodReader;

typedef struct Pod {
        uint32_t type;
        const uint8_t *body;
        size_t n_body;
} Pod;

typedef struct PodFraction {
        uint32_t number, of;
} PodFraction;

static inline void pod_reader_init(PodReader *reader, const void *data, size_t n) {
        *reader = (PodReader){ data, n };
}

/* Returns false at the end, or if the bytes are not a pod; what follows those cannot be read. */
bool pod_next(PodReader *reader, Pod *ret);
/* The same for an object's properties. */
bool pod_next_property(PodReader *reader, uint32_t *ret_key, Pod *ret);

/* Begins to read a struct's pods. Returns false if the pod is not a struct. */
bool pod_struct(const Pod *pod, PodReader *ret);
/* The same for an object of that type. */
bool pod_object(const Pod *pod, uint32_t type, PodReader *ret);

/* Take the next pod if it is of that type. Otherwise they return false, and the reader is at its end. */
bool pod_take_int(PodReader *reader, int32_t *ret);
bool pod_take_long(PodReader *reader, int64_t *ret);
bool pod_take_float(PodReader *reader, double *ret);
bool pod_take_fraction(PodReader *reader, PodFraction *ret);
/* Text is cut to what fits, and made printable. */
bool pod_take_text(PodReader *reader, char *text, size_t n_text);
/* Skips a pod of any type. */
bool pod_skip(PodReader *reader, size_t n_pods);
