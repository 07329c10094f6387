/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The clones that triggers ask for.
 */

#include "core/model/peer.h"

/* Takes the first snapshot that is due by `now`; false: none is due. */
bool session_take_snapshot(Session *session, uint64_t due_by, uint64_t now);
