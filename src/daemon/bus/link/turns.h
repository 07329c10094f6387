/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Turns: calls of the message bus, fair between users
 *
 * All messages of the bus come on one socket, in the order of the bus, so thousands of calls of one user would keep all
 * others waiting. So a user's calls are dispatched as they come only until they have taken their share of the time.
 * Later calls are set aside, and users with such calls take turns, one call each. If nobody else wants the time, this
 * costs nothing.
 *
 * A user's connections take turns in the same way: a call waits for as many calls of each other connection as its own
 * has had. Where there is no room for more, the call that would wait longest is refused.
 *
 * A call whose reply turns out to be long waits as well, until it is known whether its user floods the bus. Then it is
 * carried out a second time.
 *
 * It is a queue only: who has turns, and of what. The dispatcher says how long each turn took.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "shared/list.h"

/* The part of each period that one user's calls may take before later ones are set aside. */
#define TURNS_PERIOD_NS UINT64_C(50000000)
#define TURNS_SHARE_NS  UINT64_C(5000000)
/* The same while the bus is behind with reading earlier replies: messages to it wait in one queue, too. */
#define TURNS_SMALL_SHARE_NS UINT64_C(500000)
/* Time beyond the share counts in later periods, up to this much. */
#define TURNS_DEBT_NS_MAX UINT64_C(5000000000)

/* How long calls that were set aside may take before others have their turn. */
#define TURNS_RUN_NS UINT64_C(5000000)

/* Calls of one user that are set aside; more are refused. */
#define TURNS_CALLS_OF_A_FLOOD   512
#define TURNS_CALLS_PER_USER_MAX 4096
#define TURNS_BYTES_PER_USER_MAX (16u << 20)
#define TURNS_HELD_PER_USER_MAX  64

typedef struct Turns {
        List users;   /* TurnsUser */
        List waiting; /* TurnsUser with calls, whose turn comes first */
        uid_t running_user;
        uint64_t running_since; /* 0: nobody's call is being dispatched */
        uid_t behind_user;      /* whose call made the bus fall behind */
        uint64_t behind_since;  /* 0: it is not behind */
} Turns;

typedef enum TurnsAnswer {
        TURNS_NOW,
        TURNS_LATER, /* it was set aside */
        TURNS_FULL,
} TurnsAnswer;

void turns_init(Turns *turns);
void turns_deinit(Turns *turns);

/* The round of its user that a connection's last call is in. Zero-initialised is valid. */
typedef uint64_t TurnsRound;

/* A call has come. Times are CLOCK_MONOTONIC. A negative errno, or a TurnsAnswer. *ret_refused is NULL, or another call
 * of the user that gave way to this one, with a reference for the caller. */
int turns_take(Turns *turns,
               uid_t user,
               TurnsRound *round,
               sd_bus_message *call,
               uint64_t now_ns,
               uint64_t share_ns,
               sd_bus_message **ret_refused);

/* A call has been carried out, and its reply was kept back: it is the next one again, once it is due. Returns 0,
 * -ENOMEM, or TURNS_FULL. */
int turns_hold(Turns *turns, uid_t user, sd_bus_message *call, uint64_t due_ns);

/* The next call that was set aside or held, with a reference for the caller; NULL: no such call waits, or none is
 * due. */
sd_bus_message *turns_next(Turns *turns, uint64_t now_ns, bool *ret_was_held);
/* When the first one that is held is due; UINT64_MAX: none is. */
uint64_t turns_held_until(const Turns *turns);
bool turns_are_over(const Turns *turns);
bool turns_are_due(const Turns *turns, uint64_t now_ns); /* turns_next() has one */
/* Whether the number of the user's waiting calls means that it sends them faster than anybody looks at the replies. */
bool turns_is_flooding(const Turns *turns, uid_t user);

/* A call of the user is dispatched from now on. */
void turns_begin(Turns *turns, uid_t user, uint64_t now_ns);
/* It is done. As long as the bus is behind, the user who made it so is charged for that time. May be called at any
 * time. */
void turns_end(Turns *turns, bool bus_is_behind, uint64_t now_ns);

/* Whether anybody is charged for the time that passes: turns_end() would do nothing else. */
bool turns_is_charging(const Turns *turns);

/* Forgets users who have had no calls for a period. */
void turns_forget(Turns *turns, uint64_t now_ns);
