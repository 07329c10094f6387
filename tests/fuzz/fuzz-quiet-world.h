/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a service asks of a world where nothing happens but that time goes on
 *
 * Its userdata is that time: a uint64_t in nanoseconds.
 */

#include <string.h>

#include "core/service.h"

static inline size_t fuzz_read_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]) {
        const uint64_t *now = userdata;

        ret[0] = (ClockReading){ CLOCK_ID_BOOTTIME, *now };
        return 1;
}

static inline void fuzz_random(void *userdata, void *ret, size_t n_bytes) {
        memset(ret, 1, n_bytes);
}

static inline void fuzz_activate(void *userdata, size_t index) {
}

static inline bool fuzz_is_suspended(void *userdata, const Identity *identity) {
        return false;
}

static const ServiceOps fuzz_service_ops = {
        .read_clocks = fuzz_read_clocks,
        .random = fuzz_random,
        .activate = fuzz_activate,
        .is_suspended = fuzz_is_suspended,
};
