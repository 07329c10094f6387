/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between the files of libdesktrace-glib. */

#include <desktrace/desktrace-glib.h>
#include <desktrace/track-event.h>

/* The arguments of an event, valid as long as `args`; none if it is NULL. */
const dt_arg *args_list(const DtGlibArgs *args, gsize *ret_n);

/* NULL for NULL. */
const dt_track *track_get(const DtGlibTrack *track);

/* What the slice's own track is taken from. */
dt_lanes *lanes_get(DtGlibLanes *lanes);
