/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The queue of accepted connections: users take turns, and each has an allowance of connections that refills with time.
 */

#include <assert.h>
#include <stdlib.h>

#include "accept/accept-queue.h"
#include "shared/macro.h"

#define NS_PER_SERVED (UINT64_C(1000000000) / ACCEPT_SERVED_RATE)

/* Users to be forgotten are looked for each time a user is looked up. */
#define FORGET_AT_ONCE_MAX 4

typedef struct AcceptItem {
        List link;
        Accepted accepted;
} AcceptItem;

/* A user's allowance refills with time: it is complete again at full_at. */
typedef struct AcceptUser {
        List link; /* queue->users */
        List turn; /* queue->waiting */
        uid_t user;
        List items; /* AcceptItem, the oldest first */
        size_t n;
        uint64_t full_at;
        uint64_t refused_until;
} AcceptUser;

void accept_queue_init(AcceptQueue *queue) {
        *queue = (AcceptQueue){};
        list_init(&queue->users);
        list_init(&queue->waiting);
}

static void user_free(AcceptUser *user) {
        assert(user->n == 0 && list_is_empty(&user->items));
        list_unlink(&user->link);
        list_unlink(&user->turn);
        free(user);
}

void accept_queue_deinit(AcceptQueue *queue) {
        AcceptUser *user;

        assert(queue->n == 0 && list_is_empty(&queue->waiting));
        list_for_each (user, &queue->users, link)
                user_free(user);
}

static AcceptUser *find(const AcceptQueue *queue, uid_t user) {
        AcceptUser *found;

        list_for_each (found, &queue->users, link)
                if (found->user == user)
                        return found;
        return NULL;
}

static bool is_forgettable(const AcceptUser *user, uint64_t now) {
        return user->n == 0 && user->full_at <= now && user->refused_until <= now;
}

/* In the order in which users were first seen. */
static void forget_some(AcceptQueue *queue, uint64_t now) {
        AcceptUser *user;
        size_t n = 0;

        list_for_each (user, &queue->users, link) {
                if (n++ == FORGET_AT_ONCE_MAX)
                        return;
                if (is_forgettable(user, now)) {
                        user_free(user);
                } else {
                        list_unlink(&user->link);
                        list_append(&queue->users, &user->link);
                }
        }
}

static AcceptUser *find_or_add(AcceptQueue *queue, uid_t user, uint64_t now) {
        AcceptUser *found;

        forget_some(queue, now);
        found = find(queue, user);
        if (found)
                return found;
        found = calloc(1, sizeof(*found));
        if (!found)
                return NULL;
        found->user = user;
        list_init(&found->turn);
        list_init(&found->items);
        list_append(&queue->users, &found->link);
        return found;
}

static bool is_refused(const AcceptUser *user, uint64_t now) {
        return user->refused_until > now ||
               (user->user != 0 && user->n >= ACCEPT_WAITING_PER_USER_MAX);
}

bool accept_queue_refuses(const AcceptQueue *queue, uid_t uid, uint64_t now) {
        const size_t slot = uid % ACCEPT_UIDS_KNOWN;
        const AcceptUser *user;

        if (!queue->known[slot].is_known || queue->known[slot].uid != uid)
                return false;
        user = find(queue, queue->known[slot].user);
        return user && is_refused(user, now);
}

static void take_out(AcceptQueue *queue, AcceptUser *user, AcceptItem *item, Accepted *ret) {
        *ret = item->accepted;
        list_unlink(&item->link);
        free(item);
        queue->n--;
        if (--user->n == 0)
                list_unlink(&user->turn);
}

/* The queue is full: the user with the most waiting connections loses the newest of them. */
static void take_one_too_many(AcceptQueue *queue, Accepted *ret) {
        AcceptUser *user, *longest = NULL;

        list_for_each (user, &queue->waiting, turn)
                if (!longest || user->n > longest->n)
                        longest = user;
        take_out(queue, longest, list_entry(longest->items.previous, AcceptItem, link), ret);
}

bool accept_queue_put(AcceptQueue *queue,
                      const Accepted *accepted,
                      uid_t uid,
                      uint64_t now,
                      Accepted *ret_refused) {
        AcceptUser *user = find_or_add(queue, accepted->user, now);
        AcceptItem *item = user && !is_refused(user, now) ? calloc(1, sizeof(*item)) : NULL;
        const size_t slot = uid % ACCEPT_UIDS_KNOWN;

        queue->known[slot].uid = uid;
        queue->known[slot].user = accepted->user;
        queue->known[slot].is_known = true;
        if (!item) {
                *ret_refused = *accepted;
                return false;
        }
        item->accepted = *accepted;
        list_append(&user->items, &item->link);
        if (user->n++ == 0)
                list_append(&queue->waiting, &user->turn);
        if (queue->n++ < ACCEPT_WAITING_MAX)
                return true;
        take_one_too_many(queue, ret_refused);
        return false;
}

/* When the user may have one more connection served. */
static uint64_t served_at(const AcceptUser *user) {
        const uint64_t reserve = (ACCEPT_SERVED_MAX - 1) * NS_PER_SERVED;

        return user->user == 0 || user->full_at <= reserve ? 0 : user->full_at - reserve;
}

static void take_first(AcceptQueue *queue, AcceptUser *user, Accepted *ret) {
        list_unlink(&user->turn);
        list_append(&queue->waiting, &user->turn);
        take_out(queue, user, list_first(&user->items, AcceptItem, link), ret);
}

bool accept_queue_take(AcceptQueue *queue, Accepted *ret, uint64_t now) {
        AcceptUser *user;

        list_for_each (user, &queue->waiting, turn)
                if (served_at(user) <= now && user->refused_until <= now) {
                        user->full_at = MAX(user->full_at, now) + NS_PER_SERVED;
                        take_first(queue, user, ret);
                        return true;
                }
        return false;
}

bool accept_queue_take_any(AcceptQueue *queue, Accepted *ret) {
        AcceptUser *user = list_first(&queue->waiting, AcceptUser, turn);

        if (!user)
                return false;
        take_first(queue, user, ret);
        return true;
}

uint64_t accept_queue_next_at(const AcceptQueue *queue) {
        uint64_t at = UINT64_MAX;
        AcceptUser *user;

        list_for_each (user, &queue->waiting, turn)
                at = MIN(at,
                         user->refused_until > served_at(user) ? user->refused_until
                                                               : served_at(user));
        return at;
}

void accept_queue_refuse(AcceptQueue *queue, uid_t user, uint64_t now) {
        AcceptUser *found = find_or_add(queue, user, now);

        if (found)
                found->refused_until = now + ACCEPT_REFUSE_NS;
}

bool accept_queue_take_refused(AcceptQueue *queue, Accepted *ret, uint64_t now) {
        AcceptUser *user;

        list_for_each (user, &queue->waiting, turn)
                if (user->refused_until > now) {
                        take_first(queue, user, ret);
                        return true;
                }
        return false;
}
