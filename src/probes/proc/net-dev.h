/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /proc/PID/net/dev: what network interfaces received and sent, as tracks
 *
 * An interface without any traffic has no tracks, and errors have a track once there are any.
 */

#include <stdint.h>

#include "host/track-writer.h"

#define NET_DEV_INTERFACES_MAX 512 /* in one file; each has up to eight tracks */

void net_dev_write_tracks(const char *text, TrackWriter *tracks, uint64_t now_ns);
