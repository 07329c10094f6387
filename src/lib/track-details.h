/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What programs have said about their tracks, by dt_track_describe()
 *
 * Kept for good, since a later session wants to know it as well, and under the track's name, unit, id and parents, as
 * its uuid is another in each thread or not known yet. Readers take no lock: what is in the list never
 * changes and never goes.
 */

#include "lib/track.h"

/* What has been said; nothing else than zeros, if nothing has. Its texts stay. */
void track_details_get(dt_track_details *ret, const dt_track *track);
