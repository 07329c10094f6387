/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The slices that a track event leaves open: 1 if it begins one, -1 if it ends one, 0 if it is of another type.
 */

#include "host/track-writer.h"
#include "wire/wire-reader.h"

#define FUZZ_EVENT_TYPE 9 /* perfetto.protos.TrackEvent.type */

static inline int64_t fuzz_opened_slices(WireReader event) {
        int64_t n = 0;
        WireField field;

        while (wire_read(&event, &field) > 0)
                if (field.number == FUZZ_EVENT_TYPE)
                        n += field.value == TRACK_EVENT_BEGIN ? 1
                                                              : -(field.value == TRACK_EVENT_END);
        return n;
}
