/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * sd-bus does not tell how long a message is. The arguments are weighed instead, as far as it takes to know that they
 * are long: the bus has looked at every byte of them as well, so weighing is no new way to cost time.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus/link/turns.h"
#include "bus/link/values.h"
#include "gate/gate.h"
#include "shared/macro.h"

#define CALL_BYTES      1024 /* of a message itself, and its header */
#define WEIGH_BYTES_MAX (64u << 10)

typedef struct TurnsCall {
        List link;
        sd_bus_message *message;
        size_t n_bytes;
        TurnsRound round;
        uint64_t due_ns; /* of one that is held */
} TurnsCall;

typedef struct TurnsUser {
        uid_t user;
        uint64_t period_began_ns;
        uint64_t spent_ns; /* of the period */
        List calls;        /* TurnsCall, by rounds */
        List held;         /* TurnsCall, which count as calls, too */
        size_t n_held;
        TurnsRound round;  /* of the call that was dispatched last */
        TurnsRound latest; /* that any call has been in */
        size_t n_calls, n_bytes;
        List link;         /* turns->users */
        List waiting_link; /* turns->waiting */
} TurnsUser;

void turns_init(Turns *turns) {
        *turns = (Turns){};
        list_init(&turns->users);
        list_init(&turns->waiting);
}

static TurnsUser *user_find(const Turns *turns, uid_t user) {
        TurnsUser *found;

        list_for_each (found, &turns->users, link)
                if (found->user == user)
                        return found;
        return NULL;
}

static TurnsUser *user_get(Turns *turns, uid_t user) {
        TurnsUser *found = user_find(turns, user);

        if (found)
                return found;
        found = calloc(1, sizeof(*found));
        if (!found)
                return NULL;
        found->user = user;
        list_init(&found->calls);
        list_init(&found->held);
        list_init(&found->waiting_link);
        list_append(&turns->users, &found->link);
        return found;
}

static void user_free(TurnsUser *user) {
        assert(user->n_calls == 0 && user->n_held == 0 && user->n_bytes == 0);
        list_unlink(&user->waiting_link);
        list_unlink(&user->link);
        free(user);
}

static sd_bus_message *user_remove(TurnsUser *user, TurnsCall *call) {
        sd_bus_message *message = call->message;

        list_unlink(&call->link);
        user->n_calls--;
        user->n_bytes -= call->n_bytes;
        free(call);
        return message;
}

static sd_bus_message *user_take(TurnsUser *user) {
        TurnsCall *call = list_first(&user->calls, TurnsCall, link);

        user->round = MAX(user->round, call->round);
        return user_remove(user, call);
}

static sd_bus_message *user_take_held(TurnsUser *user) {
        user->n_held--;
        return user_remove(user, list_first(&user->held, TurnsCall, link));
}

static TurnsCall *user_last(const TurnsUser *user) {
        return list_is_empty(&user->calls) ? NULL
                                           : list_entry(user->calls.previous, TurnsCall, link);
}

void turns_deinit(Turns *turns) {
        TurnsUser *user;

        list_for_each (user, &turns->users, link) {
                while (!list_is_empty(&user->calls))
                        sd_bus_message_unref(user_take(user));
                while (user->n_held > 0)
                        sd_bus_message_unref(user_take_held(user));
                user_free(user);
        }
        assert(list_is_empty(&turns->users) && list_is_empty(&turns->waiting));
}

/*
 * How long a message is
 */

/* Weighs all arguments, into each container and out of it again. A message that cannot be read counts as long. */
static size_t weigh_arguments(sd_bus_message *message) {
        unsigned depth = 0;
        size_t n = 0;

        while (n < WEIGH_BYTES_MAX) {
                const char *contents;
                char type;
                int r;

                r = sd_bus_message_peek_type(message, &type, &contents);
                if (r == 0 && depth == 0)
                        return n;
                if (r == 0) {
                        depth--;
                        r = sd_bus_message_exit_container(message);
                } else if (r > 0) {
                        r = value_step(message, type, contents);
                        depth += r == VALUE_ENTERED;
                        n += r > 0 ? (size_t)r : 0;
                }
                if (r < 0)
                        break;
        }
        return GATE_MESSAGE_BYTES_MAX;
}

static size_t weigh(sd_bus_message *message) {
        const size_t n = weigh_arguments(message);

        sd_bus_message_rewind(message, true);
        return CALL_BYTES + n;
}

/*
 * Turns
 */

/* Each period gives a share back. */
static void user_go_on(TurnsUser *user, uint64_t now_ns) {
        const uint64_t n_periods = (now_ns - user->period_began_ns) / TURNS_PERIOD_NS;
        const uint64_t n_given =
                MIN(n_periods, TURNS_DEBT_NS_MAX / TURNS_SHARE_NS) * TURNS_SHARE_NS;

        if (n_periods == 0)
                return;
        user->period_began_ns = now_ns;
        user->spent_ns -= MIN(user->spent_ns, n_given);
}

static bool
user_has_share(const Turns *turns, TurnsUser *user, uint64_t now_ns, uint64_t share_ns) {
        const bool is_behind = turns->behind_since > 0 && turns->behind_user == user->user;

        user_go_on(user, now_ns);
        return user->n_calls == 0 && user->spent_ns < share_ns && !is_behind;
}

/* The round of a connection's next call. A round from before the user was forgotten means nothing. */
static TurnsRound user_round(const TurnsUser *user, TurnsRound before) {
        return (before > user->latest ? user->round : MAX(before, user->round)) + 1;
}

static bool user_has_room(const TurnsUser *user, size_t n_bytes) {
        return user->n_calls < TURNS_CALLS_PER_USER_MAX &&
               user->n_bytes + n_bytes <= TURNS_BYTES_PER_USER_MAX;
}

/* Inserts the call behind all calls of its round and of earlier ones. */
static void user_insert(TurnsUser *user, TurnsCall *call) {
        List *before = &user->calls;

        while (before->previous != &user->calls &&
               list_entry(before->previous, TurnsCall, link)->round > call->round)
                before = before->previous;
        list_insert_before(before, &call->link);
        user->n_calls++;
        user->n_bytes += call->n_bytes;
        user->latest = MAX(user->latest, call->round);
}

static int user_keep(TurnsUser *user,
                     TurnsRound *round,
                     sd_bus_message *message,
                     sd_bus_message **ret_refused) {
        const TurnsRound own = user_round(user, *round);
        const size_t n_bytes = weigh(message);
        TurnsCall *last = user_last(user), *call;

        if (!user_has_room(user, n_bytes) && last && last->round > own)
                *ret_refused = user_remove(user, last);
        if (!user_has_room(user, n_bytes))
                return TURNS_FULL;
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (TurnsCall){ .message = sd_bus_message_ref(message),
                             .n_bytes = n_bytes,
                             .round = own };
        user_insert(user, call);
        *round = own;
        return TURNS_LATER;
}

int turns_take(Turns *turns,
               uid_t user,
               TurnsRound *round,
               sd_bus_message *call,
               uint64_t now_ns,
               uint64_t share_ns,
               sd_bus_message **ret_refused) {
        TurnsUser *found = user_get(turns, user);
        int r;

        *ret_refused = NULL;
        if (!found)
                return -ENOMEM;
        if (user_has_share(turns, found, now_ns, share_ns))
                return TURNS_NOW;
        r = user_keep(found, round, call, ret_refused);
        if (!list_is_empty(&found->calls) && !list_is_linked(&found->waiting_link))
                list_append(&turns->waiting, &found->waiting_link);
        return r;
}

int turns_hold(Turns *turns, uid_t user, sd_bus_message *message, uint64_t due_ns) {
        TurnsUser *found = user_get(turns, user);
        const size_t n_bytes = weigh(message);
        TurnsCall *call;

        if (!found)
                return -ENOMEM;
        if (found->n_held >= TURNS_HELD_PER_USER_MAX || !user_has_room(found, n_bytes))
                return TURNS_FULL;
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (TurnsCall){ .message = sd_bus_message_ref(message),
                             .n_bytes = n_bytes,
                             .due_ns = due_ns };
        list_append(&found->held, &call->link);
        found->n_held++;
        found->n_calls++;
        found->n_bytes += n_bytes;
        return 0;
}

/* The user whose held call is due first; NULL: no call is held. */
static TurnsUser *find_held(const Turns *turns, uint64_t *ret_due_ns) {
        TurnsUser *user, *first = NULL;

        *ret_due_ns = UINT64_MAX;
        list_for_each (user, &turns->users, link) {
                const TurnsCall *call = list_first(&user->held, TurnsCall, link);

                if (!call || call->due_ns >= *ret_due_ns)
                        continue;
                first = user;
                *ret_due_ns = call->due_ns;
        }
        return first;
}

uint64_t turns_held_until(const Turns *turns) {
        uint64_t due_ns;

        find_held(turns, &due_ns);
        return due_ns;
}

sd_bus_message *turns_next(Turns *turns, uint64_t now_ns, bool *ret_was_held) {
        uint64_t due_ns;
        TurnsUser *user = find_held(turns, &due_ns);
        sd_bus_message *message;

        *ret_was_held = user && due_ns <= now_ns;
        if (*ret_was_held)
                return user_take_held(user);
        user = list_first(&turns->waiting, TurnsUser, waiting_link);
        if (!user)
                return NULL;
        message = user_take(user);
        list_unlink(&user->waiting_link);
        if (!list_is_empty(&user->calls))
                list_append(&turns->waiting, &user->waiting_link);
        return message;
}

bool turns_are_over(const Turns *turns) {
        return list_is_empty(&turns->waiting) && turns_held_until(turns) == UINT64_MAX;
}

bool turns_are_due(const Turns *turns, uint64_t now_ns) {
        return !list_is_empty(&turns->waiting) || turns_held_until(turns) <= now_ns;
}

bool turns_is_flooding(const Turns *turns, uid_t user) {
        const TurnsUser *found = user_find(turns, user);

        return found && found->n_calls >= TURNS_CALLS_OF_A_FLOOD;
}

void turns_begin(Turns *turns, uid_t user, uint64_t now_ns) {
        turns->running_user = user;
        turns->running_since = now_ns;
}

static void charge(const Turns *turns, uid_t user, uint64_t since_ns, uint64_t now_ns) {
        TurnsUser *found = user_find(turns, user);

        if (found)
                found->spent_ns = MIN(found->spent_ns + (now_ns - since_ns), TURNS_DEBT_NS_MAX);
}

void turns_end(Turns *turns, bool bus_is_behind, uint64_t now_ns) {
        if (turns->behind_since > 0) {
                charge(turns, turns->behind_user, turns->behind_since, now_ns);
                turns->behind_since = bus_is_behind ? now_ns : 0;
        } else if (bus_is_behind && turns->running_since > 0) {
                turns->behind_user = turns->running_user;
                turns->behind_since = now_ns;
        }
        if (turns->running_since > 0)
                charge(turns, turns->running_user, turns->running_since, now_ns);
        turns->running_since = 0;
}

bool turns_is_charging(const Turns *turns) {
        return turns->running_since > 0 || turns->behind_since > 0;
}

static bool is_charged(const Turns *turns, const TurnsUser *user) {
        return (turns->running_since > 0 && turns->running_user == user->user) ||
               (turns->behind_since > 0 && turns->behind_user == user->user);
}

void turns_forget(Turns *turns, uint64_t now_ns) {
        TurnsUser *user;

        list_for_each (user, &turns->users, link) {
                user_go_on(user, now_ns);
                if (user->n_calls == 0 && user->spent_ns == 0 && !is_charged(turns, user))
                        user_free(user);
        }
}
