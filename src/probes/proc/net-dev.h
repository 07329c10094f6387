/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /proc/PID/net/dev: what network interfaces received and sent, as tracks
 *
 * An interface that nothing went over has no tracks, and errors have one when there are any.
 */

#include <stdint.h>

#include "host/track-writer.h"

#define NET_DEV_INTERFACES_MAX 512 /* that are looked at; each has up to eight tracks */

void net_dev_write_tracks(const char *text, TrackWriter *tracks, uint64_t now_ns);
