/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track details: descriptions from dt_track_describe()
 *
 * They are kept for good, because later sessions need them as well, under the track's name, unit, id and parents: its
 * uuid differs in each thread or is not known yet. Readers take no lock: entries of the list never change and are never
 * removed.
 */

#include "lib/track.h"

/* The track's description; all zeros if it has none. Its texts stay valid. */
void track_details_get(dt_track_details *ret, const dt_track *track);
