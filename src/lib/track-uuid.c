/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track uuids: the number of a track, which follows from its name, its unit, its id and its parents */

#include "lib/source-private.h"
#include "lib/track-text.h"
#include "lib/track.h"

/* Identified by their addresses; the names are only for readers who do not know that. */
DT_EXPORT const dt_track dt_thread_track = DT_TRACK("thread", 0);
DT_EXPORT const dt_track dt_root_track = DT_TRACK("trace", 0);

uint64_t track_hash(const dt_track *track, uint64_t process, uint64_t thread, uint64_t root) {
        uint64_t hash;

        if (!track)
                return process;
        if (track == &dt_thread_track)
                return thread;
        if (track == &dt_root_track)
                return root;
        hash = track_hash(track->parent, process, thread, root);
        hash = intern_hash(hash ^ track->id, track->name, track_text_bytes(track->name));
        if (track->unit)
                hash = intern_hash(hash, track->unit, track_text_bytes(track->unit));
        return hash ?: 1;
}

uint64_t track_uuid(const dt_track *track, uint64_t thread_uuid) {
        return track_hash(track, track_process_uuid, thread_uuid, TRACK_ROOT_UUID);
}
