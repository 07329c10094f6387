/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track arguments: the parts of an event besides its head: arguments, flows, the place in the source, a log message, …
 *
 * Also the interning that heads and arguments share: in each incremental state a text is written once, and after that
 * only its number. Fields are those of perfetto.protos.TrackEvent and DebugAnnotation.
 */

#include <endian.h>

#include "lib/track-text.h"
#include "lib/track.h"
#include "shared/macro.h"

/* Kinds of interned names: fields of perfetto.protos.InternedData whose entries have a text as field 2. */
enum {
        TRACK_INTERNED_CATEGORIES = 1,
        TRACK_INTERNED_NAMES = 2,
        TRACK_INTERNED_ARG_NAMES = 3,
        TRACK_INTERNED_LOG_BODIES = 20,
        TRACK_INTERNED_VALUES = 29,
};

void track_put_interned(WireWriter *interned, uint32_t kind, uint32_t iid, const char *text);

/* The number of a text; 0: it can have none, and must be written out. */
static inline uint32_t
track_number(WireWriter *interned, Intern *texts, uint32_t kind, const char *text) {
        uint32_t iid;
        int r;

        r = intern_text(texts, text, DT_TEXT_BYTES_MAX, &iid);
        if (UNLIKELY(r == INTERN_E_FULL))
                return 0;
        if (UNLIKELY(r == INTERN_E_NEW))
                track_put_interned(interned, kind, iid, text);
        return iid;
}

static inline bool track_category_known(const TrackStream *stream, const dt_category *category) {
        return stream->categories[category->number / 64] >> (category->number % 64) & 1;
}

/* The same for a category. */
static inline uint32_t
track_category_number(WireWriter *interned, TrackStream *stream, const dt_category *category) {
        uint64_t bit = UINT64_C(1) << (category->number % 64);
        uint64_t *known = &stream->categories[category->number / 64];

        if (UNLIKELY(!(*known & bit)))
                track_put_interned(
                        interned, TRACK_INTERNED_CATEGORIES, category->number + 1, category->name);
        *known |= bit;
        return category->number + 1;
}

/* Unchecked: the caller has reserved the room of the two varints. */
static inline uint8_t *track_put_uint(uint8_t *at, uint32_t field, uint64_t value) {
        return wire_encode_varint(wire_encode_varint(at, (uint64_t)field << 3), value);
}

static inline uint8_t *track_put_fixed64(uint8_t *at, uint32_t field, uint64_t value) {
        value = htole64(value);
        at = wire_encode_varint(at, (uint64_t)field << 3 | WIRE_FIXED64);
        return (uint8_t *)mempcpy(at, &value, sizeof(value));
}

/* Writes simple arguments, whose names the stream already has, up to `end`. Returns where they end, or NULL if
 * they are not simple or are too long. */
uint8_t *track_put_short_args(uint8_t *at,
                              const uint8_t *end,
                              TrackStream *stream,
                              const dt_arg *args,
                              size_t n_args);

/* Into the body of a TrackEvent. */
void track_put_args(WireWriter *packet,
                    WireWriter *interned,
                    TrackStream *stream,
                    const dt_arg *args,
                    size_t n_args);
