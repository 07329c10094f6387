/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Call places: which producer is called next
 *
 * The message bus allows a connection a number of calls without a reply, so all calls to producers share these places.
 * Producers that have calls to be sent take turns, one call each, and so do their users. A user may have no more calls
 * out than places are free, so the next user finds a place even if no program of the others ever answers.
 *
 * It is a queue of producers only. Each of them keeps its own calls, in their order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shared/list.h"

typedef struct CallPlaces {
        size_t n_max;   /* calls that may be out; SIZE_MAX: any number */
        bool is_shared; /* users leave each other places */
        size_t n_out;
        List users;   /* CalledUser */
        List waiting; /* CalledUser with producers that may be called, whose turn comes first */
} CallPlaces;

typedef struct CalledUser CalledUser;

/* A producer that is called. Zero-initialised it has no calls. */
typedef struct Called {
        CallPlaces *places;
        CalledUser *user; /* NULL: it has no calls */
        size_t n_unsent, n_out;
        List link; /* user->waiting */
} Called;

void call_places_init(CallPlaces *places);
void call_places_deinit(CallPlaces *places);

/* The producer whose first call may be sent now; NULL: none. */
Called *call_places_next(const CallPlaces *places);

/* The producer has one more call to be sent. Returns 0 or -ENOMEM. */
int called_add(Called *called, CallPlaces *places, uid_t user);
/* One of these is forgotten, or sent without a reply. */
void called_drop(Called *called);
/* One of these is sent, and out until called_returned(). */
void called_send(Called *called);
void called_returned(Called *called);
