/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The trace filter of a session: made from its config, and applied to what is read from it.
 */

#include "config/config.h"
#include "packet/trace-filter.h"
#include "shared/bytes.h"

#define SESSION_FILTER_WHY_BYTES (PATTERN_WHY_BYTES + 64)

/* *ret is NULL when the config has none. Returns 0, -ENOMEM, or -EINVAL with the reason. */
int session_filter_new(TraceFilter **ret,
                       const Perfetto__Protos__TraceConfig *config,
                       char ret_why[static SESSION_FILTER_WHY_BYTES]);

/* Filters the framed packets from `from` on. Packets that end up empty are dropped. */
void session_filter_apply(TraceFilter *filter, Bytes *packets, size_t from);
