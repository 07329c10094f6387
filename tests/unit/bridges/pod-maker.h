/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Events of PipeWire's profiler, as it sends them.
 */

#include <stdint.h>
#include <string.h>

#include "bridges/pipewire/pod-reader.h"
#include "shared/macro.h"

#define POD_MAKER_BYTES (64u << 10)

typedef struct PodMaker {
        uint8_t data[POD_MAKER_BYTES];
        size_t n;
} PodMaker;

static inline void pod_put(PodMaker *maker, const void *data, size_t n) {
        memcpy(maker->data + maker->n, data, n);
        maker->n += n;
}

static inline void pod_put_u32(PodMaker *maker, uint32_t value) {
        pod_put(maker, &value, sizeof(value));
}

/* Any pod with a body. */
static inline void pod_add(PodMaker *maker, uint32_t type, const void *body, size_t n) {
        pod_put_u32(maker, (uint32_t)n);
        pod_put_u32(maker, type);
        pod_put(maker, body, n);
        while (maker->n % 8 != 0)
                maker->data[maker->n++] = 0;
}

static inline void pod_add_int(PodMaker *maker, int32_t value) {
        pod_add(maker, POD_INT, &value, sizeof(value));
}

static inline void pod_add_long(PodMaker *maker, int64_t value) {
        pod_add(maker, POD_LONG, &value, sizeof(value));
}

static inline void pod_add_float(PodMaker *maker, float value) {
        pod_add(maker, POD_FLOAT, &value, sizeof(value));
}

static inline void pod_add_text(PodMaker *maker, const char *text) {
        pod_add(maker, POD_STRING, text, strlen(text) + 1);
}

static inline void pod_add_fraction(PodMaker *maker, uint32_t number, uint32_t of) {
        pod_add(maker, POD_FRACTION, (const uint32_t[]){ number, of }, 8);
}

/* Returns where it begins, for pod_close(). */
static inline size_t pod_open(PodMaker *maker, uint32_t type) {
        const size_t begin = maker->n;

        pod_put_u32(maker, 0);
        pod_put_u32(maker, type);
        return begin;
}

static inline void pod_close(PodMaker *maker, size_t begin) {
        const uint32_t n = (uint32_t)(maker->n - begin - 8);

        memcpy(maker->data + begin, &n, sizeof(n));
}

/* A struct within an object; closed by pod_close(). */
static inline size_t pod_open_property(PodMaker *maker, uint32_t key) {
        pod_put_u32(maker, key);
        pod_put_u32(maker, 0);
        return pod_open(maker, POD_STRUCT);
}

static inline size_t pod_open_cycle(PodMaker *maker) {
        const size_t begin = pod_open(maker, POD_OBJECT);

        pod_put_u32(maker, 0x4000a);
        pod_put_u32(maker, 0);
        return begin;
}

static inline void pod_add_info(PodMaker *maker, int64_t number, float load, int32_t n_xruns) {
        const size_t begin = pod_open_property(maker, 0x10001);

        pod_add_long(maker, number);
        for (int i = 0; i < 3; i++)
                pod_add_float(maker, load);
        pod_add_int(maker, n_xruns);
        pod_close(maker, begin);
}

static inline void pod_add_clock(PodMaker *maker, int64_t at_ns, int64_t next_ns) {
        const size_t begin = pod_open_property(maker, 0x10002);
        const double rate_difference = 1;

        pod_add_int(maker, 0);
        pod_add_int(maker, 30);
        pod_add_text(maker, "clock.system.monotonic");
        pod_add_long(maker, at_ns);
        pod_add_fraction(maker, 1, 48000);
        pod_add_long(maker, 0);
        pod_add_long(maker, 1024);
        pod_add_long(maker, 0);
        pod_add(maker, POD_DOUBLE, &rate_difference, sizeof(rate_difference));
        pod_add_long(maker, next_ns);
        pod_close(maker, begin);
}

static inline void pod_add_node(PodMaker *maker,
                                uint32_t key,
                                int32_t id,
                                const char *name,
                                const int64_t times_ns[static 3],
                                int32_t status) {
        const size_t begin = pod_open_property(maker, key);

        pod_add_int(maker, id);
        pod_add_text(maker, name);
        pod_add_long(maker, 0);
        for (int i = 0; i < 3; i++)
                pod_add_long(maker, times_ns[i]);
        pod_add_int(maker, status);
        pod_add_fraction(maker, 1024, 48000);
        pod_close(maker, begin);
}
