/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the service would have written into the trace at the next read, for the process that comes after this one: clock
 * snapshots and events of the session's life, as fields of a session's past (life/session-past.h).
 *
 * A session with an output is read often, and what is in the output by now is not known here; so it has none of these.
 */

#include "core/model/session.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

/* Numbers that change whenever past_put_unsaid() writes something else. */
uint64_t past_unsaid_revision(const Session *session);

void past_put_unsaid(WireWriter *writer, const Session *session, uint32_t clocks, uint32_t event);

/* One field of that kind each. Return 0, -EBADMSG or -ENOMEM. */
int past_take_clocks(Session *session, const WireField *field);
int past_take_event(Session *session, const WireField *field);
