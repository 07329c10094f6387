/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What systemd has handed over, put together by the session that it belongs to
 */

#include "core/service.h"
#include "core/session-restore.h"
#include "shared/list.h"

/* What was found of a session. */
typedef struct Found {
        List link;
        uint64_t id;
        int state_fd;
        int output_fd, outbox_fd;
        uint64_t left_at, n_lost; /* of one that goes on */
        FormerBuffer buffers[SESSION_BUFFERS_MAX];
} Found;

/* Takes the descriptor over if it is a new one of a session. false: it is something else, or there is no memory. */
bool found_add(List *all, uint64_t id, char what, unsigned i, int fd);
/* With all its descriptors that nobody has taken. */
Found *found_free(Found *found);
