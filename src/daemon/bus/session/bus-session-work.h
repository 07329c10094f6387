/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is done for a session in a turn of the main loop. */

#include "owner/owned-session.h"

/* What the D-Bus transport does for its owned sessions. */
extern const OwnedOps bus_owned_ops;
