/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frames as programs write them for sysprof.
 */

#include <stdint.h>
#include <string.h>

#include "shared/macro.h"

#define CAPTURE_MAKER_BYTES 8192

typedef struct CaptureMaker {
        uint8_t data[CAPTURE_MAKER_BYTES];
        size_t n;
} CaptureMaker;

/* Returns the frame, of `n` bytes with its header, all else of which is zero. */
static inline uint8_t *
capture_add(CaptureMaker *maker, uint8_t type, int32_t pid, int64_t at_ns, size_t n) {
        uint8_t *frame = maker->data + maker->n;
        uint16_t n_frame;

        n = ALIGN_UP(n, 8);
        n_frame = (uint16_t)n;
        memset(frame, 0, n);
        memcpy(frame, &n_frame, sizeof(n_frame));
        memcpy(frame + 4, &pid, sizeof(pid));
        memcpy(frame + 8, &at_ns, sizeof(at_ns));
        frame[16] = type;
        maker->n += n;
        return frame;
}

static inline void capture_add_mark(CaptureMaker *maker,
                                    int32_t pid,
                                    int64_t begin_ns,
                                    int64_t duration_ns,
                                    const char *name,
                                    const char *message) {
        uint8_t *frame = capture_add(maker, 10, pid, begin_ns, 96 + strlen(message) + 1);

        memcpy(frame + 24, &duration_ns, sizeof(duration_ns));
        memcpy(frame + 32, "group", 6);
        memcpy(frame + 56, name, MIN(strlen(name), (size_t)40));
        memcpy(frame + 96, message, strlen(message) + 1);
}

static inline void capture_add_counter(CaptureMaker *maker,
                                       int32_t pid,
                                       int64_t at_ns,
                                       uint32_t id,
                                       uint8_t type,
                                       const char *name) {
        uint8_t *frame = capture_add(maker, 8, pid, at_ns, 32 + 128);
        const uint32_t id_and_type = id | (uint32_t)type << 24;
        const uint16_t n = 1;

        memcpy(frame + 24, &n, sizeof(n));
        memcpy(frame + 32 + 32, name, strlen(name));
        memcpy(frame + 32 + 116, &id_and_type, sizeof(id_and_type));
}

/* One slot, of up to eight. */
static inline void capture_add_values(CaptureMaker *maker,
                                      int32_t pid,
                                      int64_t at_ns,
                                      const uint32_t *ids,
                                      const int64_t *values,
                                      size_t n_values) {
        uint8_t *frame = capture_add(maker, 9, pid, at_ns, 32 + 96);
        const uint16_t n = 1;

        memcpy(frame + 24, &n, sizeof(n));
        memcpy(frame + 32, ids, n_values * sizeof(*ids));
        memcpy(frame + 32 + 32, values, n_values * sizeof(*values));
}
