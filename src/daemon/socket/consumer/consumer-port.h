/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ConsumerPort: Perfetto's protocol for programs that ask for recordings
 *
 * A connection has one session at a time: a session that it has started, attached to or cloned. The session ends with
 * its connection, unless it was detached under a key; then any connection of the same user that knows the key may
 * attach to it.
 */

#include "socket/link/port.h"

extern const PortService consumer_port;
