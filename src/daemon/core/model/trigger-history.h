/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trigger history: how often triggers were hit lately
 *
 * Two memories, both bounded. Of each user's sessions: when each trigger was hit in the last 24 hours, for
 * max_per_24_h, which outlives the sessions. And of each user who sends triggers that somebody listens to: how many
 * they may still send now, so that a program that sends them in a loop is a bother only to itself. One user's
 * triggers never count for another user's sessions. What is remembered is bounded by login user (ServiceOps.user_of),
 * of which each may have many uids. Embedded in the service.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/list.h"

#define TRIGGER_HISTORY_NS       (UINT64_C(24) * 3600 * 1000000000)
#define TRIGGER_HISTORY_HITS_MAX 1024 /* of one trigger; a larger max_per_24_h counts as this */
#define TRIGGER_HISTORY_NAMES_MAX \
        128 /* of one user; the one that was hit longest ago is forgotten */

#define TRIGGER_SENDS_MAX  100 /* at once, of one user */
#define TRIGGER_SENDS_RATE 10  /* a second, from then on */

/* Whose sessions a trigger is for. They are counted apart, as the limit must not tell whether others listen. */
typedef enum TriggerReach {
        TRIGGER_REACH_OWN,
        TRIGGER_REACH_OTHERS,
        _TRIGGER_REACH_N,
} TriggerReach;

typedef struct TriggerHistory {
        List hits;                      /* HitHistory */
        List senders[_TRIGGER_REACH_N]; /* SendHistory */
        uint64_t round;
} TriggerHistory;

void trigger_history_init(TriggerHistory *history);
void trigger_history_deinit(TriggerHistory *history);

/* Another activation: hits that are added from now on do not count before the next one. */
void trigger_history_begin(TriggerHistory *history);

/* How often this trigger was hit in the 24 hours before this activation, in sessions of that user. */
uint64_t
trigger_history_count(TriggerHistory *history, uid_t uid, const char *trigger, uint64_t now);

/* Once in an activation, however many sessions are hit. `user` is the login user of the uid. Out of memory forgets
 * it. */
void trigger_history_add(TriggerHistory *history,
                         uid_t user,
                         uid_t uid,
                         const char *trigger,
                         uint64_t now);

/* Whether this login user may send one more now; then it is counted. */
bool trigger_history_may_send(TriggerHistory *history,
                              TriggerReach reach,
                              uid_t sender,
                              uint64_t now);
