/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users are a short list: those whose producers have calls. Producers wait in a list of their user's, so finding the
 * next one costs the same with one producer and with thousands. */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "bus/link/bus.h"
#include "bus/link/call-places.h"

struct CalledUser {
        uid_t user;
        size_t n_called, n_out;
        List waiting;      /* Called, the next first */
        List link;         /* places->users */
        List waiting_link; /* places->waiting */
};

void call_places_init(CallPlaces *places) {
        *places = (CallPlaces){ .n_max = SIZE_MAX };
        list_init(&places->users);
        list_init(&places->waiting);
}

void call_places_deinit(CallPlaces *places) {
        assert(list_is_empty(&places->users) && list_is_empty(&places->waiting));
        assert(places->n_out == 0);
}

static bool user_has_place(const CallPlaces *places, const CalledUser *user) {
        const size_t n_free = places->n_max - MIN(places->n_out, places->n_max);

        return places->is_shared ? user->n_out < n_free : n_free > 0;
}

Called *call_places_next(const CallPlaces *places) {
        CalledUser *user;

        list_for_each (user, &places->waiting, waiting_link)
                if (user_has_place(places, user))
                        return list_first(&user->waiting, Called, link);
        return NULL;
}

/* Makes it if there is none. */
static CalledUser *find_user(CallPlaces *places, uid_t uid) {
        CalledUser *user;

        list_for_each (user, &places->users, link)
                if (user->user == uid)
                        return user;
        user = calloc(1, sizeof(*user));
        if (!user)
                return NULL;
        user->user = uid;
        list_init(&user->waiting);
        list_init(&user->waiting_link);
        list_append(&places->users, &user->link);
        return user;
}

static int called_join(Called *called, CallPlaces *places, uid_t uid) {
        CalledUser *user;

        user = find_user(places, uid);
        if (!user)
                return -ENOMEM;
        user->n_called++;
        called->places = places;
        called->user = user;
        list_init(&called->link);
        return 0;
}

static void called_leave(Called *called) {
        CalledUser *user = TAKE(called->user);

        if (--user->n_called > 0)
                return;
        assert(list_is_empty(&user->waiting) && user->n_out == 0);
        list_unlink(&user->link);
        free(user);
}

static bool called_may_be_called(const Called *called) {
        return called->n_unsent > 0 && called->n_out < BUS_CALLS_PER_PRODUCER_MAX;
}

static void called_unlink(Called *called) {
        list_unlink(&called->link);
        list_unlink(&called->user->waiting_link);
}

/* Brings the lists in line with the numbers. A producer or user that waits already keeps its place. */
static void called_settle(Called *called) {
        CalledUser *user = called->user;

        if (!called_may_be_called(called))
                list_unlink(&called->link);
        else if (!list_is_linked(&called->link))
                list_append(&user->waiting, &called->link);
        if (list_is_empty(&user->waiting))
                list_unlink(&user->waiting_link);
        else if (!list_is_linked(&user->waiting_link))
                list_append(&called->places->waiting, &user->waiting_link);
        if (called->n_unsent == 0 && called->n_out == 0)
                called_leave(called);
}

int called_add(Called *called, CallPlaces *places, uid_t user) {
        if (!called->user && called_join(called, places, user) < 0)
                return -ENOMEM;
        called->n_unsent++;
        called_settle(called);
        return 0;
}

/* It has had its turn, and so has its user. */
void called_drop(Called *called) {
        assert(called->n_unsent > 0);
        called->n_unsent--;
        called_unlink(called);
        called_settle(called);
}

void called_send(Called *called) {
        assert(called->n_unsent > 0);
        called->n_unsent--;
        called->n_out++;
        called->user->n_out++;
        called->places->n_out++;
        called_unlink(called);
        called_settle(called);
}

void called_returned(Called *called) {
        assert(called->n_out > 0);
        called->n_out--;
        called->user->n_out--;
        called->places->n_out--;
        called_settle(called);
}
