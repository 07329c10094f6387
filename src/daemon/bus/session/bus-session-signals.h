/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Signals of what has changed in a session. */

#include "bus/object/bus-session.h"

void bus_session_signal_changes(BusSession *session);

/* Signals each data source that has started or ended. */
void bus_session_signal_sources(BusSession *session);

/* Signals totals and buffers, and sources that were not signalled with a change of state. */
void bus_session_signal_counters(BusSession *session);
