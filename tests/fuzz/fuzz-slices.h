/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packets that bridges write of what others have told them
 */

#include "fuzz.h"
#include "host/track-writer.h"
#include "wire/wire-reader.h"

#define FUZZ_EVENT_TYPE 9 /* perfetto.protos.TrackEvent.type */

#define FUZZ_PACKET_BYTES_MAX 4096

/* The slices that a track event leaves open: 1 if it begins one, -1 if it ends one, 0 if it is of another type. */
static inline int64_t fuzz_opened_slices(WireReader event) {
        int64_t n = 0;
        WireField field;

        while (wire_read(&event, &field) > 0)
                if (field.number == FUZZ_EVENT_TYPE)
                        n += field.value == TRACK_EVENT_BEGIN ? 1
                                                              : -(field.value == TRACK_EVENT_END);
        return n;
}

/* That it is well-formed and not large. Adds the slices that it leaves open. */
static inline void fuzz_check_packet(const void *packet, size_t n_bytes, int64_t *n_open) {
        WireReader reader, event;
        WireField field;
        int r;

        wire_reader_init(&reader, packet, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == PACKET_TRACK_EVENT) {
                        wire_reader_init_field(&event, &field);
                        *n_open += fuzz_opened_slices(event);
                }
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(n_bytes < FUZZ_PACKET_BYTES_MAX);
}
