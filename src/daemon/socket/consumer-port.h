/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ConsumerPort: Perfetto's protocol for programs that ask for recordings
 */

#include "port.h"

extern const PortService consumer_port;
