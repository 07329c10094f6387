/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Loads of integers that need not be aligned, in the byte order of the machine
 */

#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const uint8_t *at) {
        uint16_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static inline uint32_t load_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static inline uint64_t load_u64(const uint8_t *at) {
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}
