/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Counters whose values are written as the difference from the one before, in the same stream. Readers begin at 0
 * when the stream starts over, and so does this code: what is known of the counters is forgotten with everything
 * else that the stream has written.
 */

#include <math.h>

#include "lib/pool.h"
#include "lib/track.h"

#define EXACT_MAX 0x1p53 /* whole numbers below this are exact in a double */

static TrackCount *find(const TrackStream *stream, uint64_t uuid) {
        for (unsigned i = 0; i < stream->n_counts; i++)
                if (stream->counts[i].uuid == uuid)
                        return &stream->counts[i];
        return NULL;
}

bool track_counts_add(TrackStream *stream, uint64_t uuid) {
        if (!stream->counts)
                stream->counts = pool_new(TRACK_COUNTS_MAX * sizeof(*stream->counts));
        /* The track was described again, as streams remember only a limited number of tracks. */
        if (stream->counts && find(stream, uuid))
                return true;
        if (!stream->counts || stream->n_counts == TRACK_COUNTS_MAX)
                return false;
        stream->counts[stream->n_counts++] = (TrackCount){ uuid, 0 };
        return true;
}

/* Readers add up doubles, whatever they are given. */
void track_counts_make_relative(TrackStream *stream, uint64_t uuid, TrackValue *value) {
        TrackCount *count = stream->n_counts > 0 ? find(stream, uuid) : NULL;
        double change;

        if (!count)
                return;
        change = (value->is_double ? value->as_double : (double)value->as_int) - count->last;
        /* NaN and infinities change nothing: once added, they would make every later sum wrong. */
        if (!isfinite(change))
                change = 0;
        count->last += change; /* as the reader has it */
        value->is_double =
                !(change > -EXACT_MAX && change < EXACT_MAX) || (double)(int64_t)change != change;
        if (value->is_double)
                value->as_double = change;
        else
                value->as_int = (int64_t)change;
}
