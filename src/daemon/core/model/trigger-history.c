/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Two memories of triggers: hits of a day, and what each sender may still send. */

#include <errno.h>

#include "core/model/trigger-history.h"

/* The hits of one trigger: a queue of times, oldest first. */
typedef struct HitHistory {
        List link;  /* the one that was hit last is last */
        uid_t user; /* who is charged */
        uid_t uid;
        uint64_t *times;
        size_t n_times, n_allocated;
        uint64_t counted_round; /* n_counted is of */
        uint64_t n_counted;
        uint64_t added_round;
        char trigger[];
} HitHistory;

#define NS_PER_SEND (UINT64_C(1000000000) / TRIGGER_SENDS_RATE)

/* What a user may send fills up again with time: all of it is there from full_at on. */
typedef struct SendHistory {
        List link;
        uid_t user;
        uint64_t full_at;
} SendHistory;

static HitHistory *hits_free(HitHistory *hits) {
        list_unlink(&hits->link);
        free(hits->times);
        free(hits);
        return NULL;
}

static SendHistory *sends_free(SendHistory *sends) {
        list_unlink(&sends->link);
        free(sends);
        return NULL;
}

void trigger_history_init(TriggerHistory *history) {
        *history = (TriggerHistory){};
        list_init(&history->hits);
        for (size_t i = 0; i < _TRIGGER_REACH_N; i++)
                list_init(&history->senders[i]);
}

void trigger_history_deinit(TriggerHistory *history) {
        HitHistory *hits;
        SendHistory *sends;

        list_for_each (hits, &history->hits, link)
                hits_free(hits);
        for (size_t i = 0; i < _TRIGGER_REACH_N; i++)
                list_for_each (sends, &history->senders[i], link)
                        sends_free(sends);
}

void trigger_history_begin(TriggerHistory *history) {
        history->round++;
}

static HitHistory *hits_find(const TriggerHistory *history, uid_t uid, const char *trigger) {
        HitHistory *hits;

        list_for_each (hits, &history->hits, link)
                if (hits->uid == uid && streq(hits->trigger, trigger))
                        return hits;
        return NULL;
}

static void hits_forget(HitHistory *hits, size_t n) {
        hits->n_times -= n;
        memmove(hits->times, hits->times + n, hits->n_times * sizeof(*hits->times));
}

static void hits_expire(HitHistory *hits, uint64_t now) {
        size_t n = 0;

        while (n < hits->n_times && hits->times[n] + TRIGGER_HISTORY_NS <= now)
                n++;
        if (n > 0)
                hits_forget(hits, n);
}

uint64_t
trigger_history_count(TriggerHistory *history, uid_t uid, const char *trigger, uint64_t now) {
        HitHistory *hits = hits_find(history, uid, trigger);

        if (!hits)
                return 0;
        if (hits->counted_round != history->round) {
                hits_expire(hits, now);
                hits->counted_round = history->round;
                hits->n_counted = hits->n_times - (hits->added_round == history->round);
        }
        return hits->n_counted;
}

/* Those that were hit last more than a day ago, of anybody, come first. */
static void history_expire(TriggerHistory *history, uint64_t now) {
        HitHistory *hits;

        list_for_each (hits, &history->hits, link) {
                if (hits->n_times > 0 && hits->times[hits->n_times - 1] + TRIGGER_HISTORY_NS > now)
                        return;
                hits_free(hits);
        }
}

/* Room for one more of this user's. */
static void history_make_room(TriggerHistory *history, uid_t user) {
        HitHistory *hits, *oldest = NULL;
        size_t n = 0;

        list_for_each (hits, &history->hits, link) {
                if (hits->user != user)
                        continue;
                oldest = oldest ?: hits;
                n++;
        }
        if (n >= TRIGGER_HISTORY_NAMES_MAX)
                hits_free(oldest);
}

static HitHistory *hits_new(TriggerHistory *history, uid_t user, uid_t uid, const char *trigger) {
        HitHistory *hits;

        history_make_room(history, user);
        hits = calloc(1, sizeof(*hits) + strlen(trigger) + 1);
        if (!hits)
                return NULL;
        list_init(&hits->link);
        hits->user = user;
        hits->uid = uid;
        memcpy(hits->trigger, trigger, strlen(trigger) + 1);
        return hits;
}

static int hits_reserve(HitHistory *hits) {
        size_t n = MAX(hits->n_allocated * 2, (size_t)4);
        uint64_t *times;

        if (hits->n_times == TRIGGER_HISTORY_HITS_MAX)
                hits_forget(hits, 1);
        if (hits->n_times < hits->n_allocated)
                return 0;
        times = reallocarray(hits->times, n, sizeof(*times));
        if (!times)
                return -ENOMEM;
        hits->times = times;
        hits->n_allocated = n;
        return 0;
}

void trigger_history_add(TriggerHistory *history,
                         uid_t user,
                         uid_t uid,
                         const char *trigger,
                         uint64_t now) {
        HitHistory *hits;

        history_expire(history, now);
        hits = hits_find(history, uid, trigger) ?: hits_new(history, user, uid, trigger);
        if (!hits || hits->added_round == history->round)
                return;
        list_unlink(&hits->link);
        list_append(&history->hits, &hits->link);
        hits_expire(hits, now);
        if (hits_reserve(hits) < 0)
                return; /* the next one that comes forgets it, if it has no other */
        hits->times[hits->n_times++] = now;
        hits->added_round = history->round;
}

/* A user that may send all of it again need not be remembered. */
static SendHistory *sends_find(List *senders, uid_t user, uint64_t now) {
        SendHistory *sends, *found = NULL;

        list_for_each (sends, senders, link) {
                if (sends->full_at <= now)
                        sends_free(sends);
                else if (sends->user == user)
                        found = sends;
        }
        return found;
}

bool trigger_history_may_send(TriggerHistory *history,
                              TriggerReach reach,
                              uid_t sender,
                              uint64_t now) {
        SendHistory *sends = sends_find(&history->senders[reach], sender, now);

        if (!sends) {
                sends = calloc(1, sizeof(*sends));
                if (!sends)
                        return false;
                *sends = (SendHistory){ .user = sender, .full_at = now };
                list_append(&history->senders[reach], &sends->link);
        }
        if (sends->full_at + NS_PER_SEND > now + TRIGGER_SENDS_MAX * NS_PER_SEND)
                return false;
        sends->full_at += NS_PER_SEND;
        return true;
}
