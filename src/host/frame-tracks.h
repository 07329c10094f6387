/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame tracks: frames as track events, in one shape for all sources
 *
 * A surface has a track of its process, with a slice from each frame to the next: "frame", or "late frame" if others
 * could have been in between, and a counter of frames in a second.
 */

#include "host/frames.h"
#include "host/track-writer.h"

/* Writes a frame that ended at `at_ns`, below the process's track. `label` says what kind of frame it is. */
void frame_tracks_write(TrackWriter *tracks,
                        uint64_t process,
                        const char *label,
                        const Frame *frame,
                        uint64_t at_ns);
