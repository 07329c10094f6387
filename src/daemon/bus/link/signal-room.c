/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signal room: how many signals the connections of one account are sent */

#include <stddef.h>

#include "bus/link/signal-room.h"
#include "shared/log-user.h"

/* The room of the user, which is made if need be. Returns NULL if too many users have one. */
static SignalCount *count_of(SignalRoom *room, uid_t user, uint64_t now) {
        SignalCount *unused = NULL;

        for (size_t i = 0; i < SIGNAL_USERS_MAX; i++) {
                SignalCount *count = &room->counts[i];

                if (count->until_ns > now && count->user == user)
                        return count;
                if (count->until_ns <= now && !unused)
                        unused = count;
        }
        if (unused)
                *unused = (SignalCount){ .user = user, .until_ns = now + SIGNALS_INTERVAL_NS };
        return unused;
}

static void tell(SignalCount *count) {
        if (count->is_told)
                return;
        count->is_told = true;
        log_user(count->user,
                 LOG_NOTICE,
                 "signals to user %u are left out: all of its connections together would be sent "
                 "more "
                 "than %d a second (SIGNALS_PER_USER_MAX)",
                 (unsigned)count->user,
                 SIGNALS_PER_USER_MAX);
}

bool signal_room_take(SignalRoom *room, uid_t user, bool is_awaited, uint64_t now) {
        SignalCount *count = count_of(room, user, now);

        if (!count)
                return true;
        if (count->n_sent >= (is_awaited ? SIGNALS_AWAITED_PER_USER_MAX : SIGNALS_PER_USER_MAX)) {
                tell(count);
                return false;
        }
        count->n_sent++;
        return true;
}
