/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ProducerPort: Perfetto's protocol for programs that record events
 */

#include "socket/link/port.h"

extern const PortService producer_port;
